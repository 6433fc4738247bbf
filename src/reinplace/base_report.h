// Which bases a plan reports on, and what it says of them: in place or copied, how many bytes, and
// who forces a copy. For explain; nothing is decided here.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "reinplace/buffer_plan.h"
#include "reinplace/flow.h"

namespace palimpsest::reinplace {

// The families that the program writes, in the order in which they appear. Per family its index in
// this list, else -1.
std::vector<int> WrittenFamilies(const FlowGraph& flow);

// Completes plan.bases, whose nodes and sizes the lowering has set, and counts plan.clones.
//
// A copy is there because its value is wanted in two places, of which one is overwritten. So its
// writer is the first step that overwrites either end of the copy, and its reader the first that
// reads the other end. Of several copies of a base the largest one speaks.
void DescribeBases(const ir::Graph& graph, const FlowGraph& flow, BufferPlan& plan);

}  // namespace palimpsest::reinplace
