// Structural equality of arguments and graphs: for default values, passes and round-trip tests.
#pragma once

#include <string>

#include "ir/graph.h"

namespace palimpsest::ir {

// The same kind and the same contents: 1 is not 1.0, nan is nan, -0.0 is not 0.0. Nodes by id.
bool SameArgument(const Argument& a, const Argument& b);

// "" if the two graphs are equal, else what differs first, in words. Names count; the line of the
// text, the file name and the order of `places` do not. A type that is unknown equals a list type:
// the text has no notation for lists.
std::string Difference(const Graph& a, const Graph& b);

}  // namespace palimpsest::ir
