#include "iter/order.h"

#include <utility>

namespace palimpsest {
namespace {

// Note [Ambiguous comparisons]
//
// Two dims are compared by the strides of the operands, in turn. A stride of 0 says nothing (the
// operand is broadcast there), and equal strides only say something when the dim that stands first
// is the larger one. If no operand decides, the pair is ambiguous; the sort then neither swaps nor
// stops, but goes on to compare the same dim with the next one further left. A later swap can so be
// of positions that are not adjacent, and what lies between them stays. The relation is not
// transitive, and no library sort gives the same order.
//
//   shape (1,2,5), strides (1,0,1): start 2,1,0. 1 against 2: ambiguous. 0 against 1: ambiguous,
//   0 against 2: a tie, and 5 > 1, so the ends swap: 0,1,2.
//
// Outputs that keep their layout come first among the operands and so decide first.
using Comparison = IterationTrace::Comparison;

// Must p, which stands before q, come after it? If no operand decides: kAmbiguous.
Comparison Compare(const Dims& shape, const StrideTable& table, bool reduction, size_t p,
                   size_t q) {
  using Rule = Comparison::Rule;
  for (size_t k = 0; k < table.num_operands; ++k) {
    if (!table.known[k]) continue;
    int64_t a = table.at(p, k), b = table.at(q, k);
    if (reduction && k < table.num_outputs && (a == 0) != (b == 0)) {
      return {Rule::kReduced, p, q, k, a, b, a != 0};
    }
    if (a == 0 || b == 0) continue;
    if (a != b) return {Rule::kStrides, p, q, k, a, b, a > b};
    if (shape[p] > shape[q]) return {Rule::kSizes, p, q, k, a, b, true};
  }
  return {Rule::kAmbiguous, p, q, 0, 0, 0, false};
}

bool CanMerge(const Dims& shape, const StrideTable& table, size_t into, size_t dim) {
  if (shape[into] == 1 || shape[dim] == 1) return true;
  for (size_t k = 0; k < table.num_operands; ++k) {
    if (shape[into] * table.at(into, k) != table.at(dim, k)) return false;
  }
  return true;
}

void CopyStrides(StrideTable& table, size_t to, size_t from) {
  for (size_t k = 0; k < table.num_operands; ++k) table.at(to, k) = table.at(from, k);
}

}  // namespace

DimOrder OrderDims(const Dims& shape, const StrideTable& table, bool reduction,
                   std::vector<IterationTrace::Comparison>* trace) {
  DimOrder order;
  for (size_t d = shape.size(); d-- > 0;) order.push_back(d);
  for (size_t i = 1; i < order.size(); ++i) {
    size_t cur = i;
    for (size_t j = i; j-- > 0;) {
      Comparison c = Compare(shape, table, reduction, order[j], order[cur]);
      if (trace != nullptr) trace->push_back(c);
      if (c.swaps) {
        std::swap(order[j], order[cur]);
        cur = j;
      } else if (c.rule != Comparison::Rule::kAmbiguous) {
        break;
      }
    }
  }
  return order;
}

Dims StridesInOrder(const Dims& shape, const DimOrder& order) {
  bool reversed = true;
  for (size_t i = 0; i < order.size(); ++i) reversed &= order[i] == order.size() - 1 - i;
  // Differs from the product below for empty shapes only.
  if (reversed) return ContiguousStrides(shape);
  Dims strides(shape.size());
  int64_t step = 1;
  for (size_t d : order) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

void MergeDims(Dims& shape, StrideTable& table) {
  if (shape.size() <= 1) return;
  size_t into = 0;
  for (size_t d = 1; d < shape.size(); ++d) {
    if (CanMerge(shape, table, into, d)) {
      if (shape[into] == 1) CopyStrides(table, into, d);
      shape[into] *= shape[d];
      continue;
    }
    ++into;
    if (into != d) {
      shape[into] = shape[d];
      CopyStrides(table, into, d);
    }
  }
  shape.resize(into + 1);
  table.strides.resize((into + 1) * table.num_operands);
}

}  // namespace palimpsest
