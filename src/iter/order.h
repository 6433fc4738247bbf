// The order in which the iterator walks dims, and the merging of dims that can be walked as one.
#pragma once

#include <cstdint>
#include <span>

#include "palimpsest/iterator.h"
#include "palimpsest/small_vector.h"
#include "palimpsest/tensor.h"

namespace palimpsest {

// Byte strides of all operands in the user's dim order: strides[dim * num_operands + operand].
struct StrideTable {
  size_t num_operands = 0;
  size_t num_outputs = 0;
  SmallVector<int64_t, 24> strides;
  SmallVector<bool, 4> known;  // per operand: false for outputs that are yet to be laid out

  int64_t& at(size_t dim, size_t operand) { return strides[dim * num_operands + operand]; }
  int64_t at(size_t dim, size_t operand) const { return strides[dim * num_operands + operand]; }
};

using DimOrder = SmallVector<size_t, 6>;

// Dims from fastest to slowest. Note [Ambiguous comparisons]. `trace`: null, or where the
// comparisons go.
DimOrder OrderDims(const Dims& shape, const StrideTable& table, bool reduction,
                   std::vector<IterationTrace::Comparison>* trace);

// Dense strides (elements) of `shape` with the dims in this order.
Dims StridesInOrder(const Dims& shape, const DimOrder& order);

// Merges neighbours of `shape` (fastest first), in place.
void MergeDims(Dims& shape, StrideTable& table);

}  // namespace palimpsest
