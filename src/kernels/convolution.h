// Convolutions and transposed convolutions in one, two and three dims.
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterConvolution(op::OpTable& table);

}  // namespace palimpsest::kernels
