// Indexed writes that reduce: what several values for one place become.
#pragma once

#include <string>

#include "kernels/indexing_places.h"

namespace palimpsest::kernels {

enum class Reduction : uint8_t { kNone, kSum, kProd, kMean, kMax, kMin };

// "sum", "add" (the older name), ...; error "bad_argument". `allowed`: "sum prod mean amax amin".
Result<Reduction> ReductionNamed(const op::Op& op, const std::string& name,
                                 std::string_view allowed);

// Bools have no mean, complex numbers no order. Error "unsupported_dtype".
Status CheckReducible(const op::Op& op, Reduction reduction, DType dtype);

struct ReducingWrite {
  Reduction reduction = Reduction::kNone;
  bool include_self = true;  // the old element counts as one of the values
};

// Where a write goes: `view` is `target` seen in the values' sizes (stride 0 along `dim`);
// indices[e], of the values' sizes by `index_view`, says where along dim.
struct WritePlan {
  Tensor target;
  View view;
  size_t dim = 0;
  std::vector<int64_t> indices;
  View index_view;  // dtype i64
  NegativeIndex negative = NegativeIndex::kRefused;
};

// Checks all indices, then writes `values` (of plan.view's sizes).
Status RunWrite(const WritePlan& plan, const Tensor& values, const ReducingWrite& write);

}  // namespace palimpsest::kernels
