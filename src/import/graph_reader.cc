// Nodes and names. Arguments are read in arguments.cc, regions in regions.cc.

#include "import/graph_reader.h"

#include <fmt/format.h>

#include <charconv>

#include "import/archive.h"
#include "import/node_call.h"

namespace palimpsest::importing {
namespace {

constexpr size_t kMaxRemarks = 20;
constexpr std::string_view kHigherOrder = "torch.ops.higher_order.";

bool IsIdentifierChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string Identifier(std::string_view text) {
  std::string name;
  for (char c : text) name += IsIdentifierChar(c) ? c : '_';
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name.insert(0, "_");
  return name;
}

// "_unused_3", "_unused_3_0" at the end: a result that only has a name because names are needed.
bool IsUnusedName(std::string_view name) {
  size_t at = name.rfind("_unused_");
  if (at == std::string_view::npos) return false;
  std::string_view tail = name.substr(at + 8);
  return !tail.empty() && tail.find_first_not_of("0123456789_") == std::string_view::npos;
}

// "torch.ops.aten.add.Tensor" -> "add"; "_operator.add" -> "add".
std::string_view StemOf(std::string_view target) {
  if (target.starts_with("torch.ops.")) {
    target.remove_prefix(10);
    target = target.substr(std::min(target.size(), target.find('.') + 1));
    return target.substr(0, target.find('.'));
  }
  return target.substr(target.rfind('.') + 1);
}

// Python's operators on numbers: their argument names are those of Python, not of a schema.
bool IsPythonFunction(const op::Op& op) {
  return op.schema.ns == "_operator" || op.schema.ns == "torch" || op.schema.ns == "math";
}

// The name in a result or reference, if it is one: {"as_tensor": {"name"}}, {"as_sym_int":
// {"as_name"}}; also the bare payload {"name"} of lists.
std::optional<std::string_view> NameOf(Json value) {
  if (auto name = value["name"].AsString()) return name;
  if (auto name = value["as_name"].AsString()) return name;
  auto member = value.OnlyMember();
  if (!member || !member->second.IsObject()) return std::nullopt;
  if (auto name = member->second["name"].AsString()) return name;
  return member->second["as_name"].AsString();
}

Json ListOfResult(Json result) {
  Json list = result["as_tensors"];
  return list.IsThere() ? list : result["as_optional_tensors"];
}

}  // namespace

// ---- the graph under construction

ir::NodeId GraphUnderConstruction::Append(ir::Node node, std::string_view stem) {
  node.name = graph_.FreshName(Identifier(stem));
  graph_.nodes.push_back(std::move(node));
  return ir::NodeId(static_cast<int64_t>(graph_.nodes.size()) - 1);
}

int GraphUnderConstruction::AddSubgraph(std::shared_ptr<ir::Graph> subgraph,
                                        std::string_view stem) {
  std::string base = Identifier(stem);
  std::string name = base;
  for (size_t i = graph_.subgraphs.size(); !subgraph_names_.insert(name).second; ++i) {
    name = fmt::format("{}_{}", base, i);
  }
  subgraph->class_name = name;
  graph_.subgraphs.push_back(std::move(subgraph));
  graph_.subgraph_names.push_back(std::move(name));
  return static_cast<int>(graph_.subgraphs.size()) - 1;
}

// The last frame of a Python traceback:  File "model.py", line 3, in forward\n    y = x + 1
int GraphUnderConstruction::PlaceOfTrace(std::string_view trace) {
  size_t at = trace.rfind("File \"");
  if (at == std::string_view::npos) return -1;
  std::string_view frame = trace.substr(at + 6);
  auto [it, is_new] = places_.try_emplace(std::string(frame), -1);
  if (!is_new) return it->second;
  ir::SourcePlace place;
  size_t quote = frame.find('"');
  if (quote == std::string_view::npos) return -1;
  place.file = frame.substr(0, quote);
  std::string_view rest = frame.substr(quote);
  constexpr std::string_view kLine = "\", line ";
  if (!rest.starts_with(kLine)) return -1;
  rest.remove_prefix(kLine.size());
  auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), place.line);
  rest.remove_prefix(static_cast<size_t>(parsed.ptr - rest.data()));
  size_t end = rest.find('\n');
  std::string_view function = rest.substr(0, end);
  if (function.starts_with(", in ")) place.function = function.substr(5);
  if (end != std::string_view::npos) {
    std::string_view code = rest.substr(end + 1);
    code = code.substr(0, code.find('\n'));
    size_t begin = code.find_first_not_of(" \t");
    if (begin != std::string_view::npos) place.code = code.substr(begin);
  }
  graph_.places.push_back(std::move(place));
  it->second = static_cast<int>(graph_.places.size()) - 1;
  return it->second;
}

