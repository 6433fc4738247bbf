#include "kernels/shaping.h"

#include <cstring>
#include <numeric>

#include "base/check.h"

namespace palimpsest::kernels {
namespace {

// A stretch of the last dim whose elements lie side by side on both sides.
struct Run {
  int64_t from, to, bytes;
};

std::vector<Run> RunsOf(const std::vector<int64_t>& map, int64_t from_stride, int64_t to_stride,
                        int64_t item) {
  std::vector<Run> runs;
  for (size_t i = 0; i < map.size(); ++i) {
    Run run{map[i] * from_stride, static_cast<int64_t>(i) * to_stride, item};
    if (!runs.empty()) {
      Run& last = runs.back();
      if (run.from == last.from + last.bytes && run.to == last.to + last.bytes) {
        last.bytes += item;
        continue;
      }
    }
    runs.push_back(run);
  }
  return runs;
}

}  // namespace

std::vector<int64_t> IdentityMap(int64_t n) {
  std::vector<int64_t> map(static_cast<size_t>(n));
  std::iota(map.begin(), map.end(), int64_t{0});
  return map;
}

Status CopyMapped(const Tensor& source, const DimMaps& maps, const Tensor& result) {
  size_t rank = result.dim();
  PAL_CHECK(maps.size() == rank && source.dim() == rank && source.dtype == result.dtype,
            "mapped copy of {} to {}", ToString(source.view()), ToString(result.view()));
  if (result.numel() == 0) return {};
  int64_t item = result.item_size();
  if (rank == 0) {
    std::memcpy(result.data(), source.data(), static_cast<size_t>(item));
    return {};
  }
  size_t last = rank - 1;
  std::vector<Run> runs =
      RunsOf(maps[last], source.strides[last] * item, result.strides[last] * item, item);
  Dims at(last, 0);
  while (true) {
    int64_t from = 0, to = 0;
    for (size_t d = 0; d < last; ++d) {
      from += maps[d][static_cast<size_t>(at[d])] * source.strides[d] * item;
      to += at[d] * result.strides[d] * item;
    }
    for (const Run& run : runs) {
      std::memcpy(result.data() + to + run.to, source.data() + from + run.from,
                  static_cast<size_t>(run.bytes));
    }
    size_t d = last;
    for (; d > 0; --d) {  // the odometer over the outer dims
      if (++at[d - 1] < result.sizes[d - 1]) break;
      at[d - 1] = 0;
    }
    if (d == 0) return {};
  }
}

Status RegisterShaping(op::OpTable& table) {
  for (auto* family : {RegisterConcatenations, RegisterRearrangements, RegisterPads,
                       RegisterDiagonals, RegisterShuffles, RegisterColumns}) {
    PAL_TRY(family(table));
  }
  return {};
}

}  // namespace palimpsest::kernels
