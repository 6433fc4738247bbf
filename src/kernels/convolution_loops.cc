// Convolutions of f64 and integers: plain loops over contiguous operands, seen with three spatial
// dims.
#include <type_traits>

#include "kernels/convolution_run.h"

namespace palimpsest::kernels {
namespace {

struct Space {
  int64_t depth = 1, height = 1, width = 1;
  int64_t count() const { return depth * height * width; }
};

// The last dims of `sizes`, from dim `first`; missing ones are `otherwise`.
Space SpaceOf(const Dims& sizes, size_t first, int64_t otherwise) {
  size_t n = sizes.size() - first;
  Space s{otherwise, otherwise, otherwise};
  s.width = sizes[sizes.size() - 1];
  if (n > 1) s.height = sizes[sizes.size() - 2];
  if (n > 2) s.depth = sizes[sizes.size() - 3];
  return s;
}

// A convolution moves along `from` (input) and `to` (result); a transposed one along `from` too,
// but spreads instead of gathering.
struct Geometry {
  int64_t samples, groups, from_channels, to_channels;  // channels per group
  Space from, to, kernel, stride, padding, dilation;
};

Geometry GeometryOf(const Convolution& c) {
  Geometry g{};
  g.samples = c.input.sizes[0];
  g.groups = c.shape.groups;
  g.from_channels = c.input.sizes[1] / g.groups;
  g.to_channels = c.result.sizes[1] / g.groups;
  g.from = SpaceOf(c.input.sizes, 2, 1);
  g.to = SpaceOf(c.result.sizes, 2, 1);
  g.kernel = SpaceOf(c.weight.sizes, 2, 1);
  g.stride = SpaceOf(c.shape.stride, 0, 1);
  g.padding = SpaceOf(c.shape.padding, 0, 0);
  g.dilation = SpaceOf(c.shape.dilation, 0, 1);
  return g;
}

// For every pair (position in the strided space, position in the full space) that a kernel element
// joins: visit(strided, full, kernel), linear positions. In a convolution the result is the strided
// space and the input the full one; in a transposed one the other way round.
template <typename Visit>
void ForEachPair(const Geometry& g, const Space& strided, const Space& full, Visit visit) {
  for (int64_t k = 0; k < g.kernel.count(); ++k) {
    int64_t kx = k % g.kernel.width, ky = k / g.kernel.width % g.kernel.height;
    int64_t kz = k / g.kernel.width / g.kernel.height;
    for (int64_t z = 0; z < strided.depth; ++z) {
      int64_t fz = z * g.stride.depth - g.padding.depth + kz * g.dilation.depth;
      if (fz < 0 || fz >= full.depth) continue;
      for (int64_t y = 0; y < strided.height; ++y) {
        int64_t fy = y * g.stride.height - g.padding.height + ky * g.dilation.height;
        if (fy < 0 || fy >= full.height) continue;
        for (int64_t x = 0; x < strided.width; ++x) {
          int64_t fx = x * g.stride.width - g.padding.width + kx * g.dilation.width;
          if (fx < 0 || fx >= full.width) continue;
          visit((z * strided.height + y) * strided.width + x,
                (fz * full.height + fy) * full.width + fx, k);
        }
      }
    }
  }
}

template <typename T>
using SumType = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;

// One output channel from one input channel.
template <typename T>
void AddPlane(const Geometry& g, bool transposed, const T* from, const T* weight, T* to) {
  using S = SumType<T>;
  auto add = [&](T& target, T x, T w) {
    target = static_cast<T>(static_cast<S>(target) + static_cast<S>(x) * static_cast<S>(w));
  };
  if (transposed) {
    ForEachPair(g, g.from, g.to, [&](int64_t strided, int64_t full, int64_t k) {
      add(to[full], from[strided], weight[k]);
    });
  } else {
    ForEachPair(g, g.to, g.from, [&](int64_t strided, int64_t full, int64_t k) {
      add(to[strided], from[full], weight[k]);
    });
  }
}

template <typename T>
void Convolve(const Convolution& c) {
  Geometry g = GeometryOf(c);
  const T* input = c.input.data_as<T>();
  const T* weight = c.weight.data_as<T>();
  T* result = c.result.data_as<T>();
  int64_t planes = g.samples * g.groups * g.to_channels;
  for (int64_t plane = 0; plane < planes; ++plane) {
    int64_t o = plane % g.to_channels, group = plane / g.to_channels % g.groups;
    int64_t sample = plane / g.to_channels / g.groups;
    T* to = result + plane * g.to.count();
    T start = c.bias == nullptr ? T{} : c.bias->data_as<T>()[group * g.to_channels + o];
    for (int64_t i = 0; i < g.to.count(); ++i) to[i] = start;
    for (int64_t i = 0; i < g.from_channels; ++i) {
      int64_t from_plane = (sample * g.groups + group) * g.from_channels + i;
      int64_t row = c.shape.transposed ? (group * g.from_channels + i) * g.to_channels + o
                                       : (group * g.to_channels + o) * g.from_channels + i;
      AddPlane(g, c.shape.transposed, input + from_plane * g.from.count(),
               weight + row * g.kernel.count(), to);
    }
  }
}

}  // namespace

Status ConvolveByLoops(const Convolution& c) {
  switch (c.result.dtype) {
    case DType::kF32:
      Convolve<float>(c);
      return {};
    case DType::kF64:
      Convolve<double>(c);
      return {};
    case DType::kI64:
      Convolve<int64_t>(c);
      return {};
    default:
      return InternalError("convolutions are computed in another type");
  }
}

}  // namespace palimpsest::kernels
