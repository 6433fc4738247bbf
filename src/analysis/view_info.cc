#include "analysis/view_info.h"

#include <optional>

namespace palimpsest::analysis {
namespace {

// delta = steps * stride with 0 <= steps <= limit, if there is such a number of steps.
std::optional<int64_t> Steps(int64_t delta, int64_t stride, int64_t limit) {
  if (stride == 0) return delta == 0 ? std::optional<int64_t>(0) : std::nullopt;
  if (delta % stride != 0) return std::nullopt;
  int64_t steps = delta / stride;
  if (steps < 0 || steps > limit) return std::nullopt;
  return steps;
}

std::optional<ViewInfo> AsSlice(const View& base, const View& view) {
  if (base.strides != view.strides) return std::nullopt;
  std::optional<size_t> changed;
  for (size_t d = 0; d < base.dim(); ++d) {
    if (base.sizes[d] == view.sizes[d]) continue;
    if (changed) return std::nullopt;
    changed = d;
  }
  if (!changed || view.sizes[*changed] > base.sizes[*changed]) return std::nullopt;
  std::optional<int64_t> start = Steps(view.offset - base.offset, base.strides[*changed],
                                       base.sizes[*changed] - view.sizes[*changed]);
  if (!start) return std::nullopt;
  ViewInfo info;
  info.kind = ViewInfo::Kind::kSlice;
  info.dim = static_cast<int64_t>(*changed);
  info.start = *start;
  info.end = *start + view.sizes[*changed];
  return info;
}

std::optional<ViewInfo> AsSelect(const View& base, const View& view) {
  if (base.dim() != view.dim() + 1) return std::nullopt;
  for (size_t d = 0; d < base.dim(); ++d) {
    bool fits = true;
    for (size_t k = 0; k < view.dim() && fits; ++k) {
      size_t from = k < d ? k : k + 1;
      fits = base.sizes[from] == view.sizes[k] && base.strides[from] == view.strides[k];
    }
    if (!fits) continue;
    std::optional<int64_t> index =
        Steps(view.offset - base.offset, base.strides[d], base.sizes[d] - 1);
    if (!index || base.sizes[d] == 0) continue;
    ViewInfo info;
    info.kind = ViewInfo::Kind::kSelect;
    info.dim = static_cast<int64_t>(d);
    info.start = *index;
    return info;
  }
  return std::nullopt;
}

std::optional<ViewInfo> AsPermute(const View& base, const View& view) {
  if (base.dim() != view.dim() || base.offset != view.offset) return std::nullopt;
  ViewInfo info;
  info.kind = ViewInfo::Kind::kPermute;
  SmallVector<char, 6> taken(base.dim(), 0);
  for (size_t d = 0; d < view.dim(); ++d) {
    size_t from = 0;
    while (from < base.dim() && (taken[from] != 0 || base.sizes[from] != view.sizes[d] ||
                                 base.strides[from] != view.strides[d])) {
      ++from;
    }
    if (from == base.dim()) return std::nullopt;
    taken[from] = 1;
    info.dims.push_back(static_cast<int64_t>(from));
  }
  return info;
}

// Tensors without elements are left to as_strided: `view` has strides of its own for them.
bool IsPlainView(const View& base, const View& view) {
  return base.offset == view.offset && base.numel() > 0 && base.numel() == view.numel() &&
         base.strides == ContiguousStrides(base.sizes) &&
         view.strides == ContiguousStrides(view.sizes);
}

}  // namespace

ViewInfo DescribeViewForKeys(const View& base, const View& view) {
  ViewInfo info;
  if (base.dtype != view.dtype) {
    info.kind = ViewInfo::Kind::kDType;
    return info;
  }
  if (base == view) {
    info.kind = ViewInfo::Kind::kSame;
    return info;
  }
  if (std::optional<ViewInfo> slice = AsSlice(base, view)) return *slice;
  return info;
}

ViewInfo DescribeView(const View& base, const View& view) {
  ViewInfo info = DescribeViewForKeys(base, view);
  if (info.kind != ViewInfo::Kind::kAsStrided) return info;
  if (std::optional<ViewInfo> select = AsSelect(base, view)) return *select;
  if (std::optional<ViewInfo> permute = AsPermute(base, view)) return *permute;
  if (IsPlainView(base, view)) {
    info.kind = ViewInfo::Kind::kView;
    info.dims = view.sizes;
  }
  return info;
}

}  // namespace palimpsest::analysis
