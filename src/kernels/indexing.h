// Indexed reads: index, index_select, gather, embedding, take, masks, embedding_bag, selection by
// order (topk, sort), search in sorted lines. Indexed writes are in scatter.h.
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterIndexing(op::OpTable& table);
// By file.
Status RegisterAdvancedIndexing(op::OpTable& table);
Status RegisterIndexSelections(op::OpTable& table);
Status RegisterMasks(op::OpTable& table);
Status RegisterSorts(op::OpTable& table);
Status RegisterSearches(op::OpTable& table);
Status RegisterBags(op::OpTable& table);

}  // namespace palimpsest::kernels
