// Regions: subgraphs of cond and its like, and those that are put in place of their node.

#include <fmt/format.h>

#include "import/archive.h"
#include "import/graph_reader.h"
#include "import/node_call.h"

namespace palimpsest::importing {
namespace {

constexpr int kMaxDepth = 32;  // of regions in regions: the readers recurse

Status CheckDepth(int depth) {
  if (depth < kMaxDepth) return {};
  return BadInput(fmt::format("regions nested deeper than {} levels", kMaxDepth));
}

Error AddPlace(Error error, std::string_view region) {
  error.message = fmt::format("in '{}': {}", Shown(region), error.message);
  return error;
}

// The name that an input of a region gives its value.
std::optional<std::string_view> InputName(Json input) {
  auto member = input.OnlyMember();
  if (!member) return std::nullopt;
  if (auto name = member->second["name"].AsString()) return name;
  return member->second["as_name"].AsString();
}

}  // namespace

Result<std::vector<ir::Argument>> GraphReader::ReadBody(Json graph) {
  if (!graph["nodes"].IsArray()) return BadInput("there is no list of nodes");
  PAL_TRY(graph["nodes"].ForEach([&](Json node) { return ReadNode(node); }));
  PAL_TRY(graph["tensor_values"].ForEachMember([&](std::string_view name, Json meta) {
    return SetTensorType(name, meta, /*strict=*/false);
  }));
  for (const char* table : {"sym_int_values", "sym_bool_values", "sym_float_values"}) {
    PAL_TRY(graph[table].ForEachMember([&](std::string_view name, Json value) {
      return SetSymType(name, value, /*strict=*/false);
    }));
  }
  if (!graph["outputs"].IsArray()) return BadInput("there is no list of outputs");
  std::vector<ir::Argument> outputs;
  PAL_TRY(graph["outputs"].ForEach([&](Json output) -> Status {
    PAL_TRY(ir::Argument value, ReadArgument(output));
    outputs.push_back(std::move(value));
    return {};
  }));
  return outputs;
}

Result<ir::Argument> GraphReader::ReadSubgraph(Json payload) {
  PAL_TRY(CheckDepth(depth_));
  std::string_view name = payload["name"].AsString().value_or("subgraph");
  Json json = payload["graph"];
  if (!json["inputs"].IsArray()) return BadInput("a subgraph without a list of inputs");
  auto subgraph = std::make_shared<ir::Graph>();
  subgraph->ops = target_.graph().ops;
  subgraph->single_output = json["is_single_tensor_return"].AsBool().value_or(false);
  GraphUnderConstruction target(*subgraph);
  GraphReader reader(context_, target, depth_ + 1);
  PAL_TRY(json["inputs"].ForEach([&](Json input) -> Status {
    std::optional<std::string_view> input_name = InputName(input);
    if (!input_name) return BadInput(fmt::format("in '{}': an input without a name", Shown(name)));
    PAL_TRY([[maybe_unused]] ir::NodeId id, reader.AddInput(*input_name));
    return {};
  }));
  Result<std::vector<ir::Argument>> outputs = reader.ReadBody(json);
  if (!outputs.ok()) return AddPlace(std::move(outputs).error(), name);
  subgraph->outputs = std::move(*outputs);
  return ir::Argument(ir::SubgraphRef{target_.AddSubgraph(std::move(subgraph), name)});
}

// node(settings..., region, operands...): the region's nodes take its place, its results the names
// of the node's results. The first `skip` inputs are the settings.
Status GraphReader::InlineRegion(const NodeCall& call, size_t skip) {
  PAL_TRY(CheckDepth(depth_));
  Json region = call.inputs.size() > skip ? call.inputs[skip].second["as_graph"] : Json();
  Json json = region["graph"];
  std::string_view name = region["name"].AsString().value_or("region");
  if (json["inputs"].size() != call.inputs.size() - std::min(call.inputs.size(), skip + 1) ||
      !json["inputs"].IsArray()) {
    return BadInput("its region is missing or takes another number of operands");
  }
  GraphReader reader(context_, target_, depth_ + 1);
  size_t at = skip + 1;
  PAL_TRY(json["inputs"].ForEach([&](Json input) -> Status {
    std::optional<std::string_view> input_name = InputName(input);
    if (!input_name) return BadInput("an input of its region has no name");
    PAL_TRY(ir::Argument operand, ReadArgument(call.inputs[at++].second));
    return reader.Define(*input_name, std::move(operand));
  }));
  Result<std::vector<ir::Argument>> results = reader.ReadBody(json);
  if (!results.ok()) return AddPlace(std::move(results).error(), name);
  std::vector<std::optional<std::string_view>> names;
  for (Json output : call.outputs) {
    Json list = output["as_tensors"];
    if (!list.IsThere()) names.push_back(InputName(output));
    PAL_TRY(list.ForEach([&](Json item) -> Status {
      names.push_back(item["name"].AsString());
      return {};
    }));
  }
  if (names.size() != results->size()) {
    return BadInput(
        fmt::format("it lists {} results, its region has {}", names.size(), results->size()));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i]) PAL_TRY(Define(*names[i], std::move((*results)[i])));
  }
  return {};
}

