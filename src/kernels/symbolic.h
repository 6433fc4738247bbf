// Numbers: sizes and strides of tensors, Python's arithmetic on them, assertions, and item.
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterSymbolic(op::OpTable& table);
// By file.
Status RegisterNumberArithmetic(op::OpTable& table);
Status RegisterAssertions(op::OpTable& table);

}  // namespace palimpsest::kernels
