// The engine of indexed reads and writes: one loop over the elements of a result, in which the
// address on the indexed side is its strided address plus a displacement read from an array.
//
//   x[:, i] of x: f32[4, 5] and i: i64[2]     source  sizes [4, 2], strides [5, 0]
//                                             places  sizes [4, 2], strides [0, 1]: i[k] * 4 bytes
//
// All indices are read and checked before the first element moves: a call that fails for an index
// has written nothing.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "op/op.h"
#include "palimpsest/tensor.h"

namespace palimpsest::kernels {

// Displacements in bytes, laid out by `view` (dtype i64) against the sizes of the walk.
struct Places {
  std::vector<int64_t> bytes;
  View view;
};

// The elements of an integer tensor, row by row; `sizes`: broadcast to these first.
Result<std::vector<int64_t>> ReadIntegers(const Tensor& t, const Dims& sizes);

enum class NegativeIndex : uint8_t { kWraps, kRefused };
// index[k] -> byte displacement along dim of `size` elements `stride` apart. Adds to `bytes`.
// Error kRuntime "index_out_of_range".
Status AddPlaces(std::span<const int64_t> index, int64_t size, int64_t stride_bytes,
                 NegativeIndex negative, int64_t dim, std::vector<int64_t>& bytes);

// Displacement in bytes of element number `place` of `view`, row by row.
int64_t OffsetOfLinear(const View& view, int64_t place);

// result[e] = source[e displaced]. Equal sizes.
Status ReadAt(const Tensor& source, const Places& places, const Tensor& result);

// target (p[0]) = combination of target and value (p[1]) for n elements; p[2] holds displacements.
using CombineRow = void (*)(std::byte* const* p, const int64_t* strides, int64_t n);
enum class Combine : uint8_t { kAssign, kAdd, kMultiply, kMax, kMin };
// nullptr where the type has no such combination (max of complex).
CombineRow FindCombine(Combine combine, DType dtype);
// target[e displaced] = combination, element by element in row-major order: the last one wins.
Status WriteAt(const Tensor& target, const Places& places, const Tensor& values, CombineRow row);

// i64 or i32; error "unsupported_dtype".
Status CheckIndexType(const op::Op& op, const Tensor& index, bool allow_i32);

}  // namespace palimpsest::kernels
