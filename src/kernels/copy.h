// Copies, conversions and fills.
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

// clone, copy_, contiguous, to.*, fill_, zeros_like, ...
Status RegisterCopies(op::OpTable& table);

// to[i] = from[i], converted to `to`'s type; `from` is broadcast to `to`'s shape. Elements of `to`
// may lie exactly on the same elements of `from`, and on no others.
Status CopyTo(const Tensor& from, const Tensor& to);
// A number that does not fit wraps.
Status FillWith(const Scalar& number, const Tensor& to);

// The layout of a copy of `self` in a memory format. Error "bad_memory_format".
Result<View> CopyLayout(const View& self, MemoryFormat format);

}  // namespace palimpsest::kernels
