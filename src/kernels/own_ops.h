// Operators of our own, namespace "palimpsest", that functionalizing writes down:
//
//   storage(Tensor(a) x) -> Tensor(a)       x's whole storage as one dim, in x's dtype
//   view(Tensor(a) x, ScalarType dtype, int[] size, int[] stride, int storage_offset) -> Tensor(a)
//                                           any view of x's storage; the offset is absolute, in
//                                           elements of `dtype`
//   scatter_view(Tensor base, Tensor value, int[] size, int[] stride, int storage_offset) -> Tensor
//                                           base with the elements of a view replaced by value's;
//                                           the view is of value's dtype, its offset counts from
//                                           base's first byte
//
// clone_strides, the copy step, is among the copies (copy.cc).
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterOwnOperators(op::OpTable& table);

}  // namespace palimpsest::kernels
