// Normalizations: layer, group, batch, instance, root mean square.
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterNorms(op::OpTable& table);

// By file.
Status RegisterLayerNorms(op::OpTable& table);
Status RegisterGroupNorms(op::OpTable& table);
Status RegisterBatchNorms(op::OpTable& table);

}  // namespace palimpsest::kernels
