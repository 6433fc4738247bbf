// Exact overlap of strided sets of bytes (docs/reinplacing.md; Note [Exact overlap] in overlap.cc).
//
// Both views are of one storage. Decided exactly with integer arithmetic: disjoint extents, common
// mixed-radix form, gcd, depth-first search with a work cap ("yes" when the cap is hit). The item
// size is one more dim, so views of different dtypes compare. Empty views meet nothing.
#pragma once

#include "palimpsest/tensor.h"

namespace palimpsest {

// Do two views of one storage share a byte?
bool MayOverlap(const View& a, const View& b);
// Same storage and overlapping views.
bool MayOverlap(const Tensor& a, const Tensor& b);
// Do two different index tuples of the view name the same element? Size-1 dims do not count.
bool OverlapsItself(const View& view);
// Same storage, and element i of one is element i of the other (dtype, sizes, and the strides of
// dims with more than one element are equal; or both are empty).
bool SameElements(const View& a, const View& b);

}  // namespace palimpsest
