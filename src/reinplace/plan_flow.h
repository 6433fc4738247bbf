// PlanFlow: the strategies of the planner on a FlowGraph, the cheapest lowered to a BufferPlan.
#pragma once

#include "palimpsest/result.h"
#include "reinplace/lower.h"
#include "reinplace/reinplace.h"

namespace palimpsest::reinplace {

// Unchecked: callers run CheckFlowPlan. kInternal if no strategy finds a plan.
Result<BufferPlan> PlanFlow(const FlowGraph& flow, const ReinplaceOptions& options);

}  // namespace palimpsest::reinplace
