#include "import/storage_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace palimpsest::importing {
namespace {

constexpr size_t kMaxDims = 64;
constexpr uintptr_t kAlignment = 64;

void SwapElements(std::byte* data, int64_t bytes, DType dtype) {
  // The two halves of a complex number are swapped each for itself.
  int64_t unit = IsComplex(dtype) ? ItemSize(dtype) / 2 : ItemSize(dtype);
  for (int64_t at = 0; at + unit <= bytes; at += unit) std::reverse(data + at, data + at + unit);
}

}  // namespace

Result<StorageRef> StorageOfBytes(const Bytes& bytes, StorageUse use, bool swap, DType dtype) {
  int64_t size = static_cast<int64_t>(bytes.data.size());
  bool aligned = reinterpret_cast<uintptr_t>(bytes.data.data()) % kAlignment == 0;
  if (use == StorageUse::kShared && aligned && !swap && size > 0) {
    auto* data = const_cast<std::byte*>(bytes.data.data());
    auto storage =
        std::make_shared<Storage>(data, size, std::const_pointer_cast<void>(bytes.owner));
    storage->set_resizable(false);
    return StorageRef(storage);
  }
  PAL_TRY(StorageRef storage, AllocateStorage(size));
  if (size > 0) std::memcpy(storage->data(), bytes.data.data(), bytes.data.size());
  if (swap) SwapElements(storage->data(), size, dtype);
  return storage;
}

Result<bool> IsBigEndian(const Archive& archive, const std::string& record) {
  if (!archive.Has(record)) return false;
  PAL_TRY(Bytes bytes, archive.Read(record));
  std::string_view text = bytes.text();
  if (text == "little") return false;
  if (text == "big") return true;
  return BadInput(fmt::format("{}: record '{}': byte order '{}' (little and big are known)",
                              archive.name(), record, Shown(text)));
}

Result<View> CheckedView(DType dtype, const Dims& sizes, const Dims& strides, int64_t offset,
                         int64_t storage_bytes, const std::string& what) {
  if (sizes.size() > kMaxDims) {
    return BadInput(fmt::format("{} has {} dimensions (at most {})", what, sizes.size(), kMaxDims));
  }
  if (sizes.size() != strides.size()) {
    return BadInput(
        fmt::format("{} has {} sizes and {} strides", what, sizes.size(), strides.size()));
  }
  auto negative = [](int64_t n) { return n < 0; };
  if (offset < 0 || std::ranges::any_of(sizes, negative) ||
      std::ranges::any_of(strides, negative)) {
    return BadInput(fmt::format("{} has a negative number in sizes {}, strides {}, offset {}", what,
                                ToString(sizes), ToString(strides), offset));
  }
  View view;
  view.dtype = dtype;
  view.sizes = sizes;
  view.strides = strides;
  view.offset = offset;
  Result<int64_t> needed = RequiredBytes(view);
  Result<int64_t> numel = CheckedNumel(sizes);
  if (!needed.ok() || !numel.ok() || *needed > storage_bytes) {
    return BadInput(fmt::format(
        "{}: {} at offset {} needs {}, its record holds {} bytes", what, ToString(view), offset,
        needed.ok() ? fmt::format("{} bytes", *needed) : "more bytes than can be counted",
        storage_bytes));
  }
  return view;
}

Result<View> CheckedContiguousView(DType dtype, const Dims& sizes, int64_t storage_bytes,
                                   const std::string& what) {
  // Strides are products of sizes, of those that are 0 too.
  int64_t product = 1;
  for (int64_t size : sizes) {
    if (size < 0)
      return BadInput(fmt::format("{} has a negative size in {}", what, ToString(sizes)));
    if (__builtin_mul_overflow(product, std::max<int64_t>(size, 1), &product)) {
      return BadInput(fmt::format("{}: {}{} has more elements than can be counted", what,
                                  DTypeName(dtype), ToString(sizes)));
    }
  }
  return CheckedView(dtype, sizes, ContiguousStrides(sizes), 0, storage_bytes, what);
}

}  // namespace palimpsest::importing
