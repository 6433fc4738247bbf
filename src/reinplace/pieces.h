// Pieces as sets of numbers: where they lie, where they end, what is left of them.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "reinplace/regions.h"
#include "reinplace/run_map.h"

namespace palimpsest::reinplace {

// The bytes of pieces whose addresses count from `low`; neighbours are one interval.
std::vector<Interval> AbsoluteIntervals(const Pieces& pieces, int64_t low);
// The numbers of `pieces` that are in `by_number` (first number -> piece), as pieces where they
// end, each number once; nullopt if one is missing.
std::optional<Pieces> WhereTheyEnd(const std::map<int64_t, Piece>& by_number, const Pieces& pieces);
// `pieces` without the numbers that `moved` takes along.
Pieces WithoutNumbers(const Pieces& pieces, const Pieces& moved);

}  // namespace palimpsest::reinplace
