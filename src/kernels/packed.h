// Operands as plain arrays: contiguous memory of one type, for kernels whose inner loops (or
// libraries) want that, and results that are computed in plain arrays and then stored.
//
//   DType type = ComputeType(x.dtype);
//   PAL_TRY(Tensor packed, Packed(x, type));           // x itself where it is such an array
//   PAL_TRY(PackedResult y, PackedResult::For(call.results[0], type));
//   ... y.data<float>()[i] = packed.data_as<float>()[i] ...
//   return y.Store();                                  // rounds once, to the result's type
#pragma once

#include "palimpsest/tensor.h"

namespace palimpsest::kernels {

// The type that sums are made in: f32 for the 16-bit floats, i64 for integers and bool (they wrap
// when stored), else the type itself.
DType ComputeType(DType dtype);

// `tensor` converted to `type` and contiguous. Error kRuntime "out_of_memory".
Result<Tensor> Packed(const Tensor& tensor, DType type);

// A view of the same storage.
Tensor Rearranged(const Tensor& tensor, Dims sizes, Dims strides, int64_t offset);
// `tensor` broadcast to `sizes` with strides of 0. REQUIRES: it can be.
Tensor Expanded(const Tensor& tensor, std::span<const int64_t> sizes);

class PackedResult {
 public:
  PackedResult() = default;
  // The result's own memory is used where it is contiguous and of this type.
  static Result<PackedResult> For(const Tensor& result, DType type);

  const Tensor& tensor() const { return packed_; }
  template <typename T>
  T* data() const {
    return packed_.data_as<T>();
  }
  Status Store() const;

 private:
  PackedResult(Tensor result, Tensor packed)
      : result_(std::move(result)), packed_(std::move(packed)) {}

  Tensor result_, packed_;
};

}  // namespace palimpsest::kernels
