// View info: by which single operation a view is had from another tensor of the same storage.
//
//   base f32[4, 3][3, 1], view f32[3][1] offset 6      ->  select(dim 0, index 2)
//   base f32[4, 3][3, 1], view f32[2, 3][3, 1] offset 3 ->  slice(dim 0, 1:3)
//   anything else                                       ->  as_strided(size, stride, offset)
//
// Recognised from sizes, strides and offsets alone. Exact in both directions: applying the
// operation to the base gives the view's sizes, strides and offset, those of dims of size 1 and 0
// too.
#pragma once

#include <cstdint>

#include "palimpsest/tensor.h"

namespace palimpsest::analysis {

struct ViewInfo {
  enum class Kind : uint8_t {
    kSame,       // the base's own dtype, sizes, strides and offset
    kSlice,      // start:end of dim, step 1
    kSelect,     // index `start` of dim
    kPermute,    // dims
    kView,       // sizes; base and view are contiguous
    kAsStrided,  // sizes, strides and offset of the view, absolute in the storage
    kDType,      // the same in another dtype (torch.ops.palimpsest.view)
  };
  Kind kind = Kind::kAsStrided;
  int64_t dim = 0, start = 0, end = 0;
  Dims dims;
};

// Both views are of one storage.
ViewInfo DescribeView(const View& base, const View& view);

// The two kinds that PyTorch's view keys know besides as_strided (ir/auto_functionalized.h):
// kSame, kSlice, else kAsStrided or kDType.
ViewInfo DescribeViewForKeys(const View& base, const View& view);

}  // namespace palimpsest::analysis
