// Indexed writes: scatter and its kin (one place per element), index_copy, index_add, index_fill,
// index_reduce (whole slices), put. Each is a functional operator that is tied to self, and an
// in-place one. index_put is beside index, in indexing_advanced.cc.
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterScatters(op::OpTable& table);
// By file.
Status RegisterElementScatters(op::OpTable& table);
Status RegisterSliceScatters(op::OpTable& table);

}  // namespace palimpsest::kernels
