#include "runtime/direct_graph.h"

#include <fmt/format.h>

#include "analysis/view_info.h"
#include "base/check.h"
#include "ir/emitter.h"

namespace palimpsest::runtime {
namespace {

using analysis::ViewInfo;
using ir::Argument;
using ir::NodeId;
using reinplace::Buffer;
using reinplace::BufferId;
using reinplace::ComputeStep;
using reinplace::CopyStep;
using reinplace::Place;

// A node of the direct graph that shows a part of a buffer.
struct Shown {
  NodeId node;
  View view;
};

// The nodes of one buffer. Found by where they begin, so that a buffer of many parts costs no more.
struct BufferNodes {
  std::optional<Shown> root;  // what first showed it: views are made of this one
  std::map<int64_t, std::vector<Shown>> by_begin;  // one per view; address in bytes

  // A result: from here on it is the name of its place.
  void Add(const Shown& s) {
    if (!root) root = s;
    std::vector<Shown>& here = by_begin[s.view.offset * s.view.item_size()];
    for (Shown& old : here) {
      if (!(old.view == s.view)) continue;
      if (old.node != root->node) old = s;
      return;
    }
    here.push_back(s);
  }
  // f(shown) until it is true: returns that one, or null.
  template <typename F>
  const Shown* Find(int64_t begin, F&& f) const {
    auto it = by_begin.find(begin);
    if (it == by_begin.end()) return nullptr;
    for (const Shown& s : it->second) {
      if (f(s)) return &s;
    }
    return nullptr;
  }
};

struct State {
  const ir::Graph& graph;
  const interpret::Trace& trace;
  const reinplace::BufferPlan& plan;
  ir::Graph out;
  ir::Emitter emit;
  std::vector<BufferNodes> shown;  // per buffer

  Status Process() {
    shown.resize(plan.buffers.size());
    AddInputs();
    for (const reinplace::Step& step : plan.steps) {
      if (const auto* copy = std::get_if<CopyStep>(&step.what)) {
        PAL_TRY(AddCopy(*copy));
      } else {
        PAL_TRY(AddCompute(std::get<ComputeStep>(step.what)));
      }
    }
    return AddOutputs();
  }

  void AddInputs() {
    out.class_name = graph.class_name;
    out.ops = graph.ops;
    out.own_ops = graph.own_ops;
    out.places = graph.places;
    out.schemas = graph.schemas;
    out.inputs = graph.inputs;
    std::vector<BufferId> buffer_of_storage;
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      if (plan.buffers[b].kind != Buffer::Kind::kInput) continue;
      size_t k = static_cast<size_t>(plan.buffers[b].storage);
      if (buffer_of_storage.size() <= k) buffer_of_storage.resize(k + 1);
      buffer_of_storage[k] = BufferId(static_cast<int64_t>(b));
    }
    std::map<Storage*, size_t> storages;
    for (size_t i = 0, n = graph.num_inputs(); i < n; ++i) {
      NodeId id = out.Append(graph.nodes[i]);
      ForEachTensor(trace.values[i], [&](const Tensor& t) {
        size_t k = storages.emplace(t.storage.get(), storages.size()).first->second;
        if (k < buffer_of_storage.size() && buffer_of_storage[k].valid()) {
          Of(buffer_of_storage[k]).Add({id, t.view()});
        }
      });
    }
  }

  BufferNodes& Of(BufferId buffer) { return shown[static_cast<size_t>(buffer.index)]; }

  // The node that stands for a buffer; memory that no value covers yet is an `empty`.
  Result<Shown> Root(BufferId buffer) {
    if (Of(buffer).root) return *Of(buffer).root;
    View bytes = ContiguousView(
        DType::kU8, std::vector<int64_t>{plan.buffers[static_cast<size_t>(buffer.index)].bytes});
    std::vector<Argument> args = {Argument::Ints(bytes.sizes), Argument(DType::kU8)};
    PAL_TRY(NodeId node, emit.Call("aten::empty.memory_format", std::move(args), bytes));
    Of(buffer).Add({node, bytes});
    return *Of(buffer).root;
  }

  // The node for an operand: a value that lies exactly there, else a view of the buffer's root.
  Result<NodeId> At(const Place& place) {
    const int64_t begin = place.view.offset * place.view.item_size();
    auto is_there = [&](const Shown& s) { return s.view == place.view; };
    if (const Shown* s = Of(place.buffer).Find(begin, is_there)) return s->node;
    PAL_TRY(Shown root, Root(place.buffer));
    PAL_TRY(NodeId node, ViewOf(root, place.view));
    Of(place.buffer).Add({node, place.view});
    return node;
  }

