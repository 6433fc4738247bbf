// Indexed reads: index, index_select, gather, embedding, take, masks, and selection by order (topk,
// sort). Indexed writes are in scatter.h.
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterIndexing(op::OpTable& table);
// By file.
Status RegisterAdvancedIndexing(op::OpTable& table);
Status RegisterIndexSelections(op::OpTable& table);
Status RegisterMasks(op::OpTable& table);
Status RegisterSorts(op::OpTable& table);

}  // namespace palimpsest::kernels
