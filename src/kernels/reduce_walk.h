// Walks the slices of a reduction: for every result element the input elements that go into it, as
// chunks of one contiguous type.
//
//   ReduceWalk walk(input, dims, DType::kF32, DType::kF32);
//   walk.ForEachSlice(outputs, [&](SliceSource& slice, std::byte* const* out) {
//     const float* x; ... while ((n = slice.Next(&x)) > 0) ...
//   });
#pragma once

#include <functional>
#include <span>

#include "kernels/copy_cast.h"
#include "kernels/reduce_dims.h"
#include "palimpsest/tensor.h"

namespace palimpsest::kernels {

// Elements of one slice in row-major order of the reduced dims, converted to one type.
class SliceSource {
 public:
  // `through`: the elements are converted to this type first, then to `type`.
  SliceSource(const Tensor& input, const ReduceDims& dims, DType through, DType type);

  void Start(const std::byte* first);
  void Rewind() { Start(first_); }
  // The next run of elements; 0 at the end of the slice. Valid until the next call.
  template <typename T>
  int64_t Next(const T** data) {
    const std::byte* bytes = nullptr;
    int64_t n = NextBytes(&bytes);
    *data = reinterpret_cast<const T*>(bytes);
    return n;
  }
  int64_t length() const { return length_; }

 private:
  static constexpr int64_t kChunk = 512;
  int64_t NextBytes(const std::byte** data);
  void AdvanceRow();

  Dims sizes_, strides_;  // reduced dims after merging, slowest first, strides in bytes
  int64_t length_ = 1;
  int64_t row_ = 1, row_stride_ = 0;
  CastFn cast_;  // to the type, or to `through` where there are two steps
  CastFn second_cast_ = nullptr;
  bool direct_;  // no conversion: runs may be handed out where they lie
  int64_t input_item_, through_item_, item_;
  const std::byte* first_ = nullptr;
  const std::byte* row_start_ = nullptr;
  int64_t in_row_ = 0;
  int64_t left_ = 0;
  Dims index_;
  alignas(64) std::byte buffer_[kChunk * 16];
  alignas(64) std::byte through_buffer_[kChunk * 16];
};

using SliceFn = std::function<void(SliceSource& slice, std::byte* const* outputs)>;

// Calls `f` for every result element; outputs[k] is the address of element k of `outputs` (each of
// the shape dims.sizes). Slices may be empty.
void ForEachSlice(const Tensor& input, const ReduceDims& dims, DType through, DType type,
                  std::span<const Tensor> outputs, const SliceFn& f);

// `numbers` of type `type` may be written to `outputs` of another type: one converted element.
void StoreElement(DType type, const void* value, const Tensor& output, std::byte* to);

}  // namespace palimpsest::kernels
