// The geometry of single views: sizes, strides and offset from those of self, as PyTorch gives
// them, in dims of size 1 and 0 too.
#include <fmt/format.h>

#include <algorithm>

#include "core/promotion.h"
#include "kernels/reduce_dims.h"
#include "kernels/views.h"

namespace palimpsest::kernels {
namespace {

// Strides of dims that hold at most one element may be anything, so products may wrap.
int64_t WrappingMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t WrappingAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

Status RefuseZeroDim(const View& self, std::string_view name) {
  if (self.dim() > 0) return {};
  return Refused("dim_out_of_range",
                 fmt::format("{}() cannot be applied to a 0-dim tensor.", name));
}

void Erase(View& view, size_t dim) {
  view.sizes.erase(view.sizes.begin() + dim);
  view.strides.erase(view.strides.begin() + dim);
}

}  // namespace

Result<View> SelectView(const View& self, int64_t dim, int64_t index) {
  PAL_TRY(RefuseZeroDim(self, "select"));
  PAL_TRY(int64_t wrapped, WrapDim(dim, self.dim()));
  auto d = static_cast<size_t>(wrapped);
  int64_t size = self.sizes[d];
  if (index < -size || index >= size) {
    return Refused("index_out_of_range",
                   fmt::format("select(): index {} out of range for tensor of size {} at "
                               "dimension {}",
                               index, ToString(self.sizes), wrapped));
  }
  View view = self;
  view.offset += (index < 0 ? index + size : index) * self.strides[d];
  Erase(view, d);
  return view;
}

Result<View> SliceView(const View& self, int64_t dim, std::optional<int64_t> start,
                       std::optional<int64_t> end, int64_t step) {
  PAL_TRY(RefuseZeroDim(self, "slice"));
  PAL_TRY(int64_t wrapped, WrapDim(dim, self.dim()));
  if (step <= 0) return Refused("bad_step", "slice step must be positive");
  auto d = static_cast<size_t>(wrapped);
  int64_t size = self.sizes[d];
  auto clamped = [&](int64_t position, int64_t least) {
    if (position < 0) position += size;
    return std::clamp(position, least, size);
  };
  int64_t first = clamped(start.value_or(0), 0);
  int64_t last = clamped(end.value_or(size), first);
  View view = self;
  view.offset += first * self.strides[d];
  int64_t length = last - first;
  view.sizes[d] = length == 0 ? 0 : (length - 1) / step + 1;
  view.strides[d] = WrappingMul(self.strides[d], step);
  return view;
}

Result<View> NarrowView(const View& self, int64_t dim, int64_t start, int64_t length) {
  PAL_TRY(RefuseZeroDim(self, "narrow"));
  if (length < 0) return Refused("index_out_of_range", "narrow(): length must be non-negative.");
  PAL_TRY(int64_t wrapped, WrapDim(dim, self.dim()));
  int64_t size = self.sizes[static_cast<size_t>(wrapped)];
  if (start < -size || start > size) {
    return Refused("index_out_of_range",
                   fmt::format("start out of range (expected to be in range of [{}, {}], but got "
                               "{})",
                               -size, size, start));
  }
  if (start < 0) start += size;
  if (start > size - length) {
    return Refused(
        "index_out_of_range",
        fmt::format("start ({}) + length ({}) exceeds dimension size ({}).", start, length, size));
  }
  return SliceView(self, wrapped, start, start + length, 1);
}

Result<View> PermuteView(const View& self, const Dims& dims) {
  if (dims.size() != self.dim()) {
    return Refused("dim_out_of_range",
                   fmt::format("permute(): number of dimensions in the tensor input does not match "
                               "the length of the desired ordering of dimensions, {} is not equal "
                               "to {}",
                               self.dim(), dims.size()));
  }
  View view = self;
  SmallVector<bool, 6> seen(dims.size(), false);
  for (size_t i = 0; i < dims.size(); ++i) {
    PAL_TRY(int64_t wrapped, WrapDim(dims[i], self.dim()));
    auto d = static_cast<size_t>(wrapped);
    if (seen[d]) return Refused("dim_repeated", "permute(): duplicate dims are not allowed.");
    seen[d] = true;
    view.sizes[i] = self.sizes[d];
    view.strides[i] = self.strides[d];
  }
  return view;
}

Result<View> TransposeView(const View& self, int64_t dim0, int64_t dim1) {
  PAL_TRY(int64_t a, WrapDim(dim0, self.dim()));
  PAL_TRY(int64_t b, WrapDim(dim1, self.dim()));
  View view = self;
  if (self.dim() == 0) return view;
  std::swap(view.sizes[static_cast<size_t>(a)], view.sizes[static_cast<size_t>(b)]);
  std::swap(view.strides[static_cast<size_t>(a)], view.strides[static_cast<size_t>(b)]);
  return view;
}

Result<View> ExpandView(const View& self, const Dims& sizes) {
  if (sizes.size() < self.dim()) {
    return Refused("broadcast_mismatch",
                   fmt::format("expand: the number of sizes provided ({}) must be greater or equal "
                               "to the number of dimensions in the tensor ({})",
                               sizes.size(), self.dim()));
  }
  size_t lead = sizes.size() - self.dim();
  View view = self;
  view.sizes = sizes;
  view.strides = Dims(sizes.size(), 0);
  for (size_t i = sizes.size(); i-- > 0;) {
    bool is_new = i < lead;
    int64_t size = is_new ? 1 : self.sizes[i - lead];
    if (sizes[i] == -1 && !is_new) view.sizes[i] = size;
    if (view.sizes[i] < 0) {
      return Refused("broadcast_mismatch",
                     fmt::format("The expanded size of the tensor ({}) isn't allowed in a "
                                 "{}dimension {}",
                                 sizes[i], is_new ? "leading, non-existing " : "", i));
    }
    if (view.sizes[i] != size && size != 1) {
      return Refused("broadcast_mismatch",
                     fmt::format("The expanded size of the tensor ({}) must match the existing "
                                 "size ({}) at non-singleton dimension {}.",
                                 view.sizes[i], size, i));
    }
    if (view.sizes[i] != size || self.dim() == 0) continue;  // stride 0
    bool has_next = i + 1 < sizes.size();
    int64_t outer = has_next ? WrappingMul(view.sizes[i + 1], view.strides[i + 1]) : 1;
    view.strides[i] = is_new ? outer : self.strides[i - lead];
  }
  PAL_TRY(CheckedNumel(view.sizes));
  return view;
}

Result<View> UnsqueezeView(const View& self, int64_t dim) {
  PAL_TRY(int64_t wrapped, WrapDim(dim, self.dim() + 1));
  auto d = static_cast<size_t>(wrapped);
  View view = self;
  int64_t stride = d >= self.dim() ? 1 : WrappingMul(self.sizes[d], self.strides[d]);
  view.sizes.insert(view.sizes.begin() + d, 1);
  view.strides.insert(view.strides.begin() + d, stride);
  return view;
}

Result<View> DiagonalView(const View& self, int64_t offset, int64_t dim1, int64_t dim2) {
  PAL_TRY(int64_t a, WrapDim(dim1, self.dim()));
  PAL_TRY(int64_t b, WrapDim(dim2, self.dim()));
  if (a == b) {
    return Refused("dim_repeated",
                   fmt::format("diagonal dimensions cannot be identical {}, {}", dim1, dim2));
  }
  auto d1 = static_cast<size_t>(a), d2 = static_cast<size_t>(b);
  View view = self;
  // The offset may be any 64-bit number: no difference is formed before it is known to be small.
  int64_t size = 0;
  if (offset >= 0) {
    if (offset < self.sizes[d2]) size = std::min(self.sizes[d1], self.sizes[d2] - offset);
  } else if (offset > -self.sizes[d1]) {
    size = std::min(self.sizes[d1] + offset, self.sizes[d2]);
  }
  if (size > 0) view.offset += offset >= 0 ? offset * self.strides[d2] : -offset * self.strides[d1];
  int64_t stride = WrappingAdd(self.strides[d1], self.strides[d2]);
  Erase(view, std::max(d1, d2));
  Erase(view, std::min(d1, d2));
  view.sizes.push_back(size);
  view.strides.push_back(stride);
  return view;
}

Result<View> UnfoldView(const View& self, int64_t dimension, int64_t size, int64_t step) {
  PAL_TRY(int64_t wrapped, WrapDim(dimension, self.dim()));
  auto d = static_cast<size_t>(wrapped);
  bool zero_dim = self.dim() == 0;
  int64_t most = zero_dim ? 1 : self.sizes[d];
  if (size < 0)
    return Refused("window_too_large", fmt::format("size is {} but must be >= 0", size));
  if (size > most) {
    return Refused("window_too_large",
                   fmt::format("maximum size for tensor at dimension {} is {} but size is {}",
                               wrapped, most, size));
  }
  if (step <= 0) return Refused("bad_step", fmt::format("step is {} but must be > 0", step));
  View view = self;
  if (!zero_dim) {
    view.sizes[d] = (most - size) / step + 1;
    view.strides[d] = WrappingMul(step, self.strides[d]);
  }
  view.sizes.push_back(size);
  view.strides.push_back(zero_dim ? 1 : self.strides[d]);
  return view;
}

// Elements of `size` bytes seen as elements of `ratio` times fewer bytes.
static Result<View> SmallerElements(const View& self, DType dtype, int64_t ratio) {
  View view = self;
  size_t last = self.dim() - 1;
  view.dtype = dtype;
  for (size_t d = 0; d < last; ++d) view.strides[d] = WrappingMul(self.strides[d], ratio);
  view.sizes[last] *= ratio;
  view.strides[last] = 1;
  view.offset *= ratio;
  return view;
}

static Result<View> LargerElements(const View& self, DType dtype, int64_t ratio) {
  View view = self;
  size_t last = self.dim() - 1;
  auto refuse = [&](std::string_view what) {
    return Refused("dtype_view_impossible",
                   fmt::format("{} must be divisible by {} to view {} as {} (different element "
                               "sizes)",
                               what, ratio, TorchName(self.dtype), TorchName(dtype)));
  };
  if (self.sizes[last] % ratio != 0) return refuse("self.size(-1)");
  if (self.offset % ratio != 0) return refuse("self.storage_offset()");
  for (size_t d = 0; d < last; ++d) {
    if (self.strides[d] % ratio != 0) return refuse(fmt::format("self.stride({})", d));
    view.strides[d] = self.strides[d] / ratio;
  }
  view.dtype = dtype;
  view.sizes[last] /= ratio;
  view.offset /= ratio;
  return view;
}

Result<View> DTypeView(const View& self, DType dtype) {
  int64_t from = self.item_size(), to = ItemSize(dtype);
  if (from == to) {
    View view = self;
    view.dtype = dtype;
    return view;
  }
  if (self.dim() == 0) {
    return Refused("dtype_view_impossible",
                   fmt::format("self.dim() cannot be 0 to view {} as {} (different element sizes)",
                               TorchName(self.dtype), TorchName(dtype)));
  }
  if (self.strides.back() != 1) {
    return Refused("dtype_view_impossible",
                   fmt::format("self.stride(-1) must be 1 to view {} as {} (different element "
                               "sizes), but got {}",
                               TorchName(self.dtype), TorchName(dtype), self.strides.back()));
  }
  return from > to ? SmallerElements(self, dtype, from / to)
                   : LargerElements(self, dtype, to / from);
}

Result<View> AsStridedView(const Tensor& self, const Dims& sizes, const Dims& strides,
                           std::optional<int64_t> offset) {
  if (sizes.size() != strides.size()) {
    return Refused("size_mismatch", "mismatch in length of strides and shape");
  }
  View view{self.dtype, sizes, strides, offset.value_or(self.offset)};
  for (int64_t stride : strides) {
    if (stride < 0) {
      return Refused("negative_stride",
                     "as_strided: Negative strides are not supported at the moment");
    }
  }
  for (int64_t size : sizes) {
    if (size < 0) {
      return Refused("negative_size", fmt::format("as_strided: negative size {}", size));
    }
  }
  if (view.offset < 0) {
    return Refused("out_of_storage", fmt::format("Tensor: invalid storage offset {}", view.offset));
  }
  PAL_TRY(int64_t needed, RequiredBytes(view));
  if (needed > self.storage->bytes()) {
    return Refused("out_of_storage",
                   fmt::format("setStorage: sizes {}, strides {}, storage offset {}, and itemsize "
                               "{} requiring a storage size of {} are out of bounds for storage of "
                               "size {}",
                               ToString(sizes), ToString(strides), view.offset, view.item_size(),
                               needed, self.storage->bytes()));
  }
  return view;
}

}  // namespace palimpsest::kernels
