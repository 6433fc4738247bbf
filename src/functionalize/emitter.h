// Emitter: appends nodes to the functional graph. Internal to functionalize/.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "op/op.h"
#include "palimpsest/result.h"
#include "palimpsest/value.h"

namespace palimpsest::functionalize {

ir::Type TypeOf(const View& view);
// Of a node with this value: tensors, lists of them; numbers have no type of their own here.
ir::Type TypeOf(const Value& value);
// An argument without tensors: numbers, lists of numbers, dtypes, None.
ir::Argument Constant(const Value& value);

class Emitter {
 public:
  explicit Emitter(ir::Graph* graph) : graph_(graph) {}

  // The program's node that the next nodes are made for: they take over its source place.
  void SetOrigin(int place, int text_line) {
    place_ = place;
    text_line_ = text_line;
  }
  // kInternal if the operator is not in the table.
  Result<const op::Op*> Find(const std::string& key) const;

  // `args`: one per schema argument. `stem`: what the node's name is made from.
  ir::NodeId Call(const op::Op& op, std::string stem, std::vector<ir::Argument> args,
                  ir::Type type);
  // By key; arguments behind the given ones get their defaults.
  Result<ir::NodeId> Call(const std::string& key, std::vector<ir::Argument> args,
                          const View& result);
  ir::NodeId HigherOrder(const char* target, std::string stem, std::vector<ir::Argument> args,
                         std::vector<ir::NamedArgument> kwargs);
  ir::NodeId GetItem(ir::NodeId list, int64_t index, std::string stem, ir::Type type);

  ir::Graph& graph() { return *graph_; }

 private:
  ir::NodeId Append(ir::Node node, std::string stem);
  ir::Graph* graph_;
  int place_ = -1, text_line_ = 0;
};

}  // namespace palimpsest::functionalize
