// Storage, View and Tensor.
//
// A *storage* is a block of bytes. A *view* says how elements lie in a storage: dtype, sizes,
// strides, offset, the last two in elements of its own dtype. A *tensor* is a view of a storage.
// Two tensors alias exactly if they have the same storage and their views meet (overlap.h).
//
// A storage may have no memory ("shape-only"): metadata inference runs the same meta functions on
// tensors whose storages are only identities.
//
// Tensors are plain values; copying one shares the storage. Not synchronised.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "palimpsest/dtype.h"
#include "palimpsest/result.h"
#include "palimpsest/small_vector.h"

namespace palimpsest {

using Dims = SmallVector<int64_t, 6>;

enum class MemoryFormat : uint8_t { kContiguous, kChannelsLast, kChannelsLast3d, kPreserve };

struct View {
  DType dtype = DType::kF32;
  Dims sizes;
  Dims strides;        // elements
  int64_t offset = 0;  // elements

  size_t dim() const { return sizes.size(); }
  int64_t numel() const {
    int64_t n = 1;
    for (int64_t s : sizes) n *= s;
    return n;
  }
  int64_t item_size() const { return ItemSize(dtype); }
  friend bool operator==(const View&, const View&) = default;
};

class Storage {
 public:
  // Memory owned by `owner` (may be null: the caller promises it to live long enough).
  // data == nullptr: a shape-only storage.
  Storage(std::byte* data, int64_t bytes, std::shared_ptr<void> owner)
      : data_(data), bytes_(bytes), owner_(std::move(owner)) {}
  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  bool shape_only() const { return data_ == nullptr; }
  // False for memory that the caller lent and that must not be replaced by a larger block.
  bool resizable() const { return resizable_; }
  void set_resizable(bool resizable) { resizable_ = resizable; }
  // Replaces the block by a larger one (contents are kept). For resize_ and out=.
  Status Grow(int64_t bytes);

 private:
  std::byte* data_;
  int64_t bytes_;
  bool resizable_ = true;
  std::shared_ptr<void> owner_;
};
using StorageRef = std::shared_ptr<Storage>;

struct Tensor : View {
  StorageRef storage;
  // Identity of the tensor *object*, 0 if nobody asks: two tensors with equal non-zero ids are the
  // very same object in the user's program ("the output is also an input"), which is more than
  // equal fields. The interpreter and the case runner set it.
  int64_t object = 0;

  Tensor() = default;
  Tensor(View view, StorageRef storage_in)
      : View(std::move(view)), storage(std::move(storage_in)) {}
  const View& view() const { return *this; }
  bool defined() const { return storage != nullptr; }
  // Address of the first element. The storage must have memory.
  std::byte* data() const { return storage->data() + offset * item_size(); }
  template <typename T>
  T* data_as() const {
    return reinterpret_cast<T*>(data());
  }
};

// The one function that all tensor memory comes from: 64-byte aligned, at least one byte, contents
// undefined (poisoned in test builds). Fails with kRuntime, reason "out_of_memory", when the limit
// is passed; the caller adds the operator's name.
Result<StorageRef> AllocateStorage(int64_t bytes);
StorageRef ShapeOnlyStorage(int64_t bytes);
// Limit in bytes for all storages alive at once; default three quarters of the machine's (or
// control group's) memory. `--max-memory`.
void SetMemoryLimit(int64_t bytes);
int64_t MemoryLimit();
// Fill new memory with 0xA5. On in tests: nobody may rely on zeroed memory.
void SetPoisonNewMemory(bool on);

// Strides of a contiguous tensor: products of max(size, 1) from the right.
Dims ContiguousStrides(std::span<const int64_t> sizes);
View ContiguousView(DType dtype, std::span<const int64_t> sizes);
// Strides of channels_last (4-d) / channels_last_3d (5-d): dims 1,(4,)3,2,0, sizes as they are.
Dims ChannelsLastStrides(std::span<const int64_t> sizes);
// Strides that `clone` and `empty_like` give with the preserve format (tensoriterator.md section
// 12): a dense view keeps its own; another gets dense strides in the order of its dims.
Dims PreserveStrides(const View& view);

bool IsContiguous(const View& view);
bool IsContiguous(const View& view, MemoryFormat format);
// Non-overlapping and dense: the elements fill a range without gaps, each place once.
bool IsDense(const View& view);
// The format that `to` and `contiguous` take as the tensor's own (section 12, suggested format).
MemoryFormat SuggestedFormat(const View& view);
// Number of bytes from the start of the storage to the end of the last element; 0 if there are no
// elements... (offset alone does not count). Error when the product overflows or is negative.
Result<int64_t> RequiredBytes(const View& view);
// numel with overflow and negative sizes checked: for sizes that come from a file.
Result<int64_t> CheckedNumel(std::span<const int64_t> sizes);

// A new tensor with its own storage, of exactly the bytes that the view needs.
Result<Tensor> EmptyTensor(const View& view);
Result<Tensor> EmptyTensor(DType dtype, std::span<const int64_t> sizes);
Tensor ShapeOnlyTensor(const View& view);

// "f32[2, 3][3, 1]"
std::string ToString(const View& view);
std::string ToString(std::span<const int64_t> dims);  // "[2, 3]"

}  // namespace palimpsest
