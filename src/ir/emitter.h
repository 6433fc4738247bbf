// Emitter: appends nodes to a graph that a pass builds.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "op/op.h"
#include "palimpsest/result.h"
#include "palimpsest/value.h"

namespace palimpsest::ir {

Type TypeOf(const View& view);
// Of a node with this value: tensors, lists of them; numbers have no type of their own here.
Type TypeOf(const Value& value);

class Emitter {
 public:
  explicit Emitter(Graph* graph) : graph_(graph) {}

  // Source place of the next nodes: that of the node that they are made for.
  void SetOrigin(int place, int text_line) {
    place_ = place;
    text_line_ = text_line;
  }
  // kInternal if the operator is not in the table.
  Result<const op::Op*> Find(const std::string& key) const;

  // `args`: one per schema argument. `stem`: what the node's name is made from.
  NodeId Call(const op::Op& op, std::string stem, std::vector<Argument> args, Type type);
  // By key; arguments behind the given ones get their defaults. `stem` "": the operator's name.
  Result<NodeId> Call(const std::string& key, std::vector<Argument> args, Type type = {},
                      std::string stem = "");
  Result<NodeId> Call(const std::string& key, std::vector<Argument> args, const View& result) {
    return Call(key, std::move(args), TypeOf(result));
  }
  NodeId HigherOrder(const char* target, std::string stem, std::vector<Argument> args,
                     std::vector<NamedArgument> kwargs);
  NodeId GetItem(NodeId list, int64_t index, std::string stem, Type type);

  Graph& graph() { return *graph_; }

 private:
  NodeId Append(Node node, std::string stem);
  Graph* graph_;
  int place_ = -1, text_line_ = 0;
};

}  // namespace palimpsest::ir
