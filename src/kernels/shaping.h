// Operators that lay elements out anew: cat, stack, repeat, flip, roll, pad, tril, diag_embed, ...
//
// None is a copy step: each puts its result where it is wanted.
#pragma once

#include <span>
#include <vector>

#include "op/op.h"
#include "palimpsest/tensor.h"

namespace palimpsest::kernels {

Status RegisterShaping(op::OpTable& table);
// By file.
Status RegisterConcatenations(op::OpTable& table);
Status RegisterRearrangements(op::OpTable& table);
Status RegisterPads(op::OpTable& table);
Status RegisterDiagonals(op::OpTable& table);
Status RegisterShuffles(op::OpTable& table);
Status RegisterColumns(op::OpTable& table);

// result[i0, i1, ..] = source[maps[0][i0], maps[1][i1], ..]; maps[d] has result.sizes[d] entries,
// each a place along dim d of source. Equal ranks and types.
using DimMaps = std::vector<std::vector<int64_t>>;
Status CopyMapped(const Tensor& source, const DimMaps& maps, const Tensor& result);
// 0, 1, .., n - 1.
std::vector<int64_t> IdentityMap(int64_t n);

}  // namespace palimpsest::kernels
