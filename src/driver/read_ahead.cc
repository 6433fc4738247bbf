#include "driver/read_ahead.h"

#include <fmt/format.h>

#include <cstring>

#include "interpret/interpret.h"

namespace palimpsest::driver {
namespace {

bool ReadsNumber(const ir::Node& node) {
  return node.op != nullptr && interpret::ReadsNumber(*node.op);
}
bool IsCond(const ir::Node& node) { return node.target == "torch.ops.higher_order.cond"; }
bool IsWhile(const ir::Node& node) { return node.target == "torch.ops.higher_order.while_loop"; }
bool IsSym(const ir::Graph& graph, const ir::Argument& a) {
  return !a.IsNode() || graph.node(a.node()).type.kind == ir::Type::Kind::kSym;
}
// A cond whose branch is read from memory, or a loop that is left when memory says so.
bool Decides(const ir::Graph& graph, const ir::Node& node) {
  return IsWhile(node) || (IsCond(node) && !node.args.empty() && !IsSym(graph, node.args[0]));
}

// What the regions of a higher-order node do, those inside them included.
struct RegionFacts {
  bool decides = false;  // Note [Decisions] of interpret/
  bool writes = false;
  std::string unrepeatable;  // an operator with effects or that draws random numbers
};

RegionFacts FactsOf(const ir::Graph& graph, const ir::Node& node) {
  RegionFacts facts;
  std::vector<const ir::Graph*> todo;
  auto add = [&](const ir::Graph& g, const ir::Node& n) {
    for (const ir::Argument& a : n.args) {
      if (!a.Is<ir::SubgraphRef>()) continue;
      const auto index = static_cast<size_t>(a.As<ir::SubgraphRef>().index);
      if (index < g.subgraphs.size()) todo.push_back(g.subgraphs[index].get());
    }
  };
  add(graph, node);
  while (!todo.empty()) {
    const ir::Graph& g = *todo.back();
    todo.pop_back();
    for (const ir::Node& n : g.nodes) {
      if (n.kind != ir::Node::Kind::kCall) continue;
      add(g, n);
      facts.decides = facts.decides || ReadsNumber(n) || Decides(g, n);
      if (n.op == nullptr) continue;
      facts.writes = facts.writes || n.op->schema.WritesAnything();
      if (n.op->traits.random || n.op->traits.effect) facts.unrepeatable = n.target;
    }
  }
  return facts;
}

// Which values may share memory, from the alias annotations of the schemas alone.
class MayShare {
 public:
  explicit MayShare(const ir::Graph& graph) : parent_(graph.nodes.size()) {
    for (size_t i = 0; i < parent_.size(); ++i) parent_[i] = i;
    size_t first_input = parent_.size();
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const ir::Node& node = graph.nodes[i];
      if (node.kind == ir::Node::Kind::kInput) {
        // A caller may pass views of one storage.
        if (first_input == parent_.size()) first_input = i;
        Join(i, first_input);
      } else if (node.kind == ir::Node::Kind::kGetItem || ReturnsAlias(node)) {
        for (const ir::Argument& arg : node.args) {
          ir::ForEachNode(arg, [&](ir::NodeId id) { Join(i, static_cast<size_t>(id.index)); });
        }
        for (const ir::NamedArgument& arg : node.kwargs) {
          ir::ForEachNode(arg.value,
                          [&](ir::NodeId id) { Join(i, static_cast<size_t>(id.index)); });
        }
      }
    }
  }
  size_t Root(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

 private:
  static bool ReturnsAlias(const ir::Node& node) {
    if (node.kind != ir::Node::Kind::kCall) return false;
    if (node.op == nullptr) return true;  // unknown: may return its operands
    for (const op::SchemaArg& ret : node.op->schema.returns) {
      if (ret.type.alias) return true;
    }
    return false;
  }
  void Join(size_t a, size_t b) { parent_[Root(a)] = Root(b); }
  std::vector<size_t> parent_;
};

// The nodes that lead to `wanted`: their operands, and every earlier write to memory they may read.
std::vector<bool> SliceOf(const ir::Graph& graph, const std::vector<ir::NodeId>& wanted) {
  MayShare share(graph);
  size_t n = 0;  // what comes after the last wanted node cannot matter
  for (ir::NodeId id : wanted) n = std::max(n, static_cast<size_t>(id.index) + 1);
  std::vector<bool> keep(graph.nodes.size(), false), live_root(graph.nodes.size(), false);
  for (ir::NodeId id : wanted) keep[static_cast<size_t>(id.index)] = true;
  // Operands come first in the list, so one walk backwards finds all but writes to memory that only
  // an earlier node makes live; those need another round, which is rare.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = n; i-- > 0;) {
      const ir::Node& node = graph.nodes[i];
      bool writes_live = false;
      if (!keep[i] && node.kind == ir::Node::Kind::kCall) {
        const bool region_writes = node.op == nullptr && FactsOf(graph, node).writes;
        for (size_t a = 0; a < node.args.size(); ++a) {
          if (node.op == nullptr ? !region_writes : !node.op->schema.args[a].type.is_write()) {
            continue;
          }
          ir::ForEachNode(node.args[a], [&](ir::NodeId id) {
            writes_live = writes_live || live_root[share.Root(static_cast<size_t>(id.index))];
          });
        }
      }
      if (!keep[i] && !writes_live) continue;
      if (!keep[i]) keep[i] = changed = true;
      auto use = [&](ir::NodeId id) {
        size_t k = static_cast<size_t>(id.index);
        if (!keep[k]) keep[k] = changed = true;
        if (!live_root[share.Root(k)]) live_root[share.Root(k)] = changed = true;
      };
      for (const ir::Argument& arg : node.args) ir::ForEachNode(arg, use);
      for (const ir::NamedArgument& arg : node.kwargs) ir::ForEachNode(arg.value, use);
    }
  }
  return keep;
}

