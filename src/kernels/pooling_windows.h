// The windows of a pooling operator, and its inner loops.
//
// A plane is one channel of one sample; one- and two-dim planes are seen with depth (and height) 1.
#pragma once

#include <cstdint>
#include <vector>

#include "palimpsest/tensor.h"

namespace palimpsest::kernels {

// Along one dim: elements begin, begin + step, ... before end.
struct Window {
  int64_t begin, end, step;
  int64_t padded;  // elements with padding: what a mean divides by where padding counts
};

struct Windows {
  std::vector<Window> dims[3];   // depth, height, width: one per place of the result
  int64_t sizes[3] = {1, 1, 1};  // of the input's planes
  int64_t planes = 0;

  int64_t plane_size() const { return sizes[0] * sizes[1] * sizes[2]; }
};

// Windows of fixed size along one dim.
struct WindowRule {
  int64_t kernel, stride, padding, dilation;
};
std::vector<Window> FixedWindows(int64_t input, int64_t output, const WindowRule& rule);
// Windows that split the input into `output` parts, which may overlap.
std::vector<Window> AdaptiveWindows(int64_t input, int64_t output);

// What a mean divides by.
struct MeanRule {
  bool count_padding = true;
  int64_t divisor = 0;  // 0: the number of elements
};

// `input` and `output`: contiguous f32, f64 or i64. `indices`: contiguous i64 with the place of the
// largest element in its plane, or not defined.
void PoolLargest(const Windows& windows, const Tensor& input, const Tensor& output,
                 const Tensor& indices);
void PoolMeans(const Windows& windows, const MeanRule& rule, const Tensor& input,
               const Tensor& output);

}  // namespace palimpsest::kernels
