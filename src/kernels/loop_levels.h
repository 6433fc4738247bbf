// Which instruction-set levels of the loops were built, and which one runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/loop_table.h"

namespace palimpsest::kernels {

// Element (r, c) lies at `from + r * from_stride + c * item` and goes to
// `to + c * to_stride + r * item`; strides in bytes.
using TransposeFn = void (*)(std::byte* to, int64_t to_stride, const std::byte* from,
                             int64_t from_stride, int64_t rows, int64_t columns);

struct LoopMoves {
  TransposeFn transpose[5];  // by log2 of the item size
  // A copy whose whole cache lines bypass the cache. fence() before another thread may read it.
  void (*stream)(std::byte* to, const std::byte* from, int64_t bytes);
  void (*fence)();
};

// What one level (levels/level.h) offers.
struct LoopLevel {
  const char* name;  // "base", "v2", "v3", "v4"
  void (*put_loops)(LoopTables& tables);
  LoopMoves (*moves)();
};

// The best level that was built and that this machine has. The environment variable
// PALIMPSEST_LEVEL names a lower one (to compare levels).
const LoopLevel& BestLevel();
const LoopMoves& Moves();  // of the best level

void PutComplexLoops(LoopTables& tables);

}  // namespace palimpsest::kernels