// Copies the storages that the slice may write; inputs that share one go on sharing its copy.
Result<std::vector<Value>> CopyWritten(std::span<const Value> inputs,
                                       const std::vector<bool>& written) {
  std::map<Storage*, StorageRef> copies;
  std::vector<Value> result(inputs.begin(), inputs.end());
  for (size_t i = 0; i < result.size(); ++i) {
    if (!written[i] || !result[i].IsTensor()) continue;
    const StorageRef& storage = result[i].tensor().storage;
    if (copies.contains(storage.get())) continue;
    PAL_TRY(StorageRef copy, AllocateStorage(storage->bytes()));
    std::memcpy(copy->data(), storage->data(), static_cast<size_t>(storage->bytes()));
    copies.emplace(storage.get(), std::move(copy));
  }
  for (Value& value : result) {
    if (!value.IsTensor()) continue;
    auto it = copies.find(value.tensor().storage.get());
    if (it != copies.end()) value.As<Tensor>().storage = it->second;
  }
  return result;
}

}  // namespace

ReadAhead::ReadAhead(const ir::Graph& program) {
  std::vector<ir::NodeId> wanted;
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    const ir::Node& node = program.nodes[i];
    const ir::NodeId id(static_cast<int64_t>(i));
    if (ReadsNumber(node)) nodes_.push_back({id, id, false});
    if (node.kind != ir::Node::Kind::kCall || node.op != nullptr) continue;
    const bool inside = FactsOf(program, node).decides;
    if (IsCond(node) && !inside) {
      // Its predicate says it all: no branch need run.
      if (Decides(program, node)) nodes_.push_back({id, node.args[0].node(), true});
    } else if (inside || Decides(program, node)) {
      nodes_.push_back({id, id, true});
    }
  }
  if (nodes_.empty()) return;
  for (const Wanted& w : nodes_) wanted.push_back(w.read);
  std::vector<bool> keep = SliceOf(program, wanted);
  slice_ = std::make_shared<ir::Graph>(program);
  slice_->write_backs.clear();
  slice_->outputs.clear();
  for (ir::NodeId id : wanted) slice_->outputs.emplace_back(id);
  bool writes = false;
  for (size_t i = 0; i < keep.size(); ++i) {
    const ir::Node& node = program.nodes[i];
    if (node.kind == ir::Node::Kind::kInput) keep[i] = true;
    if (!keep[i] || node.kind != ir::Node::Kind::kCall) continue;
    RegionFacts facts = FactsOf(program, node);
    if (node.op != nullptr) {
      facts.writes = node.op->schema.WritesAnything();
      if (node.op->traits.random || node.op->traits.effect) facts.unrepeatable = node.target;
    }
    writes = writes || facts.writes;
    if (!facts.unrepeatable.empty()) {
      refused_ = fmt::format(
          "{} is run before the plan is made, because a size, an index or a branch hangs on it; it "
          "draws random numbers or has effects, so it cannot be run twice",
          facts.unrepeatable);
    }
  }
  written_inputs_.assign(program.num_inputs(), writes);
  ir::Compact(*slice_, keep);
}

namespace {

// A predicate as the one decision that its cond makes.
Result<Value> DecisionOf(const Value& predicate) {
  if (predicate.IsNumber()) return Value(Value::List{Value(predicate.ToBool())});
  if (!predicate.IsTensor()) return BadInput("the predicate of a cond is neither bool nor tensor");
  const Tensor& t = predicate.tensor();
  if (t.dtype != DType::kB8 || t.numel() != 1) {
    return BadInput(
        fmt::format("the predicate of a cond is {}, one bool is expected", ToString(t.view())));
  }
  return Value(Value::List{Value(*t.data_as<uint8_t>() != 0)});
}

}  // namespace

Result<std::vector<Value>> ReadAhead::Read(std::span<const Value> inputs) const {
  if (nodes_.empty()) return std::vector<Value>{};
  if (!refused_.empty()) return Unsupported(refused_);
  PAL_TRY(std::vector<Value> copies, CopyWritten(inputs, written_inputs_));
  interpret::WalkOptions options;
  options.keep_values = false;
  PAL_TRY(interpret::Trace trace, interpret::Interpret(*slice_, copies, options));
  for (size_t k = 0; k < nodes_.size(); ++k) {
    Value& value = trace.outputs[k];
    if (!nodes_[k].has_decisions) continue;
    if (nodes_[k].read != nodes_[k].node) {
      PAL_TRY(value, DecisionOf(value));
      continue;
    }
    auto made = trace.decisions.find(slice_->outputs[k].node());
    value = Value(made == trace.decisions.end() ? Value::List() : made->second);
  }
  return std::move(trace.outputs);
}

std::map<ir::NodeId, Value> ReadAhead::ByNode(std::span<const Value> numbers) const {
  std::map<ir::NodeId, Value> by_node;
  for (size_t i = 0; i < numbers.size(); ++i) by_node[nodes_[i].node] = numbers[i];
  return by_node;
}

}  // namespace palimpsest::driver
