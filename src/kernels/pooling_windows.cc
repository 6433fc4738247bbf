#include "kernels/pooling_windows.h"

#include <algorithm>
#include <limits>

namespace palimpsest::kernels {
namespace {

struct Box {
  const Window& z;
  const Window& y;
  const Window& x;
};

// visit(box, place) for every place of a plane of the result, row-major.
template <typename Visit>
void ForEachBox(const Windows& w, Visit visit) {
  int64_t place = 0;
  for (const Window& z : w.dims[0]) {
    for (const Window& y : w.dims[1]) {
      for (const Window& x : w.dims[2]) visit(Box{z, y, x}, place++);
    }
  }
}

int64_t PlacesOf(const Windows& w) {
  return static_cast<int64_t>(w.dims[0].size() * w.dims[1].size() * w.dims[2].size());
}

// The first of the largest elements; a nan is larger than all.
template <typename T>
int64_t LargestIn(const Windows& w, const T* plane, const Box& box) {
  int64_t best = -1;
  for (int64_t z = box.z.begin; z < box.z.end; z += box.z.step) {
    for (int64_t y = box.y.begin; y < box.y.end; y += box.y.step) {
      const int64_t row = (z * w.sizes[1] + y) * w.sizes[2];
      for (int64_t x = box.x.begin; x < box.x.end; x += box.x.step) {
        T value = plane[row + x];
        if (best < 0 || value > plane[best] || value != value) best = row + x;
      }
    }
  }
  return best;
}

template <typename T>
void PoolLargestOf(const Windows& w, const Tensor& input, const Tensor& output,
                   const Tensor& indices) {
  int64_t places = PlacesOf(w);
  for (int64_t p = 0; p < w.planes; ++p) {
    const T* plane = input.data_as<T>() + p * w.plane_size();
    T* to = output.data_as<T>() + p * places;
    int64_t* index = indices.defined() ? indices.data_as<int64_t>() + p * places : nullptr;
    ForEachBox(w, [&](const Box& box, int64_t place) {
      int64_t best = LargestIn(w, plane, box);
      to[place] = best < 0 ? std::numeric_limits<T>::lowest() : plane[best];
      if (index != nullptr) index[place] = std::max<int64_t>(best, 0);
    });
  }
}

template <typename T>
T SumOf(const Windows& w, const T* plane, const Box& box) {
  T sum = 0;
  for (int64_t z = box.z.begin; z < box.z.end; ++z) {
    for (int64_t y = box.y.begin; y < box.y.end; ++y) {
      const T* row = plane + (z * w.sizes[1] + y) * w.sizes[2];
      for (int64_t x = box.x.begin; x < box.x.end; ++x) sum += row[x];
    }
  }
  return sum;
}

int64_t Length(const Window& w) { return std::max<int64_t>(w.end - w.begin, 0); }

template <typename T>
void PoolMeansOf(const Windows& w, const MeanRule& rule, const Tensor& input,
                 const Tensor& output) {
  int64_t places = PlacesOf(w);
  for (int64_t p = 0; p < w.planes; ++p) {
    const T* plane = input.data_as<T>() + p * w.plane_size();
    T* to = output.data_as<T>() + p * places;
    ForEachBox(w, [&](const Box& box, int64_t place) {
      int64_t count = Length(box.z) * Length(box.y) * Length(box.x);
      if (rule.count_padding) count = box.z.padded * box.y.padded * box.x.padded;
      if (rule.divisor != 0) count = rule.divisor;
      T sum = SumOf(w, plane, box);
      to[place] = count == 0 ? T(0) : sum / static_cast<T>(count);
    });
  }
}

}  // namespace

std::vector<Window> FixedWindows(int64_t input, int64_t output, const WindowRule& rule) {
  std::vector<Window> windows;
  windows.reserve(static_cast<size_t>(output));
  for (int64_t i = 0; i < output; ++i) {
    int64_t begin = i * rule.stride - rule.padding;
    int64_t reach = (rule.kernel - 1) * rule.dilation + 1;
    int64_t end = std::min(begin + reach, input + rule.padding);
    int64_t padded = end - begin;
    if (begin < 0) begin += (-begin + rule.dilation - 1) / rule.dilation * rule.dilation;
    windows.push_back({begin, std::min(end, input), rule.dilation, padded});
  }
  return windows;
}

std::vector<Window> AdaptiveWindows(int64_t input, int64_t output) {
  std::vector<Window> windows;
  windows.reserve(static_cast<size_t>(output));
  for (int64_t i = 0; i < output; ++i) {
    // From floor(i * input / output) to ceil((i + 1) * input / output).
    int64_t begin = i * input / output;
    int64_t end = 1 + ((i + 1) * input - 1) / output;
    windows.push_back({begin, end, 1, end - begin});
  }
  return windows;
}

void PoolLargest(const Windows& windows, const Tensor& input, const Tensor& output,
                 const Tensor& indices) {
  switch (input.dtype) {
    case DType::kF64:
      return PoolLargestOf<double>(windows, input, output, indices);
    case DType::kI64:
      return PoolLargestOf<int64_t>(windows, input, output, indices);
    default:
      return PoolLargestOf<float>(windows, input, output, indices);
  }
}

void PoolMeans(const Windows& windows, const MeanRule& rule, const Tensor& input,
               const Tensor& output) {
  switch (input.dtype) {
    case DType::kF64:
      return PoolMeansOf<double>(windows, rule, input, output);
    case DType::kI64:
      return PoolMeansOf<int64_t>(windows, rule, input, output);
    default:
      return PoolMeansOf<float>(windows, rule, input, output);
  }
}

}  // namespace palimpsest::kernels
