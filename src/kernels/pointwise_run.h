// Runs an element-wise loop over operands of any strides and types.
#pragma once

#include <span>

#include "kernels/loop_table.h"
#include "palimpsest/result.h"
#include "palimpsest/scalar.h"
#include "palimpsest/tensor.h"

namespace palimpsest::kernels {

// A tensor, or a number where `tensor` is null.
struct PointwiseInput {
  const Tensor* tensor = nullptr;
  Scalar number;
};

// out = f(inputs...), computed in the type `common`. The shape is out's; inputs are broadcast to
// it. Element i of every input is read before element i of `out` is written, and no other: `out`
// may lie exactly on an input. Error kRuntime where an integer is divided by zero.
Status RunPointwise(LoopId function, DType common, const Tensor& out,
                    std::span<const PointwiseInput> inputs, std::span<const Scalar> params);

}  // namespace palimpsest::kernels