Status CheckAutocast(const NodeCall& call) {
  std::optional<bool> enabled;
  if (call.inputs.size() > 2) enabled = call.inputs[2].second["as_bool"].AsBool();
  if (enabled == false) return {};
  return Unsupported(
      "a region of torch.autocast, which changes element types: call run_decompositions() on the "
      "exported program and save it again");
}

// with_effects(token, op, arguments...) -> (token, results...): order is kept anyway.
Status GraphReader::UnwrapEffects(NodeCall& call) {
  std::optional<std::string_view> target;
  if (call.inputs.size() >= 2) target = call.inputs[1].second["as_operator"].AsString();
  if (!target || call.outputs.empty()) return BadInput("it wraps no operator");
  std::optional<std::string_view> token = InputName(call.outputs[0]);
  if (token) PAL_TRY(Define(*token, ir::Argument()));
  call.target = *target;
  call.name.clear();
  call.bare_result.reset();
  call.inputs.erase(call.inputs.begin(), call.inputs.begin() + 2);
  call.outputs.erase(call.outputs.begin());
  return {};
}

// ---- structure of higher-order operators

namespace {

struct Region {
  size_t inputs, outputs;
};
std::optional<Region> RegionOf(const ir::Graph& graph, const ir::Node& node, size_t arg) {
  if (arg >= node.args.size() || !node.args[arg].Is<ir::SubgraphRef>()) return std::nullopt;
  const ir::Graph& sub =
      *graph.subgraphs[static_cast<size_t>(node.args[arg].As<ir::SubgraphRef>().index)];
  return Region{sub.num_inputs(), sub.outputs.size()};
}
std::optional<size_t> ListSize(const ir::Node& node, size_t arg) {
  if (arg >= node.args.size() || !node.args[arg].IsList()) return std::nullopt;
  return node.args[arg].list().size();
}

}  // namespace

Status CheckHigherOrder(const ir::Graph& graph, const ir::Node& node) {
  auto check = [](bool ok, const char* what) -> Status {
    if (ok) return {};
    return BadInput(what);
  };
  if (node.target == "torch.ops.higher_order.cond") {
    auto yes = RegionOf(graph, node, 1), no = RegionOf(graph, node, 2);
    auto operands = ListSize(node, 3);
    PAL_TRY(check(yes && no && operands && node.args.size() == 4,
                  "it takes a predicate, two branches and a list of operands"));
    PAL_TRY(check(yes->inputs == *operands && no->inputs == *operands,
                  "its branches take another number of operands than there are"));
    return check(yes->outputs == no->outputs, "its branches have different numbers of results");
  }
  if (node.target == "torch.ops.higher_order.while_loop") {
    auto test = RegionOf(graph, node, 0), body = RegionOf(graph, node, 1);
    auto carried = ListSize(node, 2), more = ListSize(node, 3);
    PAL_TRY(check(test && body && carried && more && node.args.size() == 4,
                  "it takes a test, a body and two lists of operands"));
    size_t operands = *carried + *more;
    PAL_TRY(check(test->inputs == operands && body->inputs == operands,
                  "its test and body take another number of operands than there are"));
    return check(test->outputs == 1 && body->outputs == *carried,
                 "its test or body has another number of results than is carried");
  }
  if (node.target == "torch.ops.higher_order.map_impl") {
    auto body = RegionOf(graph, node, 0);
    auto mapped = ListSize(node, 1), more = ListSize(node, 2);
    PAL_TRY(check(body && mapped && more && node.args.size() == 3,
                  "it takes a body and two lists of operands"));
    return check(body->inputs == *mapped + *more,
                 "its body takes another number of operands than there are");
  }
  return {};
}

}  // namespace palimpsest::importing
