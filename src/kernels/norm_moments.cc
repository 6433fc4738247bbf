#include "kernels/norm_moments.h"

#include <fmt/format.h>

namespace palimpsest::kernels {

Result<NormParameter> NormParameter::Of(const Value& value, DType type) {
  NormParameter parameter;
  if (value.IsTensor()) {
    PAL_TRY(parameter.tensor_, Packed(value.tensor(), type));
  }
  return parameter;
}

Status CheckNormTypes(const op::MetaCall& call, const Tensor& input,
                      std::initializer_list<const Value*> parameters) {
  if (!IsFloating(input.dtype)) {
    return Refused("unsupported_dtype", fmt::format("{} is not implemented for {}",
                                                    call.op.schema.Key(), TorchName(input.dtype)));
  }
  bool is_half = ItemSize(input.dtype) == 2;
  for (const Value* parameter : parameters) {
    if (!parameter->IsTensor()) continue;
    DType dtype = parameter->tensor().dtype;
    if (dtype == input.dtype || (is_half && dtype == DType::kF32)) continue;
    return Refused("dtype_mismatch",
                   fmt::format("{}: a parameter has dtype {}, the input {}", call.op.schema.Key(),
                               TorchName(dtype), TorchName(input.dtype)));
  }
  return {};
}

DType MomentType(const Tensor& input, std::initializer_list<const Value*> parameters) {
  for (const Value* parameter : parameters) {
    if (parameter->IsTensor()) return parameter->tensor().dtype;
  }
  return input.dtype;
}

}  // namespace palimpsest::kernels
