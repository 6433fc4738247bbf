// A result element is a weighted sum of two elements along each dim: dims are independent, so each
// has a list of taps, one per place of the result. Nearest neighbours have one tap of weight 1.
#include "kernels/resampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/packed.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

enum class Kind : uint8_t { kNearest, kNearestExact, kLinear };

struct ResamplingForm {
  const char* name;
  size_t dims;
  Kind kind;
};

// Elements `low` and `high` of a dim; the latter counts with `weight`, the former with the rest.
struct Tap {
  int64_t low, high;
  double weight;
};

struct ResamplingArgs {
  const Tensor& input;
  bool align_corners = false;
  Dims output;                 // per dim
  std::vector<double> scales;  // per dim; 0: the ratio of the sizes
};

bool IsVec(const op::Op& op) { return op.schema.overload == "vec"; }

Result<ResamplingArgs> ArgsOf(const ResamplingForm& form, const op::Op& op,
                              std::span<const Value> args) {
  ResamplingArgs a{args[0].tensor(), false, {}, {}};
  a.scales.resize(form.dims, 0.0);
  if (form.kind == Kind::kLinear) a.align_corners = args[2].ToBool();
  if (a.input.dim() != form.dims + 2) {
    return Refused("size_mismatch", fmt::format("{}: an input of size {}", op.schema.Key(),
                                                ToString(a.input.sizes)));
  }
  const Value& factors = args.back();
  if (!args[1].IsNone()) {
    a.output = args[1].ToDims();
    if (a.output.size() == 1) a.output.resize(form.dims, a.output[0]);
  } else if (IsVec(op) && factors.IsList() && factors.list().size() == form.dims) {
    for (size_t d = 0; d < form.dims; ++d) {
      double factor = factors.list()[d].ToDouble();
      double size = static_cast<double>(a.input.sizes[d + 2]) * factor;
      a.scales[d] = factor;
      a.output.push_back(size > 0 && size < 9e15 ? static_cast<int64_t>(size) : 0);
    }
  }
  if (!IsVec(op)) {
    for (size_t d = 0; d < form.dims; ++d) {
      const Value& scale = args[args.size() - form.dims + d];
      if (!scale.IsNone()) a.scales[d] = scale.ToDouble();
    }
  }
  bool fits = a.output.size() == form.dims;
  for (size_t d = 0; fits && d < form.dims; ++d) {
    fits = a.output[d] > 0 && a.input.sizes[d + 2] > 0;
  }
  if (!fits) {
    return Refused(
        "size_mismatch",
        fmt::format("{}: input and output sizes should be greater than 0", op.schema.Key()));
  }
  return a;
}

// How far the source moves per place of the result, in the type of the weights.
template <typename T>
T StepOf(const ResamplingForm& form, const ResamplingArgs& a, size_t d) {
  T input = static_cast<T>(a.input.sizes[d + 2]), output = static_cast<T>(a.output[d]);
  if (form.kind == Kind::kLinear && a.align_corners) {
    return a.output[d] > 1 ? (input - 1) / (output - 1) : T(0);
  }
  return a.scales[d] > 0 ? static_cast<T>(1.0 / a.scales[d]) : input / output;
}

template <typename T>
std::vector<Tap> TapsOf(const ResamplingForm& form, const ResamplingArgs& a, size_t d) {
  int64_t last = a.input.sizes[d + 2] - 1;
  T step = StepOf<T>(form, a, d);
  std::vector<Tap> taps;
  taps.reserve(static_cast<size_t>(a.output[d]));
  for (int64_t i = 0; i < a.output[d]; ++i) {
    T at = static_cast<T>(i);
    if (form.kind != Kind::kLinear) {
      T place = form.kind == Kind::kNearest ? at * step : (at + T(0.5)) * step;
      int64_t nearest = std::min(static_cast<int64_t>(std::floor(place)), last);
      taps.push_back({nearest, nearest, 0});
      continue;
    }
    T place = a.align_corners ? at * step : std::max((at + T(0.5)) * step - T(0.5), T(0));
    int64_t low = std::min(static_cast<int64_t>(place), last);
    T weight = std::clamp(place - static_cast<T>(low), T(0), T(1));
    taps.push_back({low, std::min(low + 1, last), static_cast<double>(weight)});
  }
  return taps;
}

Status ResamplingMeta(const ResamplingForm& form, MetaCall& call) {
  PAL_TRY(ResamplingArgs a, ArgsOf(form, call.op, call.args));
  bool small_integers = form.kind != Kind::kLinear && a.input.dtype == DType::kU8;
  if (!IsFloating(a.input.dtype) && !small_integers) {
    return Refused("unsupported_dtype",
                   fmt::format("{} is not implemented for {}", call.op.schema.Key(),
                               TorchName(a.input.dtype)));
  }
  Dims sizes = {a.input.sizes[0], a.input.sizes[1]};
  for (int64_t size : a.output) sizes.push_back(size);
  View view = ContiguousView(a.input.dtype, sizes);
  MemoryFormat format = SuggestedFormat(a.input);
  if (form.dims > 1 && format != MemoryFormat::kContiguous)
    view.strides = ChannelsLastStrides(sizes);
  call.results.push_back(ResultSpec::Fresh(view));
  return {};
}

