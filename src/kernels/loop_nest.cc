#include "kernels/loop_nest.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <utility>

#include "base/threads.h"
#include "kernels/loop_levels.h"
#include "kernels/stream_policy.h"

namespace palimpsest::kernels {
namespace {

constexpr int64_t kBuffer = 32 * 1024;  // bytes of an operand's tile
constexpr int64_t kTask = 256 * 1024;   // bytes of the result below which nothing is split
constexpr int64_t kParallelElements = 32 * 1024;

struct Dim {
  int64_t size;
  int64_t strides[kMaxNestOperands];  // bytes, by operand of the nest
};

// How a nest is walked: x, y, then the outer dims.
struct Walk {
  Dim x, y;
  SmallVector<Dim, 4> outer;
  int64_t outer_count = 1;
  int64_t tile_x = 0, tile_y = 0;
  bool streams = false;
  std::byte* bases[kMaxNestOperands];
};

using Dims2 = SmallVector<Dim, 6>;

bool IsDirectAlongX(const NestOperand& o, int64_t stride, bool is_result) {
  return o.cast == nullptr && (stride == o.item || (stride == 0 && !is_result));
}

// ---- Which dims are x and y.

// The dim in which the operand is adjacent, -1 if none.
int FastDim(const Dims2& dims, size_t operand, int64_t item) {
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].size > 1 && dims[d].strides[operand] == item) return static_cast<int>(d);
  }
  return -1;
}

void MoveToFront(Dims2& dims, size_t from, size_t to) {
  Dim dim = dims[from];
  for (size_t d = from; d > to; --d) dims[d] = dims[d - 1];
  dims[to] = dim;
}

// Puts x and y first. Returns whether operands disagree, so that both extents must be tiled.
bool ChooseDims(const LoopNest& nest, Dims2& dims) {
  if (dims.size() < 2) return false;
  int f = FastDim(dims, 0, nest.operands[0].from_item);
  if (f < 0) return false;
  int64_t votes_f = 0, votes_q = 0, best = 0;
  int q = -1;
  for (size_t k = 1; k < nest.count; ++k) {
    const NestOperand& o = nest.operands[k];
    if (o.walked < 0 || dims[static_cast<size_t>(f)].strides[k] == 0) continue;
    int fast = FastDim(dims, k, o.from_item);
    if (fast == f) ++votes_f;
    if (fast < 0 || fast == f) continue;
    if (q < 0 || o.from_item > best) {
      q = fast;
      best = o.from_item;
      votes_q = 1;
    } else if (q == fast) {
      ++votes_q;
    }
  }
  if (q < 0) {
    MoveToFront(dims, static_cast<size_t>(f), 0);
    return false;
  }
  MoveToFront(dims, static_cast<size_t>(std::max(f, q)), 0);
  MoveToFront(dims, static_cast<size_t>(std::min(f, q) + (f != q ? 1 : 0)), 0);
  bool x_is_q = dims[0].strides[0] != nest.operands[0].from_item;
  bool wants_q = votes_q > votes_f;
  if (x_is_q != wants_q) std::swap(dims[0], dims[1]);
  return true;
}

Walk PlanWalk(const LoopNest& nest, const Iteration& iteration, std::byte* const* bases) {
  Walk walk;
  Dims2 dims;
  for (size_t d = 0; d < iteration.dim(); ++d) {
    Dim dim{iteration.shape()[d], {}};
    for (size_t k = 0; k < nest.count; ++k) {
      int w = nest.operands[k].walked;
      dim.strides[k] = w < 0 ? 0 : iteration.byte_stride(d, static_cast<size_t>(w));
    }
    dims.push_back(dim);
  }
  for (size_t k = 0; k < nest.count; ++k) {
    int w = nest.operands[k].walked;
    walk.bases[k] =
        w < 0 ? const_cast<std::byte*>(nest.operands[k].number) : bases[static_cast<size_t>(w)];
  }
  bool tiled = !nest.in_order && ChooseDims(nest, dims);
  while (dims.size() < 2) dims.push_back(Dim{1, {}});
  walk.x = dims[0];
  walk.y = dims[1];
  for (size_t d = 2; d < dims.size(); ++d) {
    walk.outer.push_back(dims[d]);
    walk.outer_count *= dims[d].size;
  }

  int64_t item = 1;
  bool buffered = false;
  for (size_t k = 0; k < nest.count; ++k) {
    const NestOperand& o = nest.operands[k];
    item = std::max({item, o.item, o.from_item});
    buffered |= !IsDirectAlongX(o, walk.x.strides[k], k == 0);
  }
  const NestOperand& out = nest.operands[0];
  int64_t out_bytes = iteration.numel() * out.from_item;
  bool adjacent = walk.x.strides[0] == out.from_item || walk.y.strides[0] == out.from_item;
  walk.streams = !nest.in_order && adjacent && out_bytes >= StreamFrom();
  if (nest.in_order) {
    walk.tile_x = walk.tile_y = 1;
  } else if (tiled) {
    bool gathers = walk.x.strides[0] == out.from_item;
    walk.tile_x = std::min(walk.x.size, (gathers ? 256 : 512) / item);
    walk.tile_y = std::min(walk.y.size, kBuffer / item / walk.tile_x);
  } else if (buffered || walk.streams) {
    walk.tile_x = std::min(walk.x.size, kBuffer / 4 / item);
    walk.tile_y = std::min(walk.y.size, kBuffer / item / walk.tile_x);
  } else {
    walk.tile_x = std::min(walk.x.size, kTask / item);
    walk.tile_y = std::min(walk.y.size, std::max<int64_t>(1, kTask / item / walk.tile_x));
  }
  return walk;
}

