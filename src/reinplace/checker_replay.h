// The checker on a FlowGraph: CheckPlan without the ir::Graph, so that tests can hand in flows.
#pragma once

#include "palimpsest/result.h"
#include "reinplace/buffer_plan.h"
#include "reinplace/checker.h"
#include "reinplace/flow.h"

namespace palimpsest::reinplace {

Result<CheckedPlan> CheckFlowPlan(const FlowGraph& flow, const BufferPlan& plan);

}  // namespace palimpsest::reinplace
