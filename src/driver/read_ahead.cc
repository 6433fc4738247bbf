#include "driver/read_ahead.h"

#include <fmt/format.h>

#include <cstring>

#include "interpret/interpret.h"

namespace palimpsest::driver {
namespace {

bool ReadsNumber(const ir::Node& node) {
  return node.op != nullptr && (node.op->schema.Key() == "aten::item" ||
                                node.op->schema.Key() == "aten::_local_scalar_dense");
}
// The predicate of a cond is read ahead too: it decides which branch is compiled.
bool IsCond(const ir::Node& node) { return node.target == "torch.ops.higher_order.cond"; }

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
      if (!keep[i] && node.kind == ir::Node::Kind::kCall && node.op != nullptr) {
        for (size_t a = 0; a < node.args.size(); ++a) {
          if (!node.op->schema.args[a].type.is_write()) continue;
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
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    const ir::Node& node = program.nodes[i];
    if (ReadsNumber(node)) nodes_.push_back(ir::NodeId(static_cast<int64_t>(i)));
    if (IsCond(node) && !node.args.empty() && node.args[0].IsNode() &&
        program.node(node.args[0].node()).type.kind != ir::Type::Kind::kSym) {
      nodes_.push_back(node.args[0].node());
    }
  }
  if (nodes_.empty()) return;
  std::vector<bool> keep = SliceOf(program, nodes_);
  slice_ = std::make_shared<ir::Graph>(program);
  slice_->write_backs.clear();
  slice_->outputs.clear();
  for (ir::NodeId id : nodes_) slice_->outputs.emplace_back(id);
  bool writes = false;
  for (size_t i = 0; i < keep.size(); ++i) {
    const ir::Node& node = program.nodes[i];
    if (node.kind == ir::Node::Kind::kInput) keep[i] = true;
    if (!keep[i] || node.op == nullptr) continue;
    writes = writes || node.op->schema.WritesAnything();
    if (node.op->traits.random || node.op->traits.effect) {
      refused_ = fmt::format(
          "{} decides a size or an index through a number read from memory; it "
          "draws random numbers or has effects, so it cannot be run ahead",
          node.target);
    }
  }
  written_inputs_.assign(program.num_inputs(), writes);
  ir::Compact(*slice_, keep);
}

Result<std::vector<Value>> ReadAhead::Read(std::span<const Value> inputs) const {
  if (nodes_.empty()) return std::vector<Value>{};
  if (!refused_.empty()) return Unsupported(refused_);
  PAL_TRY(std::vector<Value> copies, CopyWritten(inputs, written_inputs_));
  PAL_TRY(interpret::Trace trace, interpret::Interpret(*slice_, copies));
  for (Value& number : trace.outputs) {
    if (!number.IsTensor()) continue;
    const Tensor& t = number.tensor();  // a predicate
    if (t.dtype != DType::kB8 || t.numel() != 1) {
      return BadInput(
          fmt::format("the predicate of a cond is {}, one bool is expected", ToString(t.view())));
    }
    number = Value(*t.data_as<uint8_t>() != 0);
  }
  return std::move(trace.outputs);
}

std::map<ir::NodeId, Value> ReadAhead::ByNode(std::span<const Value> numbers) const {
  std::map<ir::NodeId, Value> by_node;
  for (size_t i = 0; i < numbers.size(); ++i) by_node[nodes_[i]] = numbers[i];
  return by_node;
}

}  // namespace palimpsest::driver
