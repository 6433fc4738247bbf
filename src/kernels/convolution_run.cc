#include "kernels/convolution_run.h"

#include "kernels/copy.h"
#include "kernels/packed.h"

namespace palimpsest::kernels {
namespace {

// `t` as f32 in one of the two layouts that PyTorch computes in, with the strides written the plain
// way in dims of size 1 too.
Result<Tensor> PlainLayout(const Tensor& t) {
  if (t.dtype == DType::kF32 && !IsContiguous(t)) {
    bool is_channels_last = (t.dim() == 4 && IsContiguous(t, MemoryFormat::kChannelsLast)) ||
                            (t.dim() == 5 && IsContiguous(t, MemoryFormat::kChannelsLast3d));
    if (is_channels_last) return Rearranged(t, t.sizes, ChannelsLastStrides(t.sizes), t.offset);
  }
  PAL_TRY(Tensor packed, Packed(t, DType::kF32));
  return Rearranged(packed, packed.sizes, ContiguousStrides(packed.sizes), packed.offset);
}

Status ConvolveFloats(const Convolution& c) {
  PAL_TRY(Tensor input, PlainLayout(c.input));
  PAL_TRY(Tensor weight, PlainLayout(c.weight));
  Tensor bias;
  if (c.bias != nullptr) {
    PAL_TRY(bias, PlainLayout(*c.bias));
  }
  Tensor result = c.result;
  bool stored = result.dtype == DType::kF32 && IsDense(result);
  if (stored) {
    PAL_TRY(result, PlainLayout(c.result));  // the same memory, or packed: then not stored
    stored = result.storage == c.result.storage;
  } else {
    PAL_TRY(result, EmptyTensor(DType::kF32, c.result.sizes));
  }
  Convolution packed{c.shape, input, weight, c.bias == nullptr ? nullptr : &bias, result};
  PAL_TRY(ConvolveByOneDnn(packed));
  return stored ? Status() : CopyTo(result, c.result);
}

Status ConvolveOthers(const Convolution& c) {
  DType type = ComputeType(c.result.dtype);
  PAL_TRY(Tensor input, Packed(c.input, type));
  PAL_TRY(Tensor weight, Packed(c.weight, type));
  Tensor bias;
  if (c.bias != nullptr) {
    PAL_TRY(bias, Packed(*c.bias, type));
  }
  PAL_TRY(PackedResult result, PackedResult::For(c.result, type));
  Convolution packed{c.shape, input, weight, c.bias == nullptr ? nullptr : &bias, result.tensor()};
  PAL_TRY(ConvolveByLoops(packed));
  return result.Store();
}

}  // namespace

Status RunConvolution(const Convolution& c) {
  if (c.result.numel() == 0) return {};
  // oneDNN takes no empty operands; the loops give the bias.
  bool is_empty = c.input.numel() == 0 || c.weight.numel() == 0;
  bool is_float = ComputeType(c.result.dtype) == DType::kF32;
  return is_float && !is_empty ? ConvolveFloats(c) : ConvolveOthers(c);
}

}  // namespace palimpsest::kernels
