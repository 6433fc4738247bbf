// Walks the functional graph once on metadata (interpret::InferMeta), which says for each value on
// which storage it lies. Nobody writes a storage of a functional graph: each is one version.
//
// Copies (clone, copy, reshape that copies, scatter_view, the copies inside auto_functionalized)
// hand numbers on; all else that makes a new storage is a FlowNode.

#include "reinplace/build_flow.h"

#include <fmt/format.h>

#include <climits>
#include <unordered_map>

#include "core/overlap.h"
#include "interpret/interpret.h"
#include "interpret/write_back.h"
#include "ir/auto_functionalized.h"

namespace palimpsest::reinplace {
namespace {

constexpr std::string_view kScatterView = "palimpsest::scatter_view";

class Building {
 public:
  Building(const ir::Graph& graph, std::span<const Value> inputs, const BuildFlowOptions& options)
      : graph_(graph), inputs_(inputs), options_(options) {}

  Result<FlowGraph> Run() {
    PAL_TRY(trace_, interpret::InferMeta(graph_, inputs_, {}));
    AddInputs();
    FindLastUses();
    for (size_t i = graph_.num_inputs(); i < graph_.nodes.size(); ++i) {
      Status status = AddNode(i);
      if (status.ok()) continue;
      Error error = std::move(status.error());
      if (error.place.empty()) error.place = graph_.PlaceOf(graph_.nodes[i]);
      return error;
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (!graph_.outputs[i].IsNode()) continue;
      // Not trace_.outputs: there the value of a write-back is the input already.
      const Value& value = ValueOf(graph_.outputs[i].node());
      if (value.IsTensor())
        builder_.AddOutput(static_cast<int>(i), Of(value.tensor()), value.tensor());
    }
    PAL_TRY(SetFinals());
    return builder_.Finish();
  }

 private:
  // ---- storages

  int Of(const Tensor& t) {
    auto it = versions_.find(t.storage.get());
    if (it != versions_.end()) return it->second;
    // A storage that nobody wrote (its operator is not followed): any contents.
    const int version = builder_.AddFresh(t.storage->bytes());
    versions_[t.storage.get()] = version;
    return version;
  }
  // A storage that node i makes.
  int Fresh(size_t i, const Tensor& t) {
    const int version = builder_.AddFresh(t.storage->bytes(), graph_.nodes[i].name);
    builder_.MadeBy(version, ir::NodeId(static_cast<int64_t>(i)));
    return version;
  }
  bool IsKnown(const Tensor& t) const { return versions_.contains(t.storage.get()); }
  bool DiesAt(const Tensor& t, size_t node) const {
    auto it = last_use_.find(t.storage.get());
    return it == last_use_.end() || it->second <= static_cast<int>(node);
  }

  void AddInputs() {
    std::unordered_map<const Storage*, bool> written;
    for (const ir::WriteBack& w : graph_.write_backs) {
      ForEachTensor(ValueOf(w.input), [&](const Tensor& t) { written[t.storage.get()] = true; });
    }
    for (size_t i = 0, n = graph_.num_inputs(); i < n; ++i) {
      ForEachTensor(trace_.values[i], [&](const Tensor& t) {
        if (IsKnown(t)) return;
        const int version = builder_.AddInput(t.storage->bytes(), written.contains(t.storage.get()),
                                              graph_.nodes[i].name);
        builder_.MadeBy(version, ir::NodeId(static_cast<int64_t>(i)));
        versions_[t.storage.get()] = version;
      });
    }
  }

  void FindLastUses() {
    uses_.assign(graph_.nodes.size(), 0);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const Value& arg : trace_.args[i]) {
        ForEachTensor(arg,
                      [&](const Tensor& t) { last_use_[t.storage.get()] = static_cast<int>(i); });
      }
      auto count = [&](const ir::Argument& a) {
        ir::ForEachNode(a, [&](ir::NodeId id) { ++uses_[static_cast<size_t>(id.index)]; });
      };
      for (const ir::Argument& a : graph_.nodes[i].args) count(a);
      for (const ir::NamedArgument& a : graph_.nodes[i].kwargs) count(a.value);
    }
    auto forever = [&](const Value& value) {
      ForEachTensor(value, [&](const Tensor& t) { last_use_[t.storage.get()] = INT_MAX; });
    };
    for (const ir::Argument& output : graph_.outputs) {
      if (output.IsNode()) forever(ValueOf(output.node()));
    }
    for (const ir::WriteBack& w : graph_.write_backs) {
      forever(ValueOf(w.value));
      forever(ValueOf(w.input));
      ++uses_[static_cast<size_t>(w.value.index)];
    }
  }