const op::Op* FindOperator(const op::OpTable& ops, std::string_view target) {
  bool spelled = target.starts_with("torch.") || target.starts_with("_operator.") ||
                 target.starts_with("math.");
  if (!spelled || target.find(':') != std::string_view::npos) return nullptr;
  return ops.FindTarget(target);
}

// ---- names

Status GraphReader::Define(std::string_view name, ir::Argument value) {
  if (pending_.contains(name) || !values_.try_emplace(std::string(name), std::move(value)).second) {
    return BadInput(fmt::format("the name '{}' is defined twice", Shown(name)));
  }
  return {};
}

Result<ir::Argument> GraphReader::Lookup(std::string_view name) {
  auto it = values_.find(name);
  if (it != values_.end()) return it->second;
  auto pending = pending_.find(name);
  if (pending == pending_.end()) {
    return BadInput(fmt::format("nothing before it defines '{}'", Shown(name)));
  }
  ir::NodeId id = AppendItem(pending->second.list, pending->second.index, name);
  pending_.erase(pending);
  values_.emplace(std::string(name), id);
  return ir::Argument(id);
}

Result<ir::NodeId> GraphReader::LookupNode(std::string_view name) {
  PAL_TRY(ir::Argument value, Lookup(name));
  if (!value.IsNode()) return BadInput(fmt::format("'{}' is no tensor", Shown(name)));
  return value.node();
}

Result<ir::NodeId> GraphReader::AddInput(std::string_view name) {
  ir::Node node;
  node.kind = ir::Node::Kind::kInput;
  ir::NodeId id = target_.Append(std::move(node), name);
  PAL_TRY(Define(name, id));
  return id;
}

// ---- types

Status GraphReader::SetTensorType(std::string_view name, Json meta, bool strict) {
  auto it = values_.find(name);
  if (it == values_.end() || !it->second.IsNode()) return {};
  ir::Node& node = target_.graph().node(it->second.node());
  if (node.type.kind != ir::Type::Kind::kUnknown) return {};
  Result<ir::TensorType> type = context_.meta.ReadTensor(meta);
  if (type.ok()) {
    node.type.kind = ir::Type::Kind::kTensor;
    node.type.tensor = std::move(*type);
    return {};
  }
  type.error().message = fmt::format("description of '{}': {}", Shown(name), type.error().message);
  if (strict) return std::move(type).error();
  if (context_.remarks.size() < kMaxRemarks) context_.remarks.push_back(type.error().message);
  return {};
}

Status GraphReader::SetSymType(std::string_view name, Json value, bool strict) {
  auto it = values_.find(name);
  if (it == values_.end() || !it->second.IsNode()) return {};
  ir::Node& node = target_.graph().node(it->second.node());
  if (node.type.kind != ir::Type::Kind::kUnknown || value["as_float"].IsThere()) return {};
  Result<SymInt> sym = context_.meta.ReadSymInt(value);
  if (sym.ok()) {
    node.type.kind = ir::Type::Kind::kSym;
    node.type.sym = std::move(*sym);
    return {};
  }
  sym.error().message = fmt::format("description of '{}': {}", Shown(name), sym.error().message);
  if (strict) return std::move(sym).error();
  if (context_.remarks.size() < kMaxRemarks) context_.remarks.push_back(sym.error().message);
  return {};
}

// ---- nodes