// ---- One tile.

class TileRunner {
 public:
  TileRunner(const LoopNest& nest, const Walk& walk) : nest_(nest), walk_(walk) {
    context_.params = nest.params;
    context_.failed = &failed_;
    for (size_t k = 0; k < nest.count; ++k) {
      direct_[k] = IsDirectAlongX(nest.operands[k], walk.x.strides[k], k == 0);
    }
    if (walk.streams) direct_[0] = false;
  }
  bool failed() const { return failed_; }

  // The tile of nx times ny elements whose first elements are at p.
  void Run(std::byte* const* p, int64_t nx, int64_t ny) {
    std::byte* at[kMaxNestOperands];
    int64_t x_stride[kMaxNestOperands], y_stride[kMaxNestOperands];
    bool one_row = true;  // may the kernel take the tile as one row?
    for (size_t k = 0; k < nest_.count; ++k) {
      x_stride[k] = walk_.x.strides[k];
      y_stride[k] = walk_.y.strides[k];
      at[k] = p[k];
      if (!direct_[k]) Buffer(k, nx, ny, at, x_stride, y_stride);
      one_row &= y_stride[k] == nx * x_stride[k];
    }
    if (one_row || ny == 1) {
      nest_.row(at, x_stride, nx * ny, context_);
    } else {
      for (int64_t j = 0; j < ny; ++j) {
        nest_.row(at, x_stride, nx, context_);
        for (size_t k = 0; k < nest_.count; ++k) at[k] += y_stride[k];
      }
    }
    if (!direct_[0]) PutResult(p[0], nx, ny);
  }

 private:
  // Fills the operand's buffer (not the result's) and lets the kernel use it.
  void Buffer(size_t k, int64_t nx, int64_t ny, std::byte** at, int64_t* x_stride,
              int64_t* y_stride) {
    const NestOperand& o = nest_.operands[k];
    int64_t sx = x_stride[k], sy = y_stride[k];
    const std::byte* from = at[k];
    at[k] = buffers_[k];
    x_stride[k] = k > 0 && sx == 0 ? 0 : o.item;
    int64_t columns = x_stride[k] == 0 ? 1 : nx;
    int64_t rows = k > 0 && sy == 0 ? 1 : ny;
    y_stride[k] = rows == 1 && ny > 1 ? 0 : columns * o.item;
    if (k == 0) return;
    if (rows > 1 && columns > 1 && sy == o.from_item) {
      std::byte* to = o.cast == nullptr ? buffers_[k] : middle_;
      TransposeOf(o.from_item)(to, columns * o.from_item, from, sx, columns, rows);
      if (o.cast != nullptr) Convert(o, buffers_[k], o.item, middle_, o.from_item, rows * columns);
      return;
    }
    CastFn gather = o.cast == nullptr ? FindCast(o.dtype, o.dtype) : nullptr;
    for (int64_t j = 0; j < rows; ++j) {
      std::byte* to = buffers_[k] + j * columns * o.item;
      if (gather != nullptr) {
        gather(to, o.item, from + j * sy, sx, columns);
      } else {
        Convert(o, to, o.item, from + j * sy, sx, columns);
      }
    }
  }

  // A converted operand; the result in the other direction.
  void Convert(const NestOperand& o, std::byte* to, int64_t to_stride, const std::byte* from,
               int64_t from_stride, int64_t n) {
    if (o.through == nullptr) return o.cast(to, to_stride, from, from_stride, n);
    constexpr int64_t kHalf = 2;  // bytes of a 16-bit float
    o.through(through_, kHalf, from, from_stride, n);
    o.cast(to, to_stride, through_, kHalf, n);
  }

