// Regions: views as sorted intervals of bytes, and the byte chunks of an element-wise copy.
//
// Addresses are bytes from the start of the storage. Nothing here knows of values or graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "palimpsest/tensor.h"

namespace palimpsest::reinplace {

// More intervals, chunks or runs than this are not followed one by one (Note [Coarse bases]).
inline constexpr int64_t kMaxRuns = 65536;

struct Interval {
  int64_t begin = 0, end = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// The first and one past the last byte that the view names; {0, 0} if it is empty.
Interval ExtentOf(const View& view);
// The bytes that the view names: sorted, disjoint, not adjacent. Nullopt above kMaxRuns.
std::optional<std::vector<Interval>> IntervalsOf(const View& view);
// The same, or the whole extent where there are too many.
std::vector<Interval> IntervalsOrExtent(const View& view);
bool Intersects(const std::vector<Interval>& sorted, Interval interval);
// The parts of `interval` that lie in `sorted`.
std::vector<Interval> Intersection(const std::vector<Interval>& sorted, Interval interval);

// `bytes` from `source` go to `destination`.
struct Chunk {
  int64_t source = 0, destination = 0, bytes = 0;
};
// Element i of `source` (row-major) goes to element i of `destination`. Same number of elements,
// same item size; sizes may differ (a reshape). Nullopt above kMaxRuns.
std::optional<std::vector<Chunk>> CopyChunks(const View& source, const View& destination);

// `view` with dims of stride 0 added so that it has `sizes` (broadcasting).
View ExpandTo(const View& view, const Dims& sizes);
// The same view, `bytes` further on; nullopt if that is no multiple of the item size.
std::optional<View> Shifted(const View& view, int64_t bytes);

}  // namespace palimpsest::reinplace
