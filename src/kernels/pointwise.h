// The point-wise operators of ATen: unary, binary, comparisons, ternary.
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterPointwise(op::OpTable& table);

// By file.
Status RegisterUnary(op::OpTable& table);
Status RegisterUnaryFloat(op::OpTable& table);
Status RegisterUnaryActivation(op::OpTable& table);
Status RegisterBinary(op::OpTable& table);
Status RegisterBinaryDivision(op::OpTable& table);
Status RegisterBinaryCompare(op::OpTable& table);
Status RegisterBinaryBits(op::OpTable& table);
Status RegisterTernary(op::OpTable& table);
Status RegisterForeach(op::OpTable& table);
Status RegisterBinaryOfViews(op::OpTable& table);

}  // namespace palimpsest::kernels
