// x[i, None, mask]: index tensors with holes, resolved against the tensor that they index.
#pragma once

#include <string>
#include <vector>

#include "kernels/indexing_places.h"

namespace palimpsest::kernels {

// Note [Layout of an indexed result]: the index dims take the place of the indexed dims where these
// stand side by side, else they come first:
//   x[:, i, j] of f32[2, 3, 4]  ->  [2] + shape        x[i, :, j]  ->  shape + [3]
struct AdvancedIndex {
  struct OneDim {
    Tensor index;     // i64, i32; a mask became the places where it holds
    int64_t dim = 0;  // of x
  };
  std::vector<OneDim> dims;
  Dims shape;  // the index tensors, broadcast
  // x seen in the result's sizes: stride 0 in the index dims.
  View source;
  size_t first = 0;  // where the index dims begin in it
  // A mask whose contents are not known: shape and source are not set, everything else is checked.
  bool unknown = false;
};

// Errors as eager's; masks are read if they have memory.
Result<AdvancedIndex> ResolveIndices(const Tensor& x, const Value::List& indices);
// Reads and checks the indices.
Result<Places> PlacesOf(const Tensor& x, const AdvancedIndex& index);
// The layout of x[indices]: what the iterator gives for x, seen in the result's sizes, and the
// index tensors.
Result<View> IndexedLayout(const AdvancedIndex& index);

// nonzero: one row per dim of `mask`, one column per element that is not zero.
Result<std::vector<std::vector<int64_t>>> NonzeroPlaces(const Tensor& mask);
// An i64 tensor of one dim that owns `values`.
Result<Tensor> TensorOf(const std::vector<int64_t>& values);

}  // namespace palimpsest::kernels
