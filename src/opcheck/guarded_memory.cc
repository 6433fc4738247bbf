#include "opcheck/guarded_memory.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace palimpsest::opcheck {
namespace {

constexpr int64_t kGuardBytes = 256;  // on both sides, a multiple of every element size

// Strides in elements and the number of elements from the first to past the last.
Dims StridesOf(const Dims& sizes, Layout layout) {
  const size_t rank = sizes.size();
  Dims strides(rank, 1);
  int64_t next = layout == Layout::kGapped ? 2 : 1;
  for (size_t k = 0; k < rank; ++k) {
    const size_t d = layout == Layout::kTransposed ? k : rank - 1 - k;
    strides[d] = next;
    next *= std::max<int64_t>(sizes[d], 1);
    if (layout == Layout::kGapped) next += 1;
  }
  return strides;
}

int64_t ExtentOf(const Dims& sizes, const Dims& strides) {
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    last += (sizes[d] - 1) * strides[d];
  }
  return last + 1;
}

// f(byte offset in the storage) per element, in row-major order.
template <typename F>
void ForEachElement(const Tensor& t, F&& f) {
  const int64_t item = t.item_size();
  const int64_t count = t.numel();
  Dims at(t.dim(), 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = t.offset;
    for (size_t d = 0; d < t.dim(); ++d) offset += at[d] * t.strides[d];
    f(static_cast<size_t>(offset * item));
    for (size_t d = t.dim(); d-- > 0;) {
      if (++at[d] < t.sizes[d]) break;
      at[d] = 0;
    }
  }
}

}  // namespace

const char* LayoutName(Layout layout) {
  switch (layout) {
    case Layout::kPlain:
      return "contiguous";
    case Layout::kOffset:
      return "at an offset";
    case Layout::kTransposed:
      return "transposed";
    case Layout::kGapped:
      return "with gaps";
  }
  return "";
}

Result<Tensor> GuardedTensor(DType dtype, const Dims& sizes, Layout layout, uint8_t fill) {
  const int64_t item = ItemSize(dtype);
  View view;
  view.dtype = dtype;
  view.sizes = sizes;
  view.strides = StridesOf(sizes, layout);
  view.offset = kGuardBytes / item + (layout == Layout::kOffset ? 3 : 0);
  const int64_t bytes = (view.offset + ExtentOf(sizes, view.strides)) * item + kGuardBytes;
  PAL_TRY(StorageRef storage, AllocateStorage(bytes));
  std::memset(storage->data(), fill, static_cast<size_t>(bytes));
  return Tensor(view, std::move(storage));
}

std::vector<std::byte> ElementBytes(const Tensor& t) {
  const size_t item = static_cast<size_t>(t.item_size());
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<size_t>(t.numel()) * item);
  ForEachElement(t, [&](size_t offset) {
    const std::byte* from = t.storage->data() + offset;
    bytes.insert(bytes.end(), from, from + item);
  });
  return bytes;
}

void SetElementBytes(const Tensor& t, const std::vector<std::byte>& bytes) {
  const size_t item = static_cast<size_t>(t.item_size());
  size_t next = 0;
  ForEachElement(t, [&](size_t offset) {
    std::memcpy(t.storage->data() + offset, bytes.data() + next, item);
    next += item;
  });
}

Snapshot::Snapshot(const Tensor& t)
    : tensor_(t),
      bytes_(t.storage->data(), t.storage->data() + t.storage->bytes()),
      is_element_(bytes_.size(), false) {
  ForEachElement(t, [&](size_t offset) {
    for (size_t b = 0; b < static_cast<size_t>(t.item_size()); ++b) is_element_[offset + b] = true;
  });
}

bool Snapshot::ElementsChanged() const {
  for (size_t b = 0; b < bytes_.size(); ++b) {
    if (is_element_[b] && tensor_.storage->data()[b] != bytes_[b]) return true;
  }
  return false;
}

bool Snapshot::GuardsChanged() const {
  for (size_t b = 0; b < bytes_.size(); ++b) {
    if (!is_element_[b] && tensor_.storage->data()[b] != bytes_[b]) return true;
  }
  return false;
}

}  // namespace palimpsest::opcheck
