// Rewriter: a graph is built anew from another one, node by node. Internal to passes/.
//
// Each old node stands for an argument of the new graph: a node, a list of them (results of a call
// that was taken apart: their getitem nodes disappear), or None.
#pragma once

#include <string>
#include <vector>

#include "ir/emitter.h"
#include "ir/graph.h"

namespace palimpsest::passes {

class Rewriter {
 public:
  // Copies the header of `source` (signature, places, tables); nodes are to follow.
  explicit Rewriter(const ir::Graph& source);

  ir::Argument Map(const ir::Argument& argument) const;
  std::vector<ir::Argument> Map(const std::vector<ir::Argument>& arguments) const;
  void Set(size_t old_node, ir::Argument value) { value_[old_node] = std::move(value); }
  const ir::Argument& Get(size_t old_node) const { return value_[old_node]; }
  // The same node with its arguments mapped.
  ir::NodeId Keep(size_t old_node);
  // A getitem of a list that was taken apart is its element.
  void KeepGetItem(size_t old_node);

  const ir::Graph& source() const { return *source_; }
  const ir::Graph& graph() const { return graph_; }
  // Of a node of the source, in the new graph's numbering of places.
  int PlaceOf(const ir::Node& node) const {
    return node.place < 0 ? -1 : node.place + first_place_;
  }
  ir::Emitter& emit() { return emit_; }
  // Outputs, storages and order edges follow the nodes. Write-backs are left to the caller.
  ir::Graph Finish();

  // Goes on with the nodes of a subgraph in the place of one node; returns what was before.
  struct Scope {
    const ir::Graph* source;
    std::vector<ir::Argument> value;
    int first_place;
    int first_subgraph;
  };
  Scope Enter(const ir::Graph& subgraph);
  void Leave(Scope scope);

 private:
  const ir::Graph* source_;
  ir::Graph graph_;
  ir::Emitter emit_{&graph_};
  std::vector<ir::Argument> value_;
  // Where the source's places and subgraphs begin in the new graph's.
  int first_place_ = 0;
  int first_subgraph_ = 0;
};

}  // namespace palimpsest::passes
