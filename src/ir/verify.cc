#include "ir/verify.h"

#include <fmt/format.h>

#include <unordered_set>

namespace palimpsest::ir {
namespace {

struct State {
  const Graph& graph;

  Error Broken(const std::string& what) const {
    return InternalError(fmt::format("graph {}: {}", graph.class_name, what));
  }
  Error Broken(const Node& node, const std::string& what) const {
    return Broken(fmt::format("node {}: {}", node.name, what));
  }

  bool IsInput(NodeId id) const { return IsNode(id) && graph.node(id).kind == Node::Kind::kInput; }
  bool IsNode(NodeId id) const {
    return id.valid() && static_cast<size_t>(id.index) < graph.nodes.size();
  }

  // Every node that `argument` names stands before `end`; subgraphs exist.
  Status CheckArgument(const Argument& argument, size_t end, const std::string& where) const {
    bool bad = false;
    ForEachNode(argument, [&](NodeId id) {
      bad = bad || !id.valid() || static_cast<size_t>(id.index) >= end;
    });
    if (bad) return Broken(where + " names a node that does not come before");
    if (argument.Is<SubgraphRef>()) {
      int index = argument.As<SubgraphRef>().index;
      if (index < 0 || static_cast<size_t>(index) >= graph.subgraphs.size()) {
        return Broken(where + " names a subgraph that does not exist");
      }
    }
    return {};
  }

  Status CheckCall(const Node& node) const {
    if (node.target.empty()) return Broken(node, "a call without a target");
    if (node.op == nullptr) return {};
    const op::Schema& schema = node.op->schema;
    if (node.args.size() != schema.args.size() || !node.kwargs.empty()) {
      return Broken(node, fmt::format("{} arguments for {}", node.args.size(), schema.ToString()));
    }
    if (graph.phase >= Phase::kFunctional && schema.WritesAnything()) {
      return Broken(node, fmt::format("{} writes, but the graph is functional", node.target));
    }
    return {};
  }

  Status CheckNode(size_t i) const {
    const Node& node = graph.nodes[i];
    bool is_input = node.kind == Node::Kind::kInput;
    if (is_input && i > 0 && graph.nodes[i - 1].kind != Node::Kind::kInput) {
      return Broken(node, "an input after a call");
    }
    if (is_input && (!node.args.empty() || !node.kwargs.empty())) {
      return Broken(node, "an input with arguments");
    }
    for (const Argument& arg : node.args) PAL_TRY(CheckArgument(arg, i, "node " + node.name));
    for (const NamedArgument& arg : node.kwargs) {
      PAL_TRY(CheckArgument(arg.value, i, "node " + node.name));
    }
    if (node.place >= static_cast<int>(graph.places.size()))
      return Broken(node, "its source place");
    if (node.kind == Node::Kind::kCall) return CheckCall(node);
    bool is_item = node.kind == Node::Kind::kGetItem;
    if (is_item && (node.args.size() != 1 || !node.args[0].IsNode() || node.index < 0)) {
      return Broken(node, "an element without a list or an index");
    }
    return {};
  }

  Status CheckNodes() const {
    std::unordered_set<std::string_view> names;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      if (node.name.empty()) return Broken(fmt::format("node number {} has no name", i));
      if (!names.insert(node.name).second) return Broken(node, "a second node of this name");
      PAL_TRY(CheckNode(i));
    }
    return {};
  }

  Status CheckSignature() const {
    if (graph.inputs.size() > graph.num_inputs()) return Broken("more input specs than inputs");
    for (const Argument& out : graph.outputs) {
      PAL_TRY(CheckArgument(out, graph.nodes.size(), "a result"));
    }
    for (const WriteBack& w : graph.write_backs) {
      if (!IsInput(w.input) || !IsNode(w.value))
        return Broken("a write-back of no input or no value");
    }
    for (const StorageGroup& group : graph.storages) {
      for (const StorageGroup::Member& m : group.members) {
        if (!IsInput(m.input)) return Broken("a storage of something that is no input");
      }
    }
    for (const OrderEdge& e : graph.order) {
      if (!IsNode(e.before) || !IsNode(e.after)) return Broken("an order edge without a node");
    }
    for (const auto& [id, place] : graph.place_of) {
      if (!IsNode(id)) return Broken("a place in memory of no node");
    }
    if (graph.subgraphs.size() != graph.subgraph_names.size())
      return Broken("a subgraph without a name");
    return {};
  }
};

}  // namespace

Status Verify(const Graph& graph) {
  std::vector<const Graph*> work = {&graph};
  for (size_t next = 0; next < work.size(); ++next) {
    State state{*work[next]};
    PAL_TRY(state.CheckNodes());
    PAL_TRY(state.CheckSignature());
    for (const auto& sub : work[next]->subgraphs) {
      if (sub == nullptr) return state.Broken("an empty subgraph");
      work.push_back(sub.get());
    }
  }
  return {};
}

}  // namespace palimpsest::ir