// A plane of the result from a plane of the input, three dims each.
template <typename T>
struct Plane {
  const T* from;
  T* to;
  const int64_t* sizes;  // of the input
};
template <typename T>
void ResamplePlane(const Plane<T>& p, const std::vector<Tap> (&taps)[3]) {
  T* to = p.to;
  for (const Tap& z : taps[0]) {
    for (const Tap& y : taps[1]) {
      const T* rows[2][2] = {};
      for (int64_t i = 0; i < 4; ++i) {
        int64_t depth = i / 2 == 0 ? z.low : z.high, height = i % 2 == 0 ? y.low : y.high;
        rows[i / 2][i % 2] = p.from + (depth * p.sizes[1] + height) * p.sizes[2];
      }
      auto wz = static_cast<T>(z.weight), wy = static_cast<T>(y.weight);
      for (const Tap& x : taps[2]) {
        auto wx = static_cast<T>(x.weight);
        auto along = [&](const T* row) {
          return wx == 0 ? row[x.low] : (1 - wx) * row[x.low] + wx * row[x.high];
        };
        auto across = [&](const T* const(&pair)[2]) {
          return wy == 0 ? along(pair[0]) : (1 - wy) * along(pair[0]) + wy * along(pair[1]);
        };
        *to++ = wz == 0 ? across(rows[0]) : (1 - wz) * across(rows[0]) + wz * across(rows[1]);
      }
    }
  }
}

template <typename T>
Status Resample(const ResamplingForm& form, KernelCall& call, const ResamplingArgs& a, DType type) {
  PAL_TRY(Tensor input, Packed(a.input, type));
  PAL_TRY(PackedResult result, PackedResult::For(call.results[0], type));
  std::vector<Tap> taps[3] = {{{0, 0, 0}}, {{0, 0, 0}}, {{0, 0, 0}}};
  int64_t sizes[3] = {1, 1, 1};
  int64_t places = 1;
  for (size_t d = 0; d < form.dims; ++d) {
    size_t at = d + 3 - form.dims;
    taps[at] = TapsOf<T>(form, a, d);
    sizes[at] = a.input.sizes[d + 2];
    places *= a.output[d];
  }
  int64_t plane_size = sizes[0] * sizes[1] * sizes[2];
  for (int64_t p = 0; p < a.input.sizes[0] * a.input.sizes[1]; ++p) {
    ResamplePlane<T>({input.data_as<T>() + p * plane_size, result.data<T>() + p * places, sizes},
                     taps);
  }
  return result.Store();
}

Status ResamplingKernel(const ResamplingForm& form, KernelCall& call) {
  PAL_TRY(ResamplingArgs a, ArgsOf(form, call.op, call.args));
  bool is_double = a.input.dtype == DType::kF64;
  return is_double ? Resample<double>(form, call, a, DType::kF64)
                   : Resample<float>(form, call, a, DType::kF32);
}

const ResamplingForm kForms[] = {
    {"upsample_nearest1d", 1, Kind::kNearest},
    {"upsample_nearest2d", 2, Kind::kNearest},
    {"upsample_nearest3d", 3, Kind::kNearest},
    {"_upsample_nearest_exact1d", 1, Kind::kNearestExact},
    {"_upsample_nearest_exact2d", 2, Kind::kNearestExact},
    {"_upsample_nearest_exact3d", 3, Kind::kNearestExact},
    {"upsample_linear1d", 1, Kind::kLinear},
    {"upsample_bilinear2d", 2, Kind::kLinear},
    {"upsample_trilinear3d", 3, Kind::kLinear},
};

// The operator's own form takes sizes, the overload `vec` sizes or factors.
std::string SchemaOf(const ResamplingForm& form, bool vec) {
  const char* corners = form.kind == Kind::kLinear ? ", bool align_corners" : "";
  if (vec) {
    return fmt::format(
        "aten::{}.vec(Tensor input, SymInt[]? output_size{}, float[]? "
        "scale_factors) -> Tensor",
        form.name, corners);
  }
  const char* scales[] = {"float? scales=None", "float? scales_h=None, float? scales_w=None",
                          "float? scales_d=None, float? scales_h=None, float? scales_w=None"};
  return fmt::format("aten::{}(Tensor self, SymInt[{}] output_size{}, {}) -> Tensor", form.name,
                     form.dims, corners, scales[form.dims - 1]);
}

}  // namespace

Status RegisterResampling(op::OpTable& table) {
  std::vector<BuiltinRow> rows;
  for (const ResamplingForm& form : kForms) {
    for (bool vec : {false, true}) {
      rows.push_back(
          {.schema = SchemaOf(form, vec),
           .meta = [&form](MetaCall& call) { return ResamplingMeta(form, call); },
           .kernel = [&form](KernelCall& call) { return ResamplingKernel(form, call); }});
    }
  }
  return RegisterBuiltinRows(table, std::move(rows));
}

}  // namespace palimpsest::kernels
