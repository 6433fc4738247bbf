// Broadcast shapes, and the view of a reduction's result.
#include <fmt/format.h>

#include <algorithm>

#include "palimpsest/iterator.h"

namespace palimpsest {

Result<Dims> BroadcastShapes(std::span<const int64_t> a, std::span<const int64_t> b) {
  size_t rank = std::max(a.size(), b.size());
  Dims shape(rank);
  for (size_t i = rank; i-- > 0;) {
    size_t from_right = rank - 1 - i;
    int64_t x = from_right < a.size() ? a[a.size() - 1 - from_right] : 1;
    int64_t y = from_right < b.size() ? b[b.size() - 1 - from_right] : 1;
    if (x != y && x != 1 && y != 1) {
      return Refused(
          "broadcast_mismatch",
          fmt::format("The size of tensor a ({}) must match the size of tensor b ({}) at "
                      "non-singleton dimension {}",
                      x, y, i));
    }
    shape[i] = x == 1 ? y : x;
  }
  return shape;
}

View ReducedView(const View& result, std::span<const bool> reduced, bool keepdim) {
  if (keepdim) return result;
  View view{result.dtype, Dims(reduced.size()), Dims(reduced.size()), result.offset};
  size_t from = 0;
  for (size_t d = 0; d < reduced.size(); ++d) {
    view.sizes[d] = reduced[d] ? 1 : result.sizes[from];
    view.strides[d] = reduced[d] ? 0 : result.strides[from];
    if (!reduced[d]) ++from;
  }
  return view;
}

}  // namespace palimpsest