  Result<NodeId> ViewOf(const Shown& root, const View& view) {
    ViewInfo info = analysis::DescribeView(root.view, view);
    switch (info.kind) {
      case ViewInfo::Kind::kSame:
        return root.node;
      case ViewInfo::Kind::kSlice:
        return emit.Call("aten::slice.Tensor", {root.node, info.dim, info.start, info.end}, view);
      case ViewInfo::Kind::kSelect:
        return emit.Call("aten::select.int", {root.node, info.dim, info.start}, view);
      case ViewInfo::Kind::kPermute:
        return emit.Call("aten::permute", {root.node, Argument::Ints(info.dims)}, view);
      case ViewInfo::Kind::kView:
        return emit.Call("aten::view", {root.node, Argument::Ints(view.sizes)}, view);
      case ViewInfo::Kind::kAsStrided:
        return emit.Call(
            "aten::as_strided",
            {root.node, Argument::Ints(view.sizes), Argument::Ints(view.strides), view.offset},
            view);
      case ViewInfo::Kind::kDType:
        break;
    }
    return emit.Call("palimpsest::view",
                     {root.node, Argument(view.dtype), Argument::Ints(view.sizes),
                      Argument::Ints(view.strides), view.offset},
                     view);
  }

  // Does the step copy one whole value into a buffer that holds nothing yet?
  const Shown* WholeValue(const CopyStep& copy) {
    if (copy.runs.size() != 1 || Of(copy.runs[0].destination).root) return nullptr;
    const CopyStep::Run& run = copy.runs[0];
    if (run.count != 1 || run.destination_offset != 0) return nullptr;
    return Of(run.source).Find(run.source_offset, [&](const Shown& s) {
      return IsDense(s.view) && s.view.numel() * s.view.item_size() == run.bytes;
    });
  }

  Status AddCopy(const CopyStep& copy) {
    emit.SetOrigin(-1, 0);
    if (const Shown* whole = WholeValue(copy)) {
      View view = whole->view;
      view.offset = 0;
      PAL_TRY(NodeId node,
              emit.Call("palimpsest::clone_strides", {whole->node}, ir::TypeOf(view), "clone"));
      Of(copy.runs[0].destination).Add({node, view});
      return {};
    }
    for (const CopyStep::Run& run : copy.runs) {
      PAL_TRY(Shown to, Root(run.destination));
      PAL_TRY(Shown from, Root(run.source));
      ir::Node node;
      node.target = "torch.ops.palimpsest.copy_bytes.default";
      node.name = out.FreshName("copy_bytes");
      node.args = {
          to.node,   run.destination_offset, from.node,        run.source_offset, run.bytes,
          run.count, run.destination_stride, run.source_stride};
      out.Append(std::move(node));
    }
    return {};
  }

  Result<Argument> Convert(const Value& value, const std::vector<Place>& places, size_t& next) {
    if (value.IsTensor()) {
      PAL_TRY(NodeId node, At(places[next++]));
      return Argument(node);
    }
    if (!value.IsList()) return Argument::FromValue(value);
    Argument::List list;
    for (const Value& item : value.list()) {
      PAL_TRY(Argument a, Convert(item, places, next));
      list.push_back(std::move(a));
    }
    return Argument(std::move(list));
  }

  Status AddCompute(const ComputeStep& step) {
    const ir::Node& node = graph.node(step.node);
    auto inner = trace.inner_calls.find(step.node);
    bool direct = inner != trace.inner_calls.end();
    const op::Op* op = direct ? inner->second.op : node.op;
    const std::vector<Value>& values =
        direct ? inner->second.args : trace.args[static_cast<size_t>(step.node.index)];
    if (op == nullptr) return InternalError(fmt::format("node '{}' runs no operator", node.name));
    emit.SetOrigin(node.place, node.text_line);
    std::vector<Argument> args;
    size_t next = 0;
    for (const Value& value : values) {
      PAL_TRY(Argument a, Convert(value, step.operands, next));
      args.push_back(std::move(a));
    }
    NodeId call = emit.Call(*op, direct ? op->schema.name : node.name, std::move(args),
                            direct ? ir::Type{} : node.type);
    NameResults(step, call, op->schema.returns.size() == 1);
    return {};
  }

  // Fresh results: the call itself, or items of it.
  void NameResults(const ComputeStep& step, NodeId call, bool single) {
    for (size_t i = 0; i < step.results.size(); ++i) {
      const Place& place = step.results[i];
      NodeId node = call;
      if (!single || step.results.size() > 1) {
        node = emit.GetItem(call, static_cast<int64_t>(i), "getitem", ir::TypeOf(place.view));
      }
      BufferNodes& of = Of(place.buffer);
      if (of.root) out.place_of[node] = "in " + out.node(of.root->node).name;
      of.Add({node, place.view});
    }
  }

  Status AddOutputs() {
    for (const Value& value : trace.outputs) {
      out.outputs.push_back(value.IsTensor() ? Argument() : Argument::FromValue(value));
    }
    emit.SetOrigin(-1, 0);
    for (const reinplace::OutputPlace& output : plan.outputs) {
      PAL_TRY(NodeId node, At(output.place));
      out.outputs[static_cast<size_t>(output.output)] = Argument(node);
    }
    return {};
  }
};

}  // namespace

Result<ir::Graph> DirectGraph(const ir::Graph& graph, const interpret::Trace& trace,
                              const reinplace::BufferPlan& plan) {
  State state{graph, trace, plan, {}, ir::Emitter(nullptr), {}};
  state.emit = ir::Emitter(&state.out);
  PAL_TRY(state.Process());
  return std::move(state.out);
}

}  // namespace palimpsest::runtime
