// CopyElements: element by element from one strided tensor to another, for the calls of op.h.
#pragma once

#include "palimpsest/tensor.h"

namespace palimpsest::op {

// REQUIRES: same dtype and sizes, memory on both sides that does not overlap (or is the same view).
void CopyElements(const Tensor& source, const Tensor& destination);

}  // namespace palimpsest::op
