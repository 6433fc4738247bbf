// PlanArena: lifetimes -> offsets in one arena. Sees sizes and times, never the IR.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace palimpsest::plan {

struct Lifetime {
  int64_t bytes = 0;
  int first = 0, last = 0;  // steps, inclusive
};
struct ArenaPlan {
  std::vector<int64_t> offsets;  // per lifetime, multiples of 64; 0-byte ones get 0
  int64_t bytes = 0;             // size of the arena
  int64_t lower_bound = 0;       // the largest sum of bytes alive at one step
};
// Greedy by size. O(n log n + overlaps).
ArenaPlan PlanArena(std::span<const Lifetime> lifetimes);

}  // namespace palimpsest::plan
