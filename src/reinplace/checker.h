// CheckPlan: replays a plan on version tags instead of numbers, and refuses it if any read would
// see another version than the functional graph says (docs/reinplacing.md, Note [What the checker
// checks]).
//
// Shares no code with the planner beyond the numbering of values. Linear in the operands. Runs in
// release builds too.
#pragma once

#include <span>

#include "ir/graph.h"
#include "palimpsest/result.h"
#include "palimpsest/value.h"
#include "reinplace/buffer_plan.h"

namespace palimpsest::reinplace {

struct CheckedPlan {
  int64_t copied_bytes = 0;  // counted by the checker itself
};
// kInternal, naming step, node and bytes, if the plan is unsound.
Result<CheckedPlan> CheckPlan(const ir::Graph& graph, std::span<const Value> inputs,
                              const BufferPlan& plan);

}  // namespace palimpsest::reinplace
