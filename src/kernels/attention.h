// scaled_dot_product_attention.
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterAttention(op::OpTable& table);

}  // namespace palimpsest::kernels
