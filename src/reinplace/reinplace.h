// Reinplace: decides in which buffer every value lives, with few copied bytes
// (docs/reinplacing.md).
//
// Value numbers per piece of a base, places and saves: greedy strategies first, then, for programs
// of few operators, a search (search.cc); never worse than the program as written. Every plan is
// replayed by the checker before it is returned.
#pragma once

#include <span>

#include "base/remark.h"
#include "ir/graph.h"
#include "palimpsest/result.h"
#include "palimpsest/value.h"
#include "reinplace/buffer_plan.h"

namespace palimpsest::reinplace {

struct ReinplaceOptions {
  // Nothing is put in place: every node gets new buffers, every copy is made. For tests of
  // functionalization alone, and to show what re-inplacing is worth.
  bool always_copy = false;
  // Keep the program's order: a failed call then leaves what eager leaves.
  bool keep_order = false;
};

// REQUIRES: phase kFunctional or kOptimized. `inputs`: the call signature, as for Functionalize.
// kInternal if the checker refuses the plan (our bug).
Result<BufferPlan> Reinplace(const ir::Graph& graph, std::span<const Value> inputs,
                             const ReinplaceOptions& options, RemarkSink& remarks);

}  // namespace palimpsest::reinplace
