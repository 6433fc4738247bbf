#include "palimpsest/tensor.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/check.h"

namespace palimpsest {
namespace {

std::atomic<int64_t> g_limit{-1};
std::atomic<int64_t> g_in_use{0};
std::atomic<bool> g_poison{false};

int64_t ReadNumber(const char* path) {
  std::ifstream file(path);
  int64_t n = -1;
  file >> n;  // "max" leaves n at 0
  return file ? n : -1;
}

int64_t MachineMemory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  int64_t kib = 0;
  while (file >> word) {
    if (word == "MemTotal:") {
      file >> kib;
      break;
    }
  }
  return kib > 0 ? kib * 1024 : int64_t{1} << 33;
}

int64_t DefaultLimit() {
  int64_t bytes = MachineMemory();
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    int64_t group = ReadNumber(path);
    if (group > 0) bytes = std::min(bytes, group);
  }
  return bytes / 4 * 3;
}

constexpr int64_t kAlignment = 64;

// Owns one block of tensor memory and gives its bytes back to the count.
struct Block {
  std::byte* data;
  int64_t bytes;
  ~Block() {
    std::free(data);
    g_in_use -= bytes;
  }
};

Result<std::shared_ptr<Block>> NewBlock(int64_t bytes) {
  if (bytes < 0) return InternalError(fmt::format("allocation of {} bytes", bytes));
  int64_t limit = MemoryLimit();
  // Not rounded up before the check: bytes may be close to 2^63.
  int64_t rounded = bytes > limit
                        ? bytes
                        : (std::max<int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  if (rounded > limit || g_in_use.fetch_add(rounded) > limit - rounded) {
    if (rounded <= limit) g_in_use -= rounded;
    return RuntimeFailure(
        fmt::format(
            "out of memory: {} bytes asked, {} in use, limit {} (raise it with --max-memory)",
            bytes, g_in_use.load(), limit),
        "out_of_memory");
  }
  void* data = std::aligned_alloc(kAlignment, static_cast<size_t>(rounded));
  if (data == nullptr) {
    g_in_use -= rounded;
    return RuntimeFailure(fmt::format("out of memory: the system refused {} bytes", bytes),
                          "out_of_memory");
  }
  if (g_poison) std::memset(data, 0xA5, static_cast<size_t>(rounded));
  return std::make_shared<Block>(static_cast<std::byte*>(data), rounded);
}

// The order of dims for preserve-format layouts: Note [Ambiguous comparisons] in
// iter/. This is the one-operand case of the same sort.
int Compare(const View& view, size_t p, size_t q) {
  int64_t a = view.strides[p], b = view.strides[q];
  if (a == 0 || b == 0) return 0;
  if (a != b) return a < b ? -1 : 1;
  return view.sizes[p] > view.sizes[q] ? 1 : 0;
}

}  // namespace

void SetMemoryLimit(int64_t bytes) { g_limit = bytes; }
int64_t MemoryLimit() {
  int64_t limit = g_limit;
  if (limit < 0) {
    limit = DefaultLimit();
    g_limit = limit;
  }
  return limit;
}
void SetPoisonNewMemory(bool on) { g_poison = on; }

Result<StorageRef> AllocateStorage(int64_t bytes) {
  PAL_TRY(std::shared_ptr<Block> block, NewBlock(bytes));
  std::byte* data = block->data;
  return std::make_shared<Storage>(data, bytes, std::move(block));
}

StorageRef ShapeOnlyStorage(int64_t bytes) {
  return std::make_shared<Storage>(nullptr, bytes, nullptr);
}

Status Storage::Grow(int64_t bytes) {
  if (bytes <= bytes_) return {};
  if (!resizable_) {
    return Refused("resize_not_allowed", "Trying to resize storage that is not resizable");
  }
  if (!shape_only()) {
    PAL_TRY(std::shared_ptr<Block> block, NewBlock(bytes));
    std::memcpy(block->data, data_, static_cast<size_t>(bytes_));
    data_ = block->data;
    owner_ = std::move(block);
  }
  bytes_ = bytes;
  return {};
}