  const Value& ValueOf(ir::NodeId id) const { return trace_.values[static_cast<size_t>(id.index)]; }

  // ---- nodes

  Status AddNode(size_t i) {
    const ir::Node& node = graph_.nodes[i];
    if (node.kind == ir::Node::Kind::kGetItem) return {};
    if (node.kind == ir::Node::Kind::kGetAttr) {
      return Unsupported(fmt::format("attribute '{}' inside a functional graph", node.target));
    }
    if (auto it = trace_.inner_calls.find(ir::NodeId(static_cast<int64_t>(i)));
        it != trace_.inner_calls.end()) {
      return AddFunctionalized(i, it->second);
    }
    if (node.op == nullptr) {
      return Unsupported(fmt::format("{} in a functional graph", node.target));
    }
    std::vector<Tensor> fresh;
    ForEachTensor(trace_.values[i], [&](const Tensor& t) {
      bool seen = IsKnown(t);
      for (const Tensor& f : fresh) seen = seen || f.storage == t.storage;
      if (!seen) fresh.push_back(t);
    });
    const op::Traits& traits = node.op->traits;
    if (fresh.empty() && !traits.effect && !traits.random && !traits.may_refuse) return {};
    if (node.op->schema.Key() == kScatterView) return AddScatter(i, fresh[0]);
    if (traits.copy && fresh.size() == 1) {
      const Value& from = trace_.args[i][static_cast<size_t>(traits.copy_source)];
      if (from.IsTensor() && from.tensor().dtype == fresh[0].dtype) {
        return AddCopy(i, from.tensor(), fresh[0]);
      }
    }
    if (traits.tied >= 0 && fresh.size() == 1) return AddUpdate(i, fresh[0]);
    AddCompute(i, fresh);
    return {};
  }

  FlowNode& Begin(size_t i, const op::Traits& traits) {
    FlowNode& node = builder_.BeginNode(ir::NodeId(static_cast<int64_t>(i)));
    node.opaque = traits.custom;
    node.pointwise = traits.pointwise;
    node.ordered = traits.random || traits.effect;
    node.check_only = traits.may_refuse;
    return node;
  }

  void AddReads(const std::vector<Value>& args, const op::Traits& traits) {
    for (size_t a = 0; a < args.size(); ++a) {
      const bool read = a >= 64 || (traits.metadata_only >> a & 1) == 0;
      ForEachTensor(args[a], [&](const Tensor& t) { builder_.AddOperand(Of(t), t, read, false); });
    }
  }

  void AddResults(const std::vector<Tensor>& fresh, bool uninitialized) {
    for (const Tensor& t : fresh) {
      versions_[t.storage.get()] = builder_.AddResult(t, t.storage->bytes(), uninitialized);
    }
  }

  void AddCompute(size_t i, const std::vector<Tensor>& fresh) {
    const op::Traits& traits = graph_.nodes[i].op->traits;
    Begin(i, traits);
    AddReads(trace_.args[i], traits);
    builder_.last_node().over_first = HasInPlaceForm(*graph_.nodes[i].op);
    builder_.EndOperands({});
    AddResults(fresh, traits.uninitialized);
    builder_.EndNode();
  }

  // The in-place form runs this kernel with its result on argument 0.
  bool HasInPlaceForm(const op::Op& op) const {
    if (graph_.ops == nullptr || op.traits.custom || op.traits.pointwise) return false;
    std::string key = op.schema.ns + "::" + op.schema.name + "_";
    if (!op.schema.overload.empty()) key += "." + op.schema.overload;
    const op::Op* in_place = graph_.ops->Find(key);
    return in_place != nullptr && in_place->functional == op.schema.Key();
  }

