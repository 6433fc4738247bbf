// Conversion of elements between types: the one place where values change type.
//
// Integer to integer wraps. Float to integer truncates, through i64 (nan and what i64 cannot hold
// become -2^63), then wraps. Anything to bool: is it not zero? Complex to real drops the imaginary
// part.
#pragma once

#include <cstddef>
#include <cstdint>

#include "palimpsest/dtype.h"
#include "palimpsest/result.h"
#include "palimpsest/scalar.h"

namespace palimpsest::kernels {

// Converts n elements. Strides in bytes; 0 and negative ones are fine.
using CastFn = void (*)(std::byte* to, int64_t to_stride, const std::byte* from,
                        int64_t from_stride, int64_t n);
CastFn FindCast(DType to, DType from);

// Writes one element of type `dtype`; a number that does not fit wraps.
void StoreNumber(const Scalar& number, DType dtype, std::byte* to);
Scalar LoadNumber(DType dtype, const std::byte* from);
// Refuses a number that `dtype` cannot hold, where PyTorch does (fill_, clamp, masked_fill).
Status CheckFits(const Scalar& number, DType dtype);

}  // namespace palimpsest::kernels