Dims ContiguousStrides(std::span<const int64_t> sizes) {
  Dims strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

View ContiguousView(DType dtype, std::span<const int64_t> sizes) {
  return {dtype, Dims(sizes), ContiguousStrides(sizes), 0};
}

namespace {
// Dims of channels_last and channels_last_3d from fastest to slowest.
Dims ChannelsLastOrder(size_t rank) { return rank == 5 ? Dims{1, 4, 3, 2, 0} : Dims{1, 3, 2, 0}; }
}  // namespace

Dims ChannelsLastStrides(std::span<const int64_t> sizes) {
  PAL_CHECK(sizes.size() == 4 || sizes.size() == 5, "channels_last of {} dims", sizes.size());
  Dims strides(sizes.size());
  int64_t step = 1;
  for (int64_t d : ChannelsLastOrder(sizes.size())) {
    strides[static_cast<size_t>(d)] = step;
    step *= sizes[static_cast<size_t>(d)];
  }
  return strides;
}

Dims PreserveStrides(const View& view) {
  if (IsDense(view)) return view.strides;
  size_t n = view.dim();
  if (n == 0) return {};
  SmallVector<size_t, 6> order;
  for (size_t i = n; i-- > 0;) order.push_back(i);
  for (size_t i = 1; i < n; ++i) {
    size_t cur = i;
    for (size_t j = i; j-- > 0;) {
      int c = Compare(view, order[j], order[cur]);
      if (c > 0) {
        std::swap(order[j], order[cur]);
        cur = j;
      } else if (c < 0) {
        break;
      }
    }
  }
  Dims strides(n);
  int64_t step = 1;
  for (size_t d : order) {
    strides[d] = step;
    step *= std::max<int64_t>(view.sizes[d], 1);
  }
  return strides;
}

bool IsContiguous(const View& view) {
  int64_t step = 1;
  if (view.numel() == 0) return true;
  for (size_t i = view.dim(); i-- > 0;) {
    if (view.sizes[i] != 1 && view.strides[i] != step) return false;
    step *= view.sizes[i];
  }
  return true;
}

bool IsContiguous(const View& view, MemoryFormat format) {
  if (format == MemoryFormat::kContiguous || format == MemoryFormat::kPreserve) {
    return IsContiguous(view);
  }
  size_t rank = format == MemoryFormat::kChannelsLast ? 4 : 5;
  if (view.dim() != rank) return false;
  int64_t step = 1;
  for (int64_t k : ChannelsLastOrder(rank)) {
    size_t d = static_cast<size_t>(k);
    if (view.sizes[d] != 1 && view.strides[d] != step) return false;
    step *= view.sizes[d];
  }
  return true;
}

bool IsDense(const View& view) {
  if (view.numel() <= 1) return true;
  SmallVector<size_t, 6> dims;
  for (size_t i = 0; i < view.dim(); ++i) {
    if (view.sizes[i] != 1) dims.push_back(i);
  }
  std::sort(dims.begin(), dims.end(),
            [&](size_t a, size_t b) { return view.strides[a] < view.strides[b]; });
  int64_t step = 1;
  for (size_t d : dims) {
    if (view.strides[d] != step) return false;
    step *= view.sizes[d];
  }
  return true;
}

MemoryFormat SuggestedFormat(const View& view) {
  if (view.dim() != 4 && view.dim() != 5) return MemoryFormat::kContiguous;
  if (view.strides[1] == 0) return MemoryFormat::kContiguous;
  int64_t least = 0;
  for (int64_t k : ChannelsLastOrder(view.dim())) {
    size_t d = static_cast<size_t>(k);
    if (view.sizes[d] == 0 || view.strides[d] < least) return MemoryFormat::kContiguous;
    if (d == 0 && least == view.strides[1]) return MemoryFormat::kContiguous;
    least = view.strides[d] * std::max<int64_t>(view.sizes[d], 1);
  }
  return view.dim() == 4 ? MemoryFormat::kChannelsLast : MemoryFormat::kChannelsLast3d;
}

Result<int64_t> CheckedNumel(std::span<const int64_t> sizes) {
  int64_t n = 1;
  bool overflow = false, empty = false;
  for (int64_t s : sizes) {
    if (s < 0) return BadInput(fmt::format("negative size in {}", ToString(sizes)));
    if (s == 0) empty = true;
    if (!empty && __builtin_mul_overflow(n, s, &n)) overflow = true;
  }
  if (empty) return 0;
  if (overflow)
    return BadInput(fmt::format("sizes {} have more than 2^63 elements", ToString(sizes)));
  return n;
}

Result<int64_t> RequiredBytes(const View& view) {
  PAL_TRY(int64_t n, CheckedNumel(view.sizes));
  if (view.offset < 0) return BadInput(fmt::format("negative offset in {}", ToString(view)));
  if (n == 0) return 0;
  int64_t last = view.offset;
  for (size_t i = 0; i < view.dim(); ++i) {
    int64_t step;
    if (view.strides[i] < 0) return BadInput(fmt::format("negative stride in {}", ToString(view)));
    if (__builtin_mul_overflow(view.sizes[i] - 1, view.strides[i], &step) ||
        __builtin_add_overflow(last, step, &last)) {
      return BadInput(fmt::format("{} reaches beyond 2^63 elements", ToString(view)));
    }
  }
  int64_t bytes;
  if (__builtin_add_overflow(last, 1, &last) ||
      __builtin_mul_overflow(last, view.item_size(), &bytes)) {
    return BadInput(fmt::format("{} reaches beyond 2^63 bytes", ToString(view)));
  }
  return bytes;
}

Result<Tensor> EmptyTensor(const View& view) {
  PAL_TRY(int64_t bytes, RequiredBytes(view));
  PAL_TRY(StorageRef storage, AllocateStorage(bytes));
  return Tensor(view, std::move(storage));
}

Result<Tensor> EmptyTensor(DType dtype, std::span<const int64_t> sizes) {
  return EmptyTensor(ContiguousView(dtype, sizes));
}

Tensor ShapeOnlyTensor(const View& view) {
  Result<int64_t> bytes = RequiredBytes(view);
  PAL_CHECK(bytes.ok(), "{}", bytes.error().message);
  return Tensor(view, ShapeOnlyStorage(*bytes));
}

std::string ToString(std::span<const int64_t> dims) {
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

std::string ToString(const View& view) {
  return fmt::format("{}{}{}", DTypeName(view.dtype),
                     ToString(std::span<const int64_t>(view.sizes)),
                     ToString(std::span<const int64_t>(view.strides)));
}

}  // namespace palimpsest
