// Walking a built iteration: the sequence of inner-loop calls for a linear range of elements.
#include <algorithm>

#include "palimpsest/iterator.h"

namespace palimpsest {
namespace {

using Pointers = SmallVector<std::byte*, 8>;

// Position in the walk as one counter per dim, fastest first.
class Counter {
 public:
  Counter(const Dims& shape, int64_t begin, int64_t end)
      : shape_(shape), position_(begin), end_(end), digits_(shape.size(), 0) {
    int64_t rest = begin;
    for (size_t d = 0; d < shape.size() && rest != 0; ++d) {
      digits_[d] = rest % shape[d];
      rest /= shape[d];
    }
  }
  bool done() const { return position_ >= end_; }
  const Dims& digits() const { return digits_; }

  // The largest block from here: a part of a row, or whole rows. Never more than dim 1.
  std::pair<int64_t, int64_t> Block() const {
    int64_t size0 = std::min(shape_[0] - digits_[0], end_ - position_);
    int64_t size1 = 1;
    if (size0 == shape_[0] && shape_.size() > 1) {
      size1 = std::min(shape_[1] - digits_[1], (end_ - position_) / shape_[0]);
    }
    return {size0, size1};
  }
  void Advance(int64_t size0, int64_t size1) {
    position_ += size0 * size1;
    size_t d = 0;
    if (size1 == 1) {
      digits_[0] += size0;
    } else {
      d = 1;
      digits_[1] += size1;
    }
    for (; d + 1 < digits_.size() && digits_[d] == shape_[d]; ++d) {
      digits_[d] = 0;
      ++digits_[d + 1];
    }
  }

 private:
  const Dims& shape_;
  int64_t position_, end_;
  Dims digits_;
};

}  // namespace

bool Iteration::IsContiguous() const {
  if (numel_ == 1) return true;
  if (dim() != 1) return false;
  for (size_t k = 0; k < num_operands_; ++k) {
    if (strides_[k] != views_[k].item_size()) return false;
  }
  return true;
}

bool Iteration::IsReducedDim(size_t dim) const {
  for (size_t k = 0; k < num_outputs_; ++k) {
    if (byte_stride(dim, k) == 0 && shape_[dim] > 1) return true;
  }
  return false;
}

size_t Iteration::NumReducedDims() const {
  size_t n = 0;
  for (size_t d = 0; d < dim(); ++d) n += byte_stride(d, 0) == 0 ? 1 : 0;
  return n;
}

int64_t Iteration::NumOutputElements() const {
  int64_t n = 1;
  for (size_t d = 0; d < dim(); ++d) {
    if (byte_stride(d, 0) != 0 || shape_[d] == 0) n *= shape_[d];
  }
  return n;
}

void Iteration::ForRange(std::span<std::byte* const> bases, int64_t begin, int64_t end,
                         Loop loop) const {
  if (begin >= end) return;
  Pointers pointers(bases.begin(), bases.end());
  if (dim() <= 1) {
    for (size_t k = 0; k < num_operands_; ++k) pointers[k] += begin * strides_[k];
    loop(pointers.data(), strides_.data(), end - begin, 1);
    return;
  }
  for (Counter counter(shape_, begin, end); !counter.done();) {
    for (size_t k = 0; k < num_operands_; ++k) {
      int64_t offset = 0;
      for (size_t d = 0; d < dim(); ++d) offset += counter.digits()[d] * byte_stride(d, k);
      pointers[k] = bases[k] + offset;
    }
    auto [size0, size1] = counter.Block();
    loop(pointers.data(), strides_.data(), size0, size1);
    counter.Advance(size0, size1);
  }
}

}  // namespace palimpsest
