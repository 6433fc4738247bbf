// Recurrent layers over a whole sequence: lstm.
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterRecurrent(op::OpTable& table);

}  // namespace palimpsest::kernels
