// Products of matrices in memory: the one place that oneDNN's matrix product is called from.
#pragma once

#include "palimpsest/tensor.h"

namespace palimpsest::kernels {

// c[..., i, j] = sum over k of a[..., i, k] * b[..., k, j].
//
// REQUIRES: one type out of f32, f64, i64 (wraps), c64, c128; a and b have at least two dims and
// fitting sizes; their leading dims broadcast to c's; c is contiguous and meets neither. Any
// strides of a and b; what the loops cannot read in place is packed.
// Errors: kRuntime where memory runs out or oneDNN fails.
Status MultiplyMatrices(const Tensor& a, const Tensor& b, const Tensor& c);

}  // namespace palimpsest::kernels
