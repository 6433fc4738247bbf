// All built-in operators.
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterBuiltins(op::OpTable& table);

}  // namespace palimpsest::kernels
