// Operators that are compositions of others (composed.h): cosine_similarity, kron, cdist, ...
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterComposites(op::OpTable& table);

}  // namespace palimpsest::kernels