Result<NodeCall> NodeCall::Of(Json node) {
  NodeCall call;
  std::optional<std::string_view> target = node["target"].AsString();
  if (!target) return BadInput("a node without a target");
  call.target = *target;
  call.name = node["name"].AsString().value_or("");
  call.bare_result = node["is_hop_single_tensor_return"].AsBool();
  call.stack_trace = node["metadata"]["stack_trace"].AsString().value_or("");
  if (!node["inputs"].IsArray() || !node["outputs"].IsArray()) {
    return BadInput(fmt::format("node '{}' ({}): it has no list of inputs or outputs",
                                Shown(call.name), Shown(call.target)));
  }
  PAL_TRY(node["outputs"].ForEach([&](Json output) -> Status {
    call.outputs.push_back(output);
    return {};
  }));
  PAL_TRY(node["inputs"].ForEach([&](Json input) -> Status {
    call.inputs.emplace_back(input["name"].AsString().value_or(""), input["arg"]);
    return {};
  }));
  if (call.name.empty() && !call.outputs.empty()) {
    call.shown_name = NameOf(call.outputs[0]).value_or("");
  } else {
    call.shown_name = call.name;
  }
  return call;
}

Status GraphReader::ReadNode(Json node) {
  PAL_TRY(NodeCall call, NodeCall::Of(node));
  int place = call.stack_trace.empty() ? -1 : target_.PlaceOfTrace(call.stack_trace);
  call.place = place;
  Status status = ReadCall(call);
  if (status.ok()) return {};
  Error error = std::move(status).error();
  error.message =
      fmt::format("node '{}' ({}): {}", Shown(call.shown_name), Shown(call.target), error.message);
  if (error.place.empty() && place >= 0) {
    error.place = target_.graph().places[static_cast<size_t>(place)].ToString();
  }
  return error;
}

Status GraphReader::ReadCall(NodeCall& call) {
  constexpr std::string_view kPredispatch = "torch._functorch.predispatch.";
  if (call.target == "torch._functorch.predispatch.lazy_load_decompositions") return {};
  if (call.target.starts_with(kPredispatch)) {
    return Unsupported(
        "a region of torch.vmap as exported; its operators see shapes without the mapped "
        "dimension. "
        "Call run_decompositions() on the exported program and save it again");
  }
  if (call.target == "torch._higher_order_ops.auto_functionalize.auto_functionalized") {
    call.target = "torch.ops.higher_order.auto_functionalized";
  }
  if (call.target.starts_with(kHigherOrder)) {
    std::string_view name = std::string_view(call.target).substr(kHigherOrder.size());
    if (name == "wrap_with_set_grad_enabled") return InlineRegion(call, 1);
    if (name == "wrap_with_autocast") {
      PAL_TRY(CheckAutocast(call));
      return InlineRegion(call, 4);
    }
    if (name == "with_effects") PAL_TRY(UnwrapEffects(call));
  }
  ir::Node node;
  node.target = call.target;
  node.op = FindOperator(context_.ops, call.target);
  node.place = call.place;
  if (node.op != nullptr) {
    PAL_TRY(BindKnown(call, node));
  } else {
    PAL_TRY(BindUnknown(call, node));
    PAL_TRY(CheckHigherOrder(target_.graph(), node));
  }
  return ReadResults(call, std::move(node));
}

Status GraphReader::BindKnown(const NodeCall& call, ir::Node& node) {
  const op::Schema& schema = node.op->schema;
  bool by_place = IsPythonFunction(*node.op);
  std::vector<ir::Argument> positional;
  std::vector<std::string> names;
  std::vector<ir::Argument> named;
  for (const auto& [name, json] : call.inputs) {
    Result<ir::Argument> value = ReadArgument(json);
    if (!value.ok()) {
      Error error = std::move(value).error();
      error.message = fmt::format("argument '{}': {}", Shown(name), error.message);
      return error;
    }
    if (name.empty() || by_place) {
      positional.push_back(std::move(*value));
    } else {
      names.emplace_back(name);
      named.push_back(std::move(*value));
    }
  }
  PAL_TRY(op::Binding binding, op::BindArguments(schema, positional.size(), names));
  node.args.reserve(schema.args.size());
  for (size_t i = 0; i < schema.args.size(); ++i) {
    std::optional<int> source = binding.source[i];
    if (!source) {
      node.args.push_back(ir::Argument::FromValue(*schema.args[i].default_value));
      continue;
    }
    auto at = static_cast<size_t>(*source >= 0 ? *source : -1 - *source);
    node.args.push_back(std::move(*source >= 0 ? positional[at] : named[at]));
    PAL_TRY(CheckArgument(schema.args[i], node.args.back()));
  }
  return {};
}

