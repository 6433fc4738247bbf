// Products of matrices and vectors: mm, bmm, addmm, matmul, linear, dot, einsum, ...
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterMatmul(op::OpTable& table);

// By file.
Status RegisterMatrixProducts(op::OpTable& table);
Status RegisterBroadcastProducts(op::OpTable& table);
Status RegisterEinsum(op::OpTable& table);

}  // namespace palimpsest::kernels