  void PutResult(std::byte* to, int64_t nx, int64_t ny) {
    const NestOperand& o = nest_.operands[0];
    int64_t sx = walk_.x.strides[0], sy = walk_.y.strides[0];
    std::byte* tile = buffers_[0];
    bool transposed = ny > 1 && nx > 1 && sx != o.from_item && sy == o.from_item;
    if (o.cast != nullptr) {
      if (!transposed && !walk_.streams) {
        for (int64_t j = 0; j < ny; ++j) {
          Convert(o, to + j * sy, sx, tile + j * nx * o.item, o.item, nx);
        }
        return;
      }
      Convert(o, middle_, o.from_item, tile, o.item, nx * ny);
      tile = middle_;
    }
    if (transposed) {
      std::byte* turned = tile == middle_ ? buffers_[0] : middle_;
      if (!walk_.streams) {
        TransposeOf(o.from_item)(to, sx, tile, nx * o.from_item, ny, nx);
        return;
      }
      TransposeOf(o.from_item)(turned, ny * o.from_item, tile, nx * o.from_item, ny, nx);
      for (int64_t i = 0; i < nx; ++i) {
        Moves().stream(to + i * sx, turned + i * ny * o.from_item, ny * o.from_item);
      }
      return;
    }
    CastFn scatter = FindCast(o.dtype, o.dtype);
    for (int64_t j = 0; j < ny; ++j) {
      const std::byte* row = tile + j * nx * o.from_item;
      if (sx == o.from_item) {
        Moves().stream(to + j * sy, row, nx * o.from_item);
      } else {
        scatter(to + j * sy, sx, row, o.from_item, nx);
      }
    }
  }

  static TransposeFn TransposeOf(int64_t item) {
    return Moves().transpose[std::countr_zero(static_cast<uint64_t>(item))];
  }

  const LoopNest& nest_;
  const Walk& walk_;
  LoopContext context_;
  bool failed_ = false;
  bool direct_[kMaxNestOperands];
  alignas(64) std::byte buffers_[kMaxNestOperands][kBuffer];
  alignas(64) std::byte middle_[kBuffer];
  alignas(64) std::byte through_[kBuffer];
};

// ---- All tiles.

bool RunTiles(const LoopNest& nest, const Walk& walk, int64_t begin, int64_t end, int64_t tiles_x,
              int64_t tiles_y) {
  TileRunner runner(nest, walk);
  for (int64_t t = begin; t < end; ++t) {
    int64_t tx = t % tiles_x, rest = t / tiles_x;
    int64_t ty = rest % tiles_y, outer = rest / tiles_y;
    int64_t x = tx * walk.tile_x, y = ty * walk.tile_y;
    std::byte* p[kMaxNestOperands];
    for (size_t k = 0; k < nest.count; ++k) {
      p[k] = walk.bases[k] + x * walk.x.strides[k] + y * walk.y.strides[k];
    }
    for (const Dim& dim : walk.outer) {
      int64_t i = outer % dim.size;
      outer /= dim.size;
      for (size_t k = 0; k < nest.count; ++k) p[k] += i * dim.strides[k];
    }
    runner.Run(p, std::min(walk.tile_x, walk.x.size - x), std::min(walk.tile_y, walk.y.size - y));
  }
  if (walk.streams) Moves().fence();
  return !runner.failed();
}

}  // namespace

bool RunNest(LoopNest& nest, const Iteration& iteration, std::byte* const* bases) {
  if (iteration.numel() == 0) return true;
  Walk walk = PlanWalk(nest, iteration, bases);
  int64_t tiles_x = (walk.x.size + walk.tile_x - 1) / walk.tile_x;
  int64_t tiles_y = (walk.y.size + walk.tile_y - 1) / walk.tile_y;
  int64_t tiles = tiles_x * tiles_y * walk.outer_count;
  if (tiles == 1 || nest.in_order || iteration.numel() < kParallelElements) {
    return RunTiles(nest, walk, 0, tiles, tiles_x, tiles_y);
  }
  // Tasks of neighbouring tiles, each about kTask bytes of the result.
  int64_t tile_bytes = walk.tile_x * walk.tile_y * nest.operands[0].from_item;
  int64_t per_task = std::max<int64_t>(1, kTask / tile_bytes);
  int64_t tasks = (tiles + per_task - 1) / per_task;
  std::atomic<bool> good{true};
  ParallelFor(tasks, [&](int64_t task) {
    int64_t begin = task * per_task, end = std::min(tiles, begin + per_task);
    if (!RunTiles(nest, walk, begin, end, tiles_x, tiles_y)) {
      good.store(false, std::memory_order_relaxed);
    }
  });
  return good.load();
}

}  // namespace palimpsest::kernels
