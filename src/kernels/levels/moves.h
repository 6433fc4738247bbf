// Moving elements without looking at them (moves.cc).
#pragma once

#include "kernels/levels/level.h"
#include "kernels/loop_levels.h"

namespace palimpsest::kernels::PAL_LEVEL {

LoopMoves Moves();

}  // namespace palimpsest::kernels::PAL_LEVEL