Status GraphReader::BindUnknown(const NodeCall& call, ir::Node& node) {
  std::unordered_set<std::string_view> seen;
  for (const auto& [name, json] : call.inputs) {
    Result<ir::Argument> value = ReadArgument(json);
    if (!value.ok()) {
      Error error = std::move(value).error();
      error.message = fmt::format("argument '{}': {}", Shown(name), error.message);
      return error;
    }
    if (name.empty()) {
      node.args.push_back(std::move(*value));
    } else if (!seen.insert(name).second) {
      return BadInput(fmt::format("argument '{}' is given twice", Shown(name)));
    } else {
      node.kwargs.push_back({std::string(name), std::move(*value)});
    }
  }
  return {};
}

// ---- results

namespace {
enum class Shape { kNothing, kSingle, kList };

// How the results of a call come: as one value, or as a list of which the file names the elements.
Result<Shape> ShapeOfResults(const NodeCall& call, const op::Op* op) {
  size_t listed = call.outputs.size();
  if (op == nullptr) {
    if (listed == 0) return Shape::kNothing;
    if (listed > 1 || ListOfResult(call.outputs[0]).IsThere()) return Shape::kList;
    bool tuple_of_one = call.bare_result == false;
    return tuple_of_one ? Shape::kList : Shape::kSingle;
  }
  size_t returned = op->schema.returns.size();
  bool none = listed == 1 && call.outputs[0]["as_none"].IsThere();
  if (returned == 0 && (listed == 0 || none)) return Shape::kNothing;
  if (listed != returned) {
    return BadInput(
        fmt::format("the file lists {} results, {} has {}", listed, op->schema.Key(), returned));
  }
  if (listed > 1 || ListOfResult(call.outputs[0]).IsThere()) return Shape::kList;
  return Shape::kSingle;
}
}  // namespace

Status GraphReader::ReadResults(const NodeCall& call, ir::Node node) {
  PAL_TRY(Shape shape, ShapeOfResults(call, node.op));
  std::string_view stem = call.name.empty() ? StemOf(call.target) : std::string_view(call.name);
  if (shape == Shape::kNothing) {
    target_.Append(std::move(node), stem);
    return {};
  }
  if (shape == Shape::kSingle) {
    std::optional<std::string_view> name = NameOf(call.outputs[0]);
    ir::NodeId id = target_.Append(std::move(node), name.value_or(stem));
    return name ? Define(*name, id) : Status();
  }
  node.type.kind = ir::Type::Kind::kList;
  ir::NodeId list = target_.Append(std::move(node), stem);
  Json only = call.outputs.size() == 1 ? ListOfResult(call.outputs[0]) : Json();
  int64_t index = 0;
  if (only.IsThere()) {
    return only.ForEach([&](Json item) { return DefineItem(item, list, index++); });
  }
  for (Json result : call.outputs) PAL_TRY(DefineItem(result, list, index++));
  return {};
}

ir::NodeId GraphReader::AppendItem(ir::NodeId list, int64_t index, std::string_view name) {
  ir::Node node;
  node.kind = ir::Node::Kind::kGetItem;
  node.args.emplace_back(list);
  node.index = index;
  node.place = target_.graph().node(list).place;
  return target_.Append(std::move(node), name);
}

Status GraphReader::DefineItem(Json item, ir::NodeId list, int64_t index) {
  Json inner = ListOfResult(item);
  if (inner.IsThere()) {
    ir::NodeId id = AppendItem(list, index, "getitem");
    target_.graph().node(id).type.kind = ir::Type::Kind::kList;
    int64_t inner_index = 0;
    return inner.ForEach([&](Json element) { return DefineItem(element, id, inner_index++); });
  }
  std::optional<std::string_view> name = NameOf(item);
  if (!name) return {};  // None, or a number that is a constant
  if (IsUnusedName(*name)) {
    if (values_.contains(*name) ||
        !pending_.try_emplace(std::string(*name), Pending{list, index}).second) {
      return BadInput(fmt::format("the name '{}' is defined twice", Shown(*name)));
    }
    return {};
  }
  return Define(*name, AppendItem(list, index, *name));
}

}  // namespace palimpsest::importing