  Status AddCopy(size_t i, const Tensor& from, const Tensor& to) {
    builder_.CopiedHere(to.numel() * to.item_size());
    const bool broadcasts = from.numel() != to.numel();
    const View source = broadcasts ? ExpandTo(from, to.sizes) : from.view();
    const int version = Fresh(i, to);
    if (!builder_.HandOn(Of(from), source, version, to)) {
      FlowNode& node = Begin(i, graph_.nodes[i].op->traits);
      node.is_copy = true;
      node.pointwise = false;
      AddReads(trace_.args[i], graph_.nodes[i].op->traits);
      // What is not the source is not read (the first argument of copy).
      size_t k = 0;
      for (size_t a = 0; a < trace_.args[i].size(); ++a) {
        ForEachTensor(trace_.args[i][a], [&](const Tensor&) {
          if (static_cast<int>(a) != graph_.nodes[i].op->traits.copy_source) {
            builder_.last_node().operands[k].read = false;
          }
          ++k;
        });
      }
      builder_.EndOperands({});
      AddResults({to}, false);
      builder_.EndNode();
      return {};
    }
    versions_[to.storage.get()] = version;
    if (source.sizes == to.sizes) builder_.SameTensor(Of(from), source, version, to);
    builder_.HeldHere(version, to, FlowEvent::For::kBoth);
    return {};
  }

  // Result 0 of a built-in update is argument `tied` with elements replaced: both lie in one place.
  Status AddUpdate(size_t i, const Tensor& result) {
    const ir::Node& node = graph_.nodes[i];
    const op::Traits& traits = node.op->traits;
    const Value& arg = trace_.args[i][static_cast<size_t>(traits.tied)];
    if (!arg.IsTensor()) return InternalError(fmt::format("{}: no tied tensor", node.name));
    const Tensor& old = arg.tensor();
    const bool in_place =
        IsScatteredBack(i, old) || (old.strides == result.strides && DiesAt(old, i));
    View view = old;
    int before = -1;
    if (OverlapsItself(old) || (!in_place && old.strides != result.strides)) {
      before = Fresh(i, result);
      view = result;
      if (!builder_.HandOn(Of(old), old, before, view)) return TooFine(i);
      builder_.SameTensor(Of(old), old, before, view);
    } else {
      before = builder_.Window(Of(old));
      if (!builder_.HandOn(Of(old), view, before, view)) return TooFine(i);
    }
    if (!in_place) builder_.CopiedHere(result.numel() * result.item_size());
    if (options_.whole_bases) builder_.HeldHere(before, view, FlowEvent::For::kFunctional);
    FlowNode& flow = Begin(i, traits);
    flow.tied = true;
    flow.pointwise = false;
    int position = 0;
    for (size_t a = 0; a < trace_.args[i].size(); ++a) {
      const bool tied = static_cast<int>(a) == traits.tied;
      ForEachTensor(trace_.args[i][a], [&](const Tensor& t) {
        if (tied) {
          builder_.last_node().tied_operand = position;
          builder_.AddOperand(before, view, true, true, 0);
        } else {
          builder_.AddOperand(Of(t), t, true, false);
        }
        ++position;
      });
    }
    const int next = builder_.NextVersion(before);
    builder_.EndOperands({next});
    builder_.EndNode();
    const int version = Fresh(i, result);
    if (!builder_.HandOn(next, view, version, result)) return TooFine(i);
    builder_.SameTensor(next, view, version, result);
    // A whole base that is updated in place stays the storage that it is.
    if (in_place && old.offset == 0 && old.strides == result.strides) {
      builder_.SameFamily(version, Of(old));
    }
    versions_[result.storage.get()] = version;
    return {};
  }
  // The result goes back to where the operand came from.
  bool IsScatteredBack(size_t i, const Tensor& old) const {
    for (size_t k = i + 1; k < graph_.nodes.size() && k <= i + 2; ++k) {
      const ir::Node& n = graph_.nodes[k];
      if (n.op == nullptr || n.op->schema.Key() != kScatterView || !n.args[1].IsNode()) continue;
      if (n.args[1].node().index != static_cast<int>(i)) continue;
      const std::vector<Value>& args = trace_.args[k];
      return args[2].ToDims() == old.sizes && args[3].ToDims() == old.strides &&
             args[4].ToInt() == old.offset;
    }
    return false;
  }
  Status TooFine(size_t i) const {
    return Unsupported(
        fmt::format("{}: an update of a view of more than {} pieces: use a contiguous tensor",
                    graph_.nodes[i].name, kMaxRuns));
  }

