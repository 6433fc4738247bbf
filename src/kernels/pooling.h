// Pooling: largest elements and means of windows, of fixed size or adapted to the result's size.
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterPooling(op::OpTable& table);

}  // namespace palimpsest::kernels
