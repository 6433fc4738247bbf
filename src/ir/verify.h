// Verify: the invariants of graph.h. Run after every reader and every pass.
#pragma once

#include "ir/graph.h"
#include "palimpsest/result.h"

namespace palimpsest::ir {

// kInternal errors name the node and the broken invariant. `phase`-specific: from kFunctional on no
// node writes an argument.
Status Verify(const Graph& graph);

}  // namespace palimpsest::ir
