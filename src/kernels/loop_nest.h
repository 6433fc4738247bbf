// Runs a row kernel over a nest of loops: any strides, any types, tiles, threads.
//
// Note [Tiles]
// The nest is walked in tiles of two of its dims, x (inner) and y. An operand is *direct* in a tile
// if the row kernel can use its memory: right type, and along x adjacent or all the same element.
// Any other operand goes through a buffer of the tile: gathered (transposed if it is adjacent along
// y, strided otherwise) and converted before the kernel runs; results are converted and put into
// place after it. All of this happens in the first-level cache.
//
// Which dims x and y are: x is the one that the output is adjacent in, y another one that an input
// is adjacent in ("contiguous + transposed"). If more inputs are adjacent in y than in x, the two
// change places: then the result is transposed once, instead of every input ("both transposed").
// If all operands agree, y is just the next dim, and tiles are whole rows.
//
// Results that are much larger than the cache bypass it, where that is faster on this machine
// (stream_policy.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/copy_cast.h"
#include "kernels/loop_table.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {

inline constexpr size_t kMaxNestOperands = 4;
inline constexpr size_t kLargestItem = 16;

// One operand of the row kernel; operand 0 is the result.
struct NestOperand {
  int walked = -1;            // which operand of the iteration it is; -1: the number below
  int64_t item = 0;           // bytes in the kernel's type
  int64_t from_item = 0;      // bytes in memory
  DType dtype = DType::kF32;  // in memory
  CastFn cast = nullptr;      // from memory to the kernel's type (result: the other way)
  // Where the common type is a 16-bit float and the operand's type another: through the common
  // type, because that is where PyTorch rounds.
  CastFn through = nullptr;
  alignas(kLargestItem) std::byte number[kLargestItem];
};

struct LoopNest {
  RowFn row = nullptr;
  const void* params = nullptr;
  size_t count = 0;
  NestOperand operands[kMaxNestOperands];
  // Some input meets the result other than element on element: elements are done one by one, in
  // the order of the walk.
  bool in_order = false;
};

// bases: first elements, by operand of the iteration. False: a kernel failed (division by zero).
bool RunNest(LoopNest& nest, const Iteration& iteration, std::byte* const* bases);

}  // namespace palimpsest::kernels
