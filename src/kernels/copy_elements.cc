// The loops of copy.h.
#include <cstring>

#include "kernels/copy.h"
#include "kernels/copy_cast.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {
namespace {

constexpr size_t kLargestItem = 16;

bool SameMemory(const Tensor& a, const Tensor& b) {
  return a.storage == b.storage && a.dtype == b.dtype && a.offset == b.offset &&
         a.sizes == b.sizes && a.strides == b.strides;
}

}  // namespace

Status CopyTo(const Tensor& from, const Tensor& to) {
  if (to.numel() == 0 || SameMemory(from, to)) return {};
  IteratorConfig config = IteratorConfig::Walk();
  config.AddOutput(to.view()).AddInput(from.view());
  PAL_TRY(Iteration iteration, Iteration::Build(config));
  std::byte* bases[] = {to.data(), from.data()};
  CastFn cast = FindCast(to.dtype, from.dtype);
  bool same_type = to.dtype == from.dtype;
  int64_t item = to.item_size();
  iteration.ForEach(bases, [&](std::byte* const* p, const int64_t* s, int64_t n0, int64_t n1) {
    bool rows = same_type && s[0] == item && s[1] == item;
    for (int64_t j = 0; j < n1; ++j) {
      std::byte* out = p[0] + j * s[2];
      const std::byte* in = p[1] + j * s[3];
      if (rows) {
        std::memmove(out, in, static_cast<size_t>(n0 * item));
      } else {
        cast(out, s[0], in, s[1], n0);
      }
    }
  });
  return {};
}

Status FillWith(const Scalar& number, const Tensor& to) {
  if (to.numel() == 0) return {};
  alignas(kLargestItem) std::byte value[kLargestItem];
  StoreNumber(number, to.dtype, value);
  IteratorConfig config = IteratorConfig::Walk();
  config.AddOutput(to.view()).AddInput(to.view());
  PAL_TRY(Iteration iteration, Iteration::Build(config));
  std::byte* bases[] = {to.data(), to.data()};
  CastFn copy = FindCast(to.dtype, to.dtype);
  iteration.ForEach(bases, [&](std::byte* const* p, const int64_t* s, int64_t n0, int64_t n1) {
    for (int64_t j = 0; j < n1; ++j) copy(p[0] + j * s[2], s[0], value, 0, n0);
  });
  return {};
}

}  // namespace palimpsest::kernels
