// Views: operators whose result is another look at the argument's storage.
#pragma once

#include <optional>
#include <span>

#include "op/op.h"

namespace palimpsest::kernels {

// select, slice, view, permute, split, ... ; their metadata-only in-place forms (t_, unsqueeze_),
// their copying forms (select_copy) and their scatters (select_scatter).
Status RegisterViews(op::OpTable& table);
// By file.
Status RegisterSplits(op::OpTable& table);
Status RegisterReshapes(op::OpTable& table);
Status RegisterViewsOfLists(op::OpTable& table);

// What a view operator makes of `self`, from all arguments of the call (self is args[0]).
using ViewRule = Result<View> (*)(const Tensor& self, std::span<const Value> args);

// ---- The geometry of single views (views_geometry.cc). Errors are eager PyTorch's.
Result<View> SelectView(const View& self, int64_t dim, int64_t index);
Result<View> SliceView(const View& self, int64_t dim, std::optional<int64_t> start,
                       std::optional<int64_t> end, int64_t step);
Result<View> NarrowView(const View& self, int64_t dim, int64_t start, int64_t length);
Result<View> PermuteView(const View& self, const Dims& dims);
Result<View> TransposeView(const View& self, int64_t dim0, int64_t dim1);
// A size of -1 keeps the existing one.
Result<View> ExpandView(const View& self, const Dims& sizes);
Result<View> UnsqueezeView(const View& self, int64_t dim);
Result<View> DiagonalView(const View& self, int64_t offset, int64_t dim1, int64_t dim2);
Result<View> UnfoldView(const View& self, int64_t dimension, int64_t size, int64_t step);
Result<View> DTypeView(const View& self, DType dtype);
// Within the storage of `self`.
Result<View> AsStridedView(const Tensor& self, const Dims& sizes, const Dims& strides,
                           std::optional<int64_t> offset);

// ---- views_reshape.cc
// Sizes with at most one -1, which is replaced. Error "size_mismatch".
Result<Dims> InferSizes(const Dims& sizes, int64_t numel);
// Strides that show self's elements, in row-major order, as `sizes` without copying; nullopt if
// there are none. REQUIRES: equal numbers of elements.
std::optional<Dims> ViewStrides(const View& self, std::span<const int64_t> sizes);
// view: refused where the strides do not allow it. Errors "size_mismatch", "view_incompatible".
Result<View> ReshapeView(const View& self, const Dims& sizes);

}  // namespace palimpsest::kernels
