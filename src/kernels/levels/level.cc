// What this level offers, in one place.
#include "kernels/levels/level.h"

#include "kernels/levels/moves.h"
#include "kernels/loop_levels.h"

#define PAL_TEXT(name) #name
#define PAL_NAME(name) PAL_TEXT(name)

namespace palimpsest::kernels::PAL_LEVEL {

static void PutLoops(LoopTables& tables) {
  PutUnaryLoops(tables);
  PutUnaryFloatLoops(tables);
  PutActivationLoops(tables);
  PutBinaryLoops(tables);
  PutCompareLoops(tables);
  PutTernaryLoops(tables);
}

extern const LoopLevel kLevel;
const LoopLevel kLevel = {.name = PAL_NAME(PAL_LEVEL), .put_loops = PutLoops, .moves = Moves};

}  // namespace palimpsest::kernels::PAL_LEVEL
