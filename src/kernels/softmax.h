// softmax, log_softmax and the safe softmax of attention.
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterSoftmax(op::OpTable& table);

// In place, over a row of n elements that lie `stride` apart. A row of -inf only gives nan.
template <typename T>
void SoftmaxRow(T* row, int64_t n, int64_t stride);

}  // namespace palimpsest::kernels