  Status AddScatter(size_t i, const Tensor& result) {
    const std::vector<Value>& args = trace_.args[i];
    const Tensor &base = args[0].tensor(), &value = args[1].tensor();
    View where;
    where.dtype = value.dtype;
    where.sizes = args[2].ToDims();
    where.strides = args[3].ToDims();
    where.offset = args[4].ToInt();
    const View source = value.sizes == where.sizes ? value.view() : ExpandTo(value, where.sizes);
    const bool copies = !IsResultOf(args, i);
    if (copies) builder_.CopiedHere(where.numel() * where.item_size());
    int next = -1;
    const bool whole = base.offset == 0 && base.storage->bytes() == result.storage->bytes() &&
                       base.strides == result.strides;
    if (whole && base.storage != value.storage) {
      next = builder_.NextVersion(Of(base), DiesAt(base, i));
    } else if (whole) {
      next = builder_.NextVersion(Of(base));
    } else {
      next = Fresh(i, result);
      if (!builder_.HandOn(Of(base), base, next, result)) return TooFine(i);
    }
    versions_[result.storage.get()] = next;
    const bool followed = builder_.HandOn(Of(value), source, next, where);
    if (!followed) return AddCoarseScatter(i, value, source, where, next);
    builder_.SameTensor(Of(value), source, next, where,
                        copies ? Alias::Put::kCopied : Alias::Put::kComputed);
    builder_.HeldHere(next, where, FlowEvent::For::kAsWritten);
    if (options_.whole_bases) builder_.HeldHere(next, result, FlowEvent::For::kFunctional);
    return {};
  }
  // The value was computed for this scatter: it is the result of an in-place operator.
  bool IsResultOf(const std::vector<Value>&, size_t i) const {
    const ir::Node& scatter = graph_.nodes[i];
    if (!scatter.args[1].IsNode()) return false;
    const size_t v = static_cast<size_t>(scatter.args[1].node().index);
    const ir::Node& value = graph_.nodes[v];
    if (value.kind == ir::Node::Kind::kGetItem) {
      return ir::AutoFunctionalizedVersion(graph_.node(value.args[0].node())) == 1;
    }
    bool is_view = false;
    for (const Value& arg : trace_.args[v]) {
      ForEachTensor(arg, [&](const Tensor& t) {
        is_view = is_view ||
                  (trace_.values[v].IsTensor() && t.storage == trace_.values[v].tensor().storage);
      });
    }
    if (is_view) return false;
    return value.kind == ir::Node::Kind::kCall && value.op != nullptr && uses_[v] == 1 &&
           v + 1 == i && !value.op->traits.copy && value.place == scatter.place &&
           value.text_line == scatter.text_line && trace_.values[v].IsTensor();
  }
  Status AddCoarseScatter(size_t i, const Tensor& value, const View& source, const View& where,
                          int next) {
    FlowNode& node = Begin(i, graph_.nodes[i].op->traits);
    node.is_copy = true;
    node.tied = true;
    node.pointwise = false;
    node.copy_to = where;
    node.tied_operand = 0;
    const Interval extent = ExtentOf(where);
    const View bytes{DType::kU8, {extent.end - extent.begin}, {1}, extent.begin};
    const int before = builder_.Window(next);
    if (!builder_.HandOn(next, bytes, before, bytes)) return TooFine(i);
    builder_.AddOperand(before, bytes, true, true, 0);
    builder_.AddOperand(Of(value), source, true, false);
    builder_.EndOperands({next});
    builder_.EndNode();
    return {};
  }

  // ---- auto_functionalized

  struct InnerBase {
    int before = -1, next = -1;
    const Storage* storage = nullptr;
  };

  Status AddFunctionalized(size_t i, const interpret::InnerCall& inner) {
    PAL_TRY(ir::FunctionalizedCall call, ir::DecodeFunctionalized(graph_, graph_.nodes[i]));
    std::vector<InnerBase> bases;
    for (size_t b = 0; b < inner.bases.size(); ++b) {
      if (!call.bases[b].IsNode()) return InternalError("a base that is no node");
      PAL_TRY(InnerBase base, BaseBefore(call.bases[b].node(), inner.bases[b]));
      bases.push_back(base);
    }
    const op::Traits& traits = inner.op->traits;
    FlowNode& node = Begin(i, traits);
    node.tied = true;
    std::vector<std::pair<const Storage*, int>> outs;
    for (size_t a = 0; a < inner.args.size(); ++a) {
      const bool written = inner.op->schema.args[a].type.is_write();
      ForEachTensor(inner.args[a], [&](const Tensor& t) { AddInnerOperand(t, written, bases); });
    }
    std::vector<int> next;
    for (size_t b = 0; b < bases.size(); ++b) {
      const bool dies = b < inner.bases.size() && DiesAtInner(i, call, b);
      bases[b].next = builder_.NextVersion(bases[b].before, dies);
      next.push_back(bases[b].next);
      versions_[bases[b].storage] = bases[b].next;
    }
    builder_.EndOperands(next);
    std::vector<Tensor> fresh;
    for (const Value& value : inner.returns) {
      ForEachTensor(value, [&](const Tensor& t) {
        bool seen = IsKnown(t);
        for (const Tensor& f : fresh) seen = seen || f.storage == t.storage;
        if (!seen) fresh.push_back(t);
      });
    }
    AddResults(fresh, false);
    builder_.EndNode();
    return {};
  }

