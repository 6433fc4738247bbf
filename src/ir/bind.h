// BindCall: the arguments of a call as written -> one slot per schema argument.
#pragma once

#include "ir/graph.h"
#include "palimpsest/result.h"

namespace palimpsest::ir {

// Sets node.args from positional and keyword arguments by node.op->schema; defaults are filled in;
// an int becomes a float where the schema says float; a single value is repeated for `T[N]`.
// REQUIRES: node.op. Errors (kBadInput): missing, unknown or doubled arguments, and constants of a
// kind that the slot does not take.
Status BindCall(Node& node, std::vector<Argument> positional, std::vector<NamedArgument> keywords);

// The reverse, for printing: positional arguments without trailing defaults; keyword-only ones, and
// only those that differ from their default, by name.
struct CallText {
  std::vector<const Argument*> positional;
  std::vector<std::pair<std::string_view, const Argument*>> keywords;
};
CallText ArgumentsAsWritten(const Node& node);

}  // namespace palimpsest::ir
