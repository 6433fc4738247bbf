// Plans that somebody has broken: one small change each, always within the memory of the buffers,
// so that the broken plan can still be run.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "reinplace/buffer_plan.h"

namespace palimpsest::plans {

struct Sabotage {
  const char* kind;
  reinplace::BufferPlan plan;
};
// At most `most` of each kind, drawn at random.
std::vector<Sabotage> SabotagesOf(const reinplace::BufferPlan& plan, int most,
                                  std::mt19937& random);

}  // namespace palimpsest::plans
