#include "kernels/packed.h"

#include "kernels/copy.h"

namespace palimpsest::kernels {

DType ComputeType(DType dtype) {
  if (dtype == DType::kF16 || dtype == DType::kBF16) return DType::kF32;
  return IsIntegral(dtype) ? DType::kI64 : dtype;
}

Result<Tensor> Packed(const Tensor& tensor, DType type) {
  if (tensor.dtype == type && IsContiguous(tensor)) return tensor;
  PAL_TRY(Tensor packed, EmptyTensor(type, tensor.sizes));
  PAL_TRY(CopyTo(tensor, packed));
  return packed;
}

Tensor Rearranged(const Tensor& tensor, Dims sizes, Dims strides, int64_t offset) {
  View view{tensor.dtype, std::move(sizes), std::move(strides), offset};
  return Tensor(std::move(view), tensor.storage);
}

Tensor Expanded(const Tensor& tensor, std::span<const int64_t> sizes) {
  Dims strides;
  strides.resize(sizes.size(), 0);
  size_t missing = sizes.size() - tensor.dim();
  for (size_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.sizes[d] != 1) strides[missing + d] = tensor.strides[d];
  }
  Dims copy;
  copy.assign(sizes.begin(), sizes.end());
  return Rearranged(tensor, std::move(copy), std::move(strides), tensor.offset);
}

Result<PackedResult> PackedResult::For(const Tensor& result, DType type) {
  if (result.dtype == type && IsContiguous(result)) return PackedResult(result, result);
  PAL_TRY(Tensor packed, EmptyTensor(type, result.sizes));
  return PackedResult(result, packed);
}

Status PackedResult::Store() const {
  if (packed_.storage == result_.storage) return {};
  return CopyTo(packed_, result_);
}

}  // namespace palimpsest::kernels
