// Note [Functionalize]. The program is walked once on metadata (interpret::InferMeta), which says
// for every value which storage it is on and as which view, and refuses whatever eager PyTorch
// refuses from metadata alone. Then the nodes are gone through once more in order:
//
//   - a view, a metadata-only write, an operator that returns its argument: nothing is emitted. The
//     value is had from its base when it is read (Note [Bases]), as the view that the trace says.
//   - an operator that computes: the same call on functional values; its fresh results are new
//   bases.
//   - a built-in that writes: its functional twin on the view, and the written region put into a
//   new
//     version of the base (in_place.cc).
//   - any other operator that writes: auto_functionalized_v2, or version 1 (custom_call.cc).
//   - a number: a constant. The middle of the compiler is concrete (docs/architecture.md).
//   - a higher-order node: the regions that ran (the branch of a cond, each turn of a loop),
//   inlined.
//
// At the end the outputs are had from the newest versions, so they alias as in eager PyTorch, and
// the newest versions of written inputs become write-backs.
//
// Each node is looked at once, and each view is regenerated at most once per version of its base.
#include "functionalize/functionalize.h"

#include <fmt/format.h>

#include "functionalize/state.h"
#include "ir/auto_functionalized.h"

namespace palimpsest::functionalize {
namespace {

// Schema arguments that are written and were given.
std::vector<size_t> WrittenArguments(const op::Op& op) {
  std::vector<size_t> written;
  for (size_t i = 0; i < op.schema.args.size(); ++i) {
    if (op.schema.args[i].type.is_write()) written.push_back(i);
  }
  return written;
}

// An out= tensor of other sizes is resized by the call: what is written is the tensor as it is
// afterwards, which the call returns.
Result<Call> WithResizedOutputs(const Call& call, std::span<const size_t> written) {
  Call resized = call;
  const Value one = call.result;
  std::span<const Value> results = one.IsList() ? std::span(one.list()) : std::span(&one, 1);
  for (size_t k = 0; k < written.size() && k < results.size(); ++k) {
    Value& arg = resized.args[written[k]];
    if (!arg.IsTensor() || !results[k].IsTensor()) continue;
    const Tensor &before = arg.tensor(), &after = results[k].tensor();
    if (before.storage != after.storage || before.sizes == after.sizes) continue;
    PAL_TRY(int64_t bytes, RequiredBytes(after));
    if (bytes > after.storage->bytes()) {
      return Unsupported(fmt::format(
          "{}: an out= tensor {} that has to grow to {}: pass one of the result's sizes",
          call.op->schema.Key(), ToString(before.view()), ToString(after.view())));
    }
    arg = results[k];
  }
  return resized;
}

Error AtNode(Error error, const Call& call) {
  if (error.place.empty()) error.place = call.place;
  return error;
}

void CopyHeader(const ir::Graph& program, ir::Graph* graph) {
  graph->class_name = program.class_name;
  graph->phase = ir::Phase::kFunctional;
  graph->inputs = program.inputs;
  graph->places = program.places;
  graph->schemas = program.schemas;
  graph->file = program.file;
  graph->own_ops = program.own_ops;
  graph->ops = program.ops;
}

// A concrete type for an input: the call's sizes and strides.
ir::Type InputType(const ir::Node& node, const Value& value) {
  if (value.IsTensor()) return ir::TypeOf(value.tensor().view());
  if (node.type.kind == ir::Type::Kind::kSym && value.Is<int64_t>()) {
    ir::Type type = node.type;
    type.sym = SymInt(value.As<int64_t>());
    return type;
  }
  return node.type;
}

}  // namespace

Result<ir::Argument> State::Read(const Value& value) {
  if (value.IsTensor()) {
    PAL_TRY(ir::NodeId node, bases.Read(value.tensor()));
    return ir::Argument(node);
  }
  if (!value.IsList()) return ir::Argument::FromValue(value);
  ir::Argument::List list;
  list.reserve(value.list().size());
  for (const Value& v : value.list()) {
    PAL_TRY(ir::Argument a, Read(v));
    list.push_back(std::move(a));
  }
  return ir::Argument(std::move(list));
}

Result<std::vector<ir::Argument>> State::ReadAll(const std::vector<Value>& values) {
  std::vector<ir::Argument> args;
  args.reserve(values.size());
  for (const Value& v : values) {
    PAL_TRY(ir::Argument a, Read(v));
    args.push_back(std::move(a));
  }
  return args;
}

void State::AddElements(const Call& call, const Value::List& list, ir::NodeId node) {
  for (size_t k = 0; k < list.size(); ++k) {
    if (list[k].IsTensor() && bases.Has(list[k].tensor())) continue;
    if (!list[k].IsTensor() && !list[k].IsList()) continue;
    auto named = element_names.find({call.node, static_cast<int64_t>(k)});
    std::string stem = named == element_names.end() ? "getitem" : named->second;
    ir::NodeId element =
        emit.GetItem(node, static_cast<int64_t>(k), std::move(stem), ir::TypeOf(list[k]));
    AddResults(call, list[k], element);
  }
}

void State::AddResults(const Call& call, const Value& result, ir::NodeId node) {
  if (result.IsTensor()) {
    if (!bases.Has(result.tensor())) bases.Add(result.tensor(), node, /*is_input=*/false);
  } else if (result.IsList()) {
    AddElements(call, result.list(), node);
  }
}

Status State::Compute(const Call& call) {
  bool computes = call.op->traits.effect || call.op->traits.random;
  ForEachTensor(call.result, [&](const Tensor& t) { computes = computes || !bases.Has(t); });
  if (!computes) return {};
  PAL_TRY(std::vector<ir::Argument> args, ReadAll(call.args));
  ir::NodeId node = emit.Call(*call.op, call.node->name, std::move(args), ir::TypeOf(call.result));
  AddResults(call, call.result, node);
  return {};
}

Status State::ProcessCall(const Call& call) {
  std::vector<size_t> written = WrittenArguments(*call.op);
  if (written.empty()) return Compute(call);
  if (!call.op->traits.custom) {
    // A built-in without a kernel changes the layout of its argument only; the trace knows the
    // rest.
    if (!call.op->kernel) return {};
    if (written.size() == 1 && !call.op->functional.empty() && call.args[written[0]].IsTensor()) {
      return InPlace(call, written[0]);
    }
    PAL_TRY(Call resized, WithResizedOutputs(call, written));
    return CustomCall(resized);
  }
  return CustomCall(call);
}

Status State::ProcessNode(const ir::Graph& program, const interpret::Trace& trace, size_t i) {
  const ir::Node& node = program.nodes[i];
  if (node.kind != ir::Node::Kind::kCall) return {};
  emit.SetOrigin(node.place < 0 ? -1 : node.place + first_place, node.text_line);
  if (node.op != nullptr) {
    Call call{node.op, &node, program.PlaceOf(node), trace.args[i], trace.values[i]};
    Status done = ProcessCall(call);
    if (!done.ok()) return AtNode(std::move(done.error()), call);
    return {};
  }
  auto pieces = trace.pieces.find(ir::NodeId(static_cast<int64_t>(i)));
  if (pieces != trace.pieces.end()) return ProcessPieces(program, node, pieces->second);
  Error error =
      Unsupported(fmt::format("{} ({}) in a program that is to be functionalized: expand "
                              "it first (passes/expand_composites)",
                              node.target, node.name));
  error.place = program.PlaceOf(node);
  return error;
}

// What a higher-order node ran, one after the other: regions are inlined as often as they ran.
Status State::ProcessPieces(const ir::Graph& program, const ir::Node& node,
                            const std::vector<interpret::Trace::Piece>& pieces) {
  for (const interpret::Trace::Piece& piece : pieces) {
    if (piece.op == nullptr) {
      PAL_TRY(
          ProcessRegion(*program.subgraphs[static_cast<size_t>(piece.subgraph)], *piece.region));
      continue;
    }
    emit.SetOrigin(node.place < 0 ? -1 : node.place + first_place, node.text_line);
    Call call{piece.op, &node, program.PlaceOf(node), piece.args, piece.result};
    Status done = ProcessCall(call);
    if (!done.ok()) return AtNode(std::move(done.error()), call);
  }
  return {};
}

Status State::ProcessRegion(const ir::Graph& region, const interpret::Trace& trace) {
  int outer = first_place;
  first_place = static_cast<int>(graph.places.size());
  graph.places.insert(graph.places.end(), region.places.begin(), region.places.end());
  Status done = ProcessGraph(region, trace);
  first_place = outer;
  return done;
}

// Recursion: only into regions, whose nesting the walk on metadata has limited.
Status State::ProcessGraph(const ir::Graph& program, const interpret::Trace& trace) {
  for (const ir::Node& node : program.nodes) {
    if (node.kind != ir::Node::Kind::kGetItem || node.args.empty() || !node.args[0].IsNode())
      continue;
    element_names.try_emplace({&program.node(node.args[0].node()), node.index}, node.name);
  }
  for (size_t i = program.num_inputs(); i < program.nodes.size(); ++i) {
    PAL_TRY(ProcessNode(program, trace, i));
  }
  return {};
}

Result<ir::Graph> Functionalize(const ir::Graph& program, std::span<const Value> inputs,
                                const std::map<ir::NodeId, Value>& known_data,
                                const FunctionalizeOptions& options, RemarkSink& remarks) {
  interpret::WalkOptions walk;
  walk.known_data = known_data;
  PAL_TRY(interpret::Trace trace, interpret::InferMeta(program, inputs, walk));
  State state{options, remarks, {}};
  CopyHeader(program, &state.graph);
  state.graph.nodes.reserve(program.nodes.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    ir::Node node = program.nodes[i];
    node.type = InputType(node, inputs[i]);
    state.graph.FreshName(node.name);
    ir::NodeId id = state.graph.Append(std::move(node));
    if (trace.values[i].IsTensor()) state.bases.Add(trace.values[i].tensor(), id, true);
  }
  PAL_TRY(state.ProcessGraph(program, trace));
  state.emit.SetOrigin(-1, 0);
  for (const Value& output : trace.outputs) {
    PAL_TRY(ir::Argument a, state.Read(output));
    state.graph.outputs.push_back(std::move(a));
  }
  state.graph.write_backs = state.bases.WriteBacks();
  for (const auto& [input, view] : trace.relayouts) {
    remarks.Add({"functionalize", "relayout", "",
                 fmt::format("the program changes the layout of input '{}' to {}: the caller's "
                             "tensor keeps its own",
                             program.nodes[input].name, ToString(view))});
  }
  return std::move(state.graph);
}

}  // namespace palimpsest::functionalize
