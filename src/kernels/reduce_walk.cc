#include "kernels/reduce_walk.h"

#include <algorithm>

namespace palimpsest::kernels {

SliceSource::SliceSource(const Tensor& input, const ReduceDims& dims, DType through, DType type)
    : input_item_(input.item_size()), through_item_(ItemSize(through)), item_(ItemSize(type)) {
  for (size_t d = 0; d < input.dim(); ++d) {
    if (!dims.reduced[d] || input.sizes[d] == 1) continue;
    int64_t size = input.sizes[d], stride = input.strides[d] * input_item_;
    if (!sizes_.empty() && strides_.back() == stride * size) {
      sizes_.back() *= size;
      strides_.back() = stride;
    } else {
      sizes_.push_back(size);
      strides_.push_back(stride);
    }
  }
  length_ = dims.count;
  if (!sizes_.empty()) {
    row_ = sizes_.back();
    row_stride_ = strides_.back();
    sizes_.pop_back();
    strides_.pop_back();
  }
  bool two_steps = input.dtype != through && through != type;
  cast_ = FindCast(two_steps ? through : type, input.dtype);
  if (two_steps) second_cast_ = FindCast(type, through);
  direct_ = input.dtype == type && type != DType::kB8 && !two_steps && row_stride_ == input_item_;
}

void SliceSource::Start(const std::byte* first) {
  first_ = row_start_ = first;
  in_row_ = 0;
  left_ = length_;
  index_.clear();
  index_.resize(sizes_.size(), 0);
}

void SliceSource::AdvanceRow() {
  in_row_ = 0;
  for (size_t d = sizes_.size(); d-- > 0;) {
    row_start_ += strides_[d];
    if (++index_[d] < sizes_[d]) return;
    row_start_ -= strides_[d] * sizes_[d];
    index_[d] = 0;
  }
}

int64_t SliceSource::NextBytes(const std::byte** data) {
  if (left_ == 0) return 0;
  if (direct_) {
    *data = row_start_;
    left_ -= row_;
    AdvanceRow();
    return row_;
  }
  int64_t filled = 0;  // rows are gathered until the chunk is full
  while (filled < kChunk && left_ > 0) {
    int64_t n = std::min(kChunk - filled, row_ - in_row_);
    const std::byte* from = row_start_ + in_row_ * row_stride_;
    std::byte* to = buffer_ + filled * item_;
    if (second_cast_ != nullptr) {
      cast_(through_buffer_, through_item_, from, row_stride_, n);
      second_cast_(to, item_, through_buffer_, through_item_, n);
    } else {
      cast_(to, item_, from, row_stride_, n);
    }
    filled += n;
    left_ -= n;
    in_row_ += n;
    if (in_row_ == row_) AdvanceRow();
  }
  *data = buffer_;
  return filled;
}

void ForEachSlice(const Tensor& input, const ReduceDims& dims, DType through, DType type,
                  std::span<const Tensor> outputs, const SliceFn& f) {
  // The kept dims, slowest first: byte strides of the input and of each output.
  struct Kept {
    int64_t size, input_stride;
    SmallVector<int64_t, 2> output_strides;
    int64_t index = 0;
  };
  std::vector<Kept> kept;
  int64_t slices = 1;
  for (size_t d = 0, r = 0; d < input.dim(); ++d) {
    if (!dims.reduced[d]) {
      Kept k{input.sizes[d], input.strides[d] * input.item_size(), {}};
      for (const Tensor& out : outputs)
        k.output_strides.push_back(out.strides[r] * out.item_size());
      slices *= k.size;
      kept.push_back(std::move(k));
    }
    if (!dims.reduced[d] || dims.keepdim) ++r;
  }
  if (slices == 0) return;
  SliceSource source(input, dims, through, type);
  const std::byte* from = input.data();
  SmallVector<std::byte*, 2> to;
  for (const Tensor& out : outputs) to.push_back(out.data());
  for (int64_t done = 0; done < slices; ++done) {
    source.Start(from);
    f(source, to.data());
    for (size_t d = kept.size(); d-- > 0;) {
      Kept& k = kept[d];
      bool carry = ++k.index == k.size;
      int64_t steps = carry ? 1 - k.size : 1;
      from += steps * k.input_stride;
      for (size_t o = 0; o < to.size(); ++o) to[o] += steps * k.output_strides[o];
      if (!carry) break;
      k.index = 0;
    }
  }
}

void StoreElement(DType type, const void* value, const Tensor& output, std::byte* to) {
  FindCast(output.dtype, type)(to, 0, static_cast<const std::byte*>(value), 0, 1);
}

}  // namespace palimpsest::kernels