  // The contents of a base before the call, in the coordinates of the call's copy.
  Result<InnerBase> BaseBefore(ir::NodeId node, const Tensor& copy) {
    const Tensor& original = ValueOf(node).tensor();
    InnerBase base;
    base.storage = copy.storage.get();
    const bool same = original.offset == 0 && copy.offset == 0 &&
                      original.strides == copy.strides &&
                      original.storage->bytes() == copy.storage->bytes();
    if (same) {
      base.before = Of(original);
    } else {
      base.before = builder_.AddFresh(copy.storage->bytes());
      builder_.MadeBy(base.before, node);
      if (!builder_.HandOn(Of(original), original, base.before, copy)) {
        return Unsupported("a written operand in more pieces than can be followed");
      }
      builder_.SameTensor(Of(original), original, base.before, copy);
    }
    if (options_.whole_bases) builder_.HeldHere(base.before, copy, FlowEvent::For::kFunctional);
    return base;
  }
  // The old map may be moved: it is the call's own, or nobody else asks for it.
  bool DiesAtInner(size_t i, const ir::FunctionalizedCall& call, size_t b) {
    const Tensor& original = ValueOf(call.bases[b].node()).tensor();
    for (size_t other = 0; other < call.bases.size(); ++other) {
      if (other != b && ValueOf(call.bases[other].node()).tensor().storage == original.storage) {
        return false;
      }
    }
    return DiesAt(original, i);
  }

  void AddInnerOperand(const Tensor& t, bool written, std::vector<InnerBase>& bases) {
    for (size_t b = 0; b < bases.size(); ++b) {
      if (bases[b].storage != t.storage.get()) continue;
      builder_.AddOperand(bases[b].before, t, true, written, static_cast<int>(b));
      return;
    }
    if (!written) {
      builder_.AddOperand(Of(t), t, true, false);
      return;
    }
    // Memory for an `out=` argument: only written.
    InnerBase base;
    base.storage = t.storage.get();
    base.before = builder_.AddFresh(t.storage->bytes());
    builder_.MadeBy(base.before, builder_.last_node().node);
    builder_.AddOperand(base.before, t, false, true, static_cast<int>(bases.size()));
    bases.push_back(base);
  }

  // ---- the end

  Status SetFinals() {
    for (const ir::WriteBack& w : graph_.write_backs) {
      const Tensor& input = ValueOf(w.input).tensor();
      const Tensor& value = ValueOf(w.value).tensor();
      PAL_TRY(View where, interpret::WriteBackView(input, value));
      const int first = versions_[input.storage.get()];
      const bool same = value.offset == 0 && where.offset == 0 && value.dtype == where.dtype &&
                        value.strides == where.strides && value.sizes == where.sizes &&
                        value.storage->bytes() == input.storage->bytes();
      if (same) {
        builder_.SetFinal(first, Of(value));
        continue;
      }
      auto earlier = partial_final_.find(first);
      const int final =
          builder_.NextVersion(earlier == partial_final_.end() ? first : earlier->second);
      if (!builder_.HandOn(Of(value), value, final, where)) {
        return Unsupported("a write-back in more pieces than can be followed");
      }
      builder_.SameTensor(Of(value), value, final, where, Alias::Put::kCopied);
      partial_final_[first] = final;
      builder_.SetFinal(first, final);
    }
    return {};
  }

  const ir::Graph& graph_;
  std::span<const Value> inputs_;
  BuildFlowOptions options_;
  interpret::Trace trace_;
  FlowBuilder builder_;
  std::unordered_map<const Storage*, int> versions_, last_use_;
  std::vector<int> uses_;
  std::map<int, int> partial_final_;
};

}  // namespace

Result<FlowGraph> BuildFlow(const ir::Graph& graph, std::span<const Value> inputs,
                            const BuildFlowOptions& options) {
  return Building(graph, inputs, options).Run();
}

}  // namespace palimpsest::reinplace
