#include "kernels/loop_levels.h"

#include <cstdlib>

// The build says which levels there are: PAL_HAS_BASE, PAL_HAS_V2, ...
namespace palimpsest::kernels {
#ifdef PAL_HAS_BASE
namespace base {
extern const LoopLevel kLevel;
}
#endif
#ifdef PAL_HAS_V2
namespace v2 {
extern const LoopLevel kLevel;
}
#endif
#ifdef PAL_HAS_V3
namespace v3 {
extern const LoopLevel kLevel;
}
#endif
#ifdef PAL_HAS_V4
namespace v4 {
extern const LoopLevel kLevel;
}
#endif

namespace {

// What the flags of each level (CMakeLists.txt) let the compiler use.
struct Built {
  const LoopLevel* level;
  bool here;  // has this machine the instructions?
};

const LoopLevel& Choose() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  [[maybe_unused]] bool v2 = __builtin_cpu_supports("ssse3") != 0 &&
                             __builtin_cpu_supports("sse4.2") != 0 &&
                             __builtin_cpu_supports("popcnt") != 0;
  [[maybe_unused]] bool v3 =
      v2 && __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
      __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0;
  [[maybe_unused]] bool v4 =
      v3 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0;
#endif
  const Built levels[] = {
#ifdef PAL_HAS_BASE
      {&base::kLevel, true},
#endif
#ifdef PAL_HAS_V2
      {&v2::kLevel, v2},
#endif
#ifdef PAL_HAS_V3
      {&v3::kLevel, v3},
#endif
#ifdef PAL_HAS_V4
      {&v4::kLevel, v4},
#endif
  };
  const char* asked = std::getenv("PALIMPSEST_LEVEL");
  const LoopLevel* best = levels[0].level;
  for (const Built& built : levels) {
    if (!built.here) continue;
    best = built.level;
    if (asked != nullptr && std::string_view(asked) == best->name) break;
  }
  return *best;
}

LoopTables MakeTables() {
  LoopTables tables;
  PutComplexLoops(tables);
  BestLevel().put_loops(tables);
  return tables;
}

}  // namespace

const LoopLevel& BestLevel() {
  static const LoopLevel& best = Choose();
  return best;
}

const LoopMoves& Moves() {
  static const LoopMoves moves = BestLevel().moves();
  return moves;
}

const LoopTables& AllLoops() {
  static const LoopTables tables = MakeTables();
  return tables;
}

}  // namespace palimpsest::kernels
