// Resampling of images: nearest and linear interpolation.
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterResampling(op::OpTable& table);

}  // namespace palimpsest::kernels
