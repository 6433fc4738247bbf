// LowerPlan: what a Planner did -> BufferPlan: buffers that are used, places, runs, order edges.
#pragma once

#include "reinplace/buffer_plan.h"
#include "reinplace/planner.h"

namespace palimpsest::reinplace {

// REQUIRES: the planner has run to the end. Fills everything but the reports and
// program_copied_bytes.
BufferPlan LowerPlan(Planner& planner);

}  // namespace palimpsest::reinplace
