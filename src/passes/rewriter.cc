#include "passes/rewriter.h"

#include <fmt/format.h>

namespace palimpsest::passes {

Rewriter::Rewriter(const ir::Graph& source) : source_(&source), value_(source.nodes.size()) {
  graph_.class_name = source.class_name;
  graph_.phase = source.phase;
  graph_.inputs = source.inputs;
  graph_.single_output = source.single_output;
  graph_.subgraphs = source.subgraphs;
  graph_.subgraph_names = source.subgraph_names;
  graph_.places = source.places;
  graph_.schemas = source.schemas;
  graph_.ranges = source.ranges;
  graph_.guards = source.guards;
  graph_.file = source.file;
  graph_.own_ops = source.own_ops;
  graph_.ops = source.ops;
}

ir::Argument Rewriter::Map(const ir::Argument& argument) const {
  if (argument.IsNode()) return value_[static_cast<size_t>(argument.node().index)];
  if (argument.IsList()) {
    ir::Argument::List list;
    for (const ir::Argument& a : argument.list()) list.push_back(Map(a));
    return ir::Argument(std::move(list));
  }
  if (argument.Is<ir::Argument::Dict>()) {
    ir::Argument::Dict dict;
    for (const auto& [key, a] : argument.As<ir::Argument::Dict>()) dict.emplace_back(key, Map(a));
    return ir::Argument(std::move(dict));
  }
  if (argument.Is<ir::SubgraphRef>()) {
    return ir::SubgraphRef{argument.As<ir::SubgraphRef>().index + first_subgraph_};
  }
  return argument;
}

std::vector<ir::Argument> Rewriter::Map(const std::vector<ir::Argument>& arguments) const {
  std::vector<ir::Argument> mapped;
  for (const ir::Argument& a : arguments) mapped.push_back(Map(a));
  return mapped;
}

ir::NodeId Rewriter::Keep(size_t old_node) {
  ir::Node node = source_->nodes[old_node];
  node.args = Map(node.args);
  for (ir::NamedArgument& a : node.kwargs) a.value = Map(a.value);
  node.name = graph_.FreshName(node.name);
  node.place = PlaceOf(node);
  ir::NodeId id = graph_.Append(std::move(node));
  Set(old_node, id);
  return id;
}

void Rewriter::KeepGetItem(size_t old_node) {
  const ir::Node& node = source_->nodes[old_node];
  ir::Argument list = node.args.empty() ? ir::Argument() : Map(node.args[0]);
  int64_t size = list.IsList() ? static_cast<int64_t>(list.list().size()) : -1;
  if (node.index >= 0 && node.index < size) {
    Set(old_node, list.list()[static_cast<size_t>(node.index)]);
  } else {
    Keep(old_node);
  }
}

Rewriter::Scope Rewriter::Enter(const ir::Graph& subgraph) {
  Scope scope{source_, std::move(value_), first_place_, first_subgraph_};
  first_subgraph_ = static_cast<int>(graph_.subgraphs.size());
  for (size_t i = 0; i < subgraph.subgraphs.size(); ++i) {
    graph_.subgraphs.push_back(subgraph.subgraphs[i]);
    graph_.subgraph_names.push_back(
        fmt::format("region_{}_{}", first_subgraph_, graph_.subgraphs.size()));
  }
  source_ = &subgraph;
  value_.assign(subgraph.nodes.size(), ir::Argument());
  first_place_ = static_cast<int>(graph_.places.size());
  graph_.places.insert(graph_.places.end(), subgraph.places.begin(), subgraph.places.end());
  return scope;
}

void Rewriter::Leave(Scope scope) {
  source_ = scope.source;
  value_ = std::move(scope.value);
  first_place_ = scope.first_place;
  first_subgraph_ = scope.first_subgraph;
}

ir::Graph Rewriter::Finish() {
  auto node = [this](ir::NodeId old) {
    const ir::Argument& a = value_[static_cast<size_t>(old.index)];
    return a.IsNode() ? a.node() : ir::NodeId();
  };
  for (const ir::Argument& output : source_->outputs) graph_.outputs.push_back(Map(output));
  for (const ir::StorageGroup& group : source_->storages) {
    graph_.storages.push_back(group);
    for (ir::StorageGroup::Member& m : graph_.storages.back().members) m.input = node(m.input);
  }
  for (const ir::OrderEdge& edge : source_->order) {
    ir::OrderEdge mapped{node(edge.before), node(edge.after)};
    if (mapped.before.valid() && mapped.after.valid()) graph_.order.push_back(mapped);
  }
  return std::move(graph_);
}

}  // namespace palimpsest::passes
