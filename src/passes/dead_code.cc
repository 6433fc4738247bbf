#include "passes/dead_code.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/auto_functionalized.h"

namespace palimpsest::passes {
namespace {

// The operator that a call runs: its own, or the one inside of auto_functionalized.
const op::Op* OperatorOf(const ir::Node& node) {
  if (node.op != nullptr) return node.op;
  if (ir::AutoFunctionalizedVersion(node) == 0 || node.args.empty()) return nullptr;
  if (!node.args[0].Is<ir::OpRef>()) return nullptr;
  return node.args[0].As<ir::OpRef>().op;
}

bool IsRoot(const ir::Node& node) {
  if (node.kind == ir::Node::Kind::kInput) return true;
  if (node.kind != ir::Node::Kind::kCall) return false;
  const op::Op* op = OperatorOf(node);
  if (op == nullptr) return true;  // unknown: live
  return op->traits.effect || op->traits.random || op->traits.may_refuse;
}

// Indexed write -> the indexed read with the same operands and the same refusals, and the arguments
// of the write that it takes (in the read's order). Not index_fill: it takes negative indices,
// which index_select refuses.
struct CheckOnly {
  std::string_view write, read;
  std::initializer_list<size_t> arguments;
  size_t index;  // the argument that holds the indices
};
const CheckOnly kCheckOnly[] = {
    {"aten::index_put", "aten::index.Tensor", {0, 1}, 1},
    {"aten::index_copy", "aten::index_select", {0, 1, 2}, 2},
    {"aten::index_add", "aten::index_select", {0, 1, 2}, 2},
    {"aten::index_reduce", "aten::index_select", {0, 1, 2}, 2},
    {"aten::scatter.src", "aten::gather", {0, 1, 2}, 2},
    {"aten::scatter.value", "aten::gather", {0, 1, 2}, 2},
    {"aten::scatter_add", "aten::gather", {0, 1, 2}, 2},
};

// A mask as an index: reading through it has a size that hangs on data.
bool HasMask(const ir::Graph& graph, const ir::Argument& argument) {
  bool mask = false;
  ForEachNode(argument, [&](ir::NodeId id) {
    const ir::Type& type = graph.node(id).type;
    mask = mask || type.kind != ir::Type::Kind::kTensor || type.tensor.dtype == DType::kB8 ||
           type.tensor.dtype == DType::kU8;
  });
  return mask;
}

bool IsEmpty(const ir::Type& type) {
  if (type.kind != ir::Type::Kind::kTensor) return false;
  return std::any_of(type.tensor.sizes.begin(), type.tensor.sizes.end(),
                     [](const SymInt& size) { return size == SymInt(0); });
}

struct State {
  ir::Graph& graph;
  std::vector<bool> wanted;  // its value, or its effect
  std::vector<bool> used;    // its value
  int weakened = 0;

  void Use(ir::NodeId id) {
    wanted[static_cast<size_t>(id.index)] = true;
    used[static_cast<size_t>(id.index)] = true;
  }
  void UseArguments(const ir::Node& node) {
    auto use = [this](ir::NodeId id) { Use(id); };
    for (const ir::Argument& a : node.args) ForEachNode(a, use);
    for (const ir::NamedArgument& a : node.kwargs) ForEachNode(a.value, use);
  }
  void Weaken(ir::Node& node);
  void Process();
};

void State::Weaken(ir::Node& node) {
  if (node.op == nullptr || node.op->traits.tied < 0 || graph.table() == nullptr) return;
  for (const CheckOnly& rule : kCheckOnly) {
    if (node.op->schema.Key() != rule.write) continue;
    const op::Op* read = graph.table()->Find(rule.read);
    // Writes of nothing look at no index; the reads do.
    if (read == nullptr || HasMask(graph, node.args[rule.index]) || IsEmpty(node.type)) return;
    std::vector<ir::Argument> args;
    for (size_t i : rule.arguments) args.push_back(node.args[i]);
    for (size_t i = args.size(); i < read->schema.args.size(); ++i) {
      const std::optional<Value>& value = read->schema.args[i].default_value;
      args.push_back(value ? ir::Argument::FromValue(*value) : ir::Argument());
    }
    node.op = read;
    node.target = read->schema.Target();
    node.args = std::move(args);
    node.type = {};
    ++weakened;
    return;
  }
}

void State::Process() {
  for (const ir::Argument& output : graph.outputs) {
    ForEachNode(output, [this](ir::NodeId id) { Use(id); });
  }
  for (const ir::WriteBack& write : graph.write_backs) Use(write.value);
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    ir::Node& node = graph.nodes[i];
    if (IsRoot(node)) {
      wanted[i] = true;
      if (node.kind == ir::Node::Kind::kCall && !used[i]) Weaken(node);
    }
    if (wanted[i]) UseArguments(node);
  }
}

}  // namespace

Result<int> RemoveDeadCode(ir::Graph& graph, RemarkSink&) {
  State state{graph, std::vector<bool>(graph.nodes.size()), std::vector<bool>(graph.nodes.size())};
  state.Process();
  size_t before = graph.nodes.size();
  std::erase_if(graph.order, [&](const ir::OrderEdge& edge) {
    return !state.wanted[static_cast<size_t>(edge.before.index)] ||
           !state.wanted[static_cast<size_t>(edge.after.index)];
  });
  ir::Compact(graph, state.wanted);
  return static_cast<int>(before - graph.nodes.size()) + state.weakened;
}

}  // namespace palimpsest::passes
