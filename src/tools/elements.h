// Elements of tensors for people: reading, showing and filling them one by one.
#pragma once

#include <cstdint>
#include <string>

#include "palimpsest/value.h"

namespace palimpsest::tools {

// Calls f(address) for each element in row-major order.
template <typename F>
void ForEachElement(const Tensor& t, F&& f) {
  int64_t n = t.numel(), offset = 0;
  Dims index(t.dim(), 0);
  for (int64_t i = 0; i < n; ++i) {
    f(t.data() + offset * t.item_size());
    for (size_t d = t.dim(); d-- > 0;) {
      offset += t.strides[d];
      if (++index[d] < t.sizes[d]) break;
      offset -= t.strides[d] * t.sizes[d];
      index[d] = 0;
    }
  }
}

// A number as Python would print it; complex elements as complex.
Value ElementAt(const std::byte* at, DType dtype);
std::string ShowElement(const std::byte* at, DType dtype);
// "f32[2, 3][3, 1] 1 2.5 -3 ..." with the first `count` elements; numbers, None and lists as they
// are.
std::string Show(const Value& value, int count = 8);

// What to fill a tensor with. kRandom: uniform in [-1, 1), integers 0 to 3; a fixed function of the
// seed.
struct Filling {
  enum class Kind : uint8_t { kValue, kArange, kRandom };
  Kind kind = Kind::kValue;
  double value = 0;
  uint64_t seed = 0;
};
void FillElements(const Tensor& tensor, const Filling& filling);

}  // namespace palimpsest::tools
