// grid_sampler: an image read at places that a second tensor names.
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterGridSampler(op::OpTable& table);

}  // namespace palimpsest::kernels
