// Which operators a program calls, and which of them cannot be run here.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "palimpsest/result.h"

namespace palimpsest::driver {

struct OperatorCall {
  const op::Op* op;  // null: not in the table
  const std::string* target;
  const ir::Node* node;
  const ir::Graph* graph;  // that holds the node
};
// All calls, those inside regions and those that auto_functionalized wraps included.
std::vector<OperatorCall> OperatorCalls(const ir::Graph& graph);

// Operators that are not in the table, told all at once: each name, how often, where first in the
// user's code, and what to do. Error kUnsupported if PyTorch has them and there is no kernel here;
// kUnknownOperator if nobody knows one of them.
Status RefuseUnknownOperators(const ir::Graph& graph);

}  // namespace palimpsest::driver
