// One convolution on memory.
#pragma once

#include "palimpsest/tensor.h"
#include "palimpsest/value.h"

namespace palimpsest::kernels {

struct ConvolutionShape {
  Dims stride, padding, dilation, output_padding;  // one per spatial dim
  bool transposed = false;
  int64_t groups = 1;
  // One per spatial dim: padding behind the input, where it is not the padding before it.
  Dims padding_behind;
};

// input [N, C, ...], weight [O, C/groups, ...] (transposed: [C, O/groups, ...]), bias [O] or null,
// result [N, O, ...], 1 to 3 spatial dims; sizes that fit. Any strides, any element types that
// PyTorch convolves: f32 (and the 16-bit floats, through f32) by oneDNN, f64 and integers by loops.
// Errors: kRuntime where memory runs out or oneDNN fails.
struct Convolution {
  const ConvolutionShape& shape;
  const Tensor& input;
  const Tensor& weight;
  const Tensor* bias;
  const Tensor& result;
};
Status RunConvolution(const Convolution& convolution);

// By file: contiguous or channels_last f32 operands; contiguous operands of f64 or i64.
Status ConvolveByOneDnn(const Convolution& convolution);
Status ConvolveByLoops(const Convolution& convolution);

}  // namespace palimpsest::kernels
