// Loss functions, as compositions of other operators (composed.h).
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterLosses(op::OpTable& table);

}  // namespace palimpsest::kernels
