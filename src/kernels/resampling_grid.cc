#include "kernels/resampling_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/builtin_row.h"
#include "kernels/packed.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

enum : int64_t { kBilinear = 0, kNearest = 1 };               // interpolation_mode
enum : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };  // padding_mode

Status GridMeta(MetaCall& call) {
  const Tensor& input = call.args[0].tensor();
  const Tensor& grid = call.args[1].tensor();
  if (input.dim() != 4 || grid.dim() != 4 || grid.sizes[3] != 2 ||
      grid.sizes[0] != input.sizes[0] || input.sizes[2] == 0 || input.sizes[3] == 0) {
    return Refused("size_mismatch",
                   fmt::format("grid_sampler: an input of size {} with a grid of size {}",
                               ToString(input.sizes), ToString(grid.sizes)));
  }
  if (grid.dtype != input.dtype) {
    return Refused("dtype_mismatch", "grid_sampler: expected input and grid to have same dtype");
  }
  if (!IsFloating(input.dtype)) {
    return Refused("unsupported_dtype", "grid_sampler is implemented for floating point only");
  }
  int64_t mode = call.args[2].ToInt(), padding = call.args[3].ToInt();
  if (mode < 0 || mode > kNearest || padding < 0 || padding > kReflection) {
    return Unsupported("grid_sampler: bicubic interpolation, or an unknown mode");
  }
  Dims sizes = {input.sizes[0], input.sizes[1], grid.sizes[1], grid.sizes[2]};
  call.results.push_back(ResultSpec::Fresh(input.dtype, sizes));
  return {};
}

struct GridRule {
  int64_t mode, padding;
  bool align_corners;
};

// -1 .. 1 -> places of elements, moved into the image as the padding asks.
template <typename T>
T PlaceOf(const GridRule& rule, T x, int64_t size) {
  T n = static_cast<T>(size);
  T place = rule.align_corners ? (x + 1) / 2 * (n - 1) : ((x + 1) * n - 1) / 2;
  if (rule.padding == kReflection) {
    T low = rule.align_corners ? T(0) : T(-0.5);
    T span = rule.align_corners ? n - 1 : n;
    if (span <= 0) return 0;
    T away = std::fabs(place - low);
    T extra = std::fmod(away, span);
    bool even = static_cast<int64_t>(std::floor(away / span)) % 2 == 0;
    place = even ? extra + low : span - extra + low;
  }
  // A nan becomes 0 here.
  if (rule.padding != kZeros) place = std::min(n - 1, std::max(place, T(0)));
  return place;
}

template <typename T>
struct Image {
  const T* data;
  int64_t height, width;
  T At(T y, T x) const {
    bool inside = y >= 0 && y < static_cast<T>(height) && x >= 0 && x < static_cast<T>(width);
    return inside ? data[static_cast<int64_t>(y) * width + static_cast<int64_t>(x)] : T(0);
  }
};

template <typename T>
T SampleAt(const GridRule& rule, const Image<T>& image, T y, T x) {
  if (rule.mode == kNearest) return image.At(std::nearbyint(y), std::nearbyint(x));
  T top = std::floor(y), left = std::floor(x);
  T down = y - top, right = x - left;
  return image.At(top, left) * (1 - down) * (1 - right) +
         image.At(top, left + 1) * (1 - down) * right +
         image.At(top + 1, left) * down * (1 - right) + image.At(top + 1, left + 1) * down * right;
}

template <typename T>
Status Sample(KernelCall& call, const GridRule& rule, DType type) {
  PAL_TRY(Tensor input, Packed(call.args[0].tensor(), type));
  PAL_TRY(Tensor grid, Packed(call.args[1].tensor(), type));
  PAL_TRY(PackedResult result, PackedResult::For(call.results[0], type));
  int64_t channels = input.sizes[1], height = input.sizes[2], width = input.sizes[3];
  int64_t places = grid.sizes[1] * grid.sizes[2];
  for (int64_t sample = 0; sample < input.sizes[0]; ++sample) {
    const T* places_of_sample = grid.data_as<T>() + sample * places * 2;
    for (int64_t i = 0; i < places; ++i) {
      T x = PlaceOf(rule, places_of_sample[2 * i], width);
      T y = PlaceOf(rule, places_of_sample[2 * i + 1], height);
      for (int64_t c = 0; c < channels; ++c) {
        int64_t plane = sample * channels + c;
        Image<T> image{input.data_as<T>() + plane * height * width, height, width};
        result.data<T>()[plane * places + i] = SampleAt(rule, image, y, x);
      }
    }
  }
  return result.Store();
}

Status GridKernel(KernelCall& call) {
  GridRule rule{call.args[2].ToInt(), call.args[3].ToInt(), call.args[4].ToBool()};
  DType type = ComputeType(call.args[0].tensor().dtype);
  return type == DType::kF64 ? Sample<double>(call, rule, type) : Sample<float>(call, rule, type);
}

}  // namespace

Status RegisterGridSampler(op::OpTable& table) {
  const char* tail =
      "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
      "align_corners) -> Tensor";
  return RegisterBuiltinRows(
      table,
      {{.schema = std::string("aten::grid_sampler") + tail, .meta = GridMeta, .kernel = GridKernel},
       {.schema = std::string("aten::grid_sampler_2d") + tail,
        .meta = GridMeta,
        .kernel = GridKernel}});
}

}  // namespace palimpsest::kernels
