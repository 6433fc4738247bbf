// group_norm: a group of channels of one sample is one row.
#include <fmt/format.h>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/norm.h"
#include "kernels/norm_moments.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

struct GroupShape {
  int64_t samples = 0, channels = 0, spatial = 1, groups = 1;
};

struct GroupArgs {
  const Tensor& input;
  const Value& weight;
  const Value& bias;
  int64_t groups;
  double eps;
};

GroupArgs ArgsOf(const op::Op& op, std::span<const Value> args) {
  bool is_native = op.schema.returns.size() > 1;
  const Value& groups = Argument(op, args, is_native ? "group" : "num_groups");
  return {args[0].tensor(), Argument(op, args, "weight"), Argument(op, args, "bias"),
          groups.ToInt(), Argument(op, args, "eps").ToDouble()};
}

GroupShape ShapeOf(const GroupArgs& args) {
  GroupShape shape{args.input.sizes[0], args.input.sizes[1], 1, args.groups};
  for (size_t d = 2; d < args.input.dim(); ++d) shape.spatial *= args.input.sizes[d];
  return shape;
}

Status CheckGroups(const MetaCall& call, const GroupArgs& args) {
  const Dims& sizes = args.input.sizes;
  if (sizes.size() < 2) {
    return Refused("size_mismatch", "group_norm: expected at least 2 dimensions for input tensor");
  }
  if (args.groups <= 0 || sizes[1] % args.groups != 0) {
    return Refused("size_mismatch",
                   fmt::format("Expected number of channels in input to be divisible by "
                               "num_groups, but got input of shape {} and num_groups={}",
                               ToString(sizes), args.groups));
  }
  for (const Value* parameter : {&args.weight, &args.bias}) {
    if (!parameter->IsTensor()) continue;
    const Dims& own = parameter->tensor().sizes;
    if (own.size() == 1 && own[0] == sizes[1]) continue;
    return Refused("size_mismatch", fmt::format("{}: expected parameters with {} elements, but got "
                                                "{}",
                                                call.op.schema.Key(), sizes[1], ToString(own)));
  }
  return {};
}

// The native form says the sizes once more, and takes plain layouts only.
Status CheckNativeForm(const MetaCall& call, const GroupShape& shape, const Tensor& input) {
  if (call.args[3].ToInt() != shape.samples || call.args[4].ToInt() != shape.channels ||
      call.args[5].ToInt() != shape.spatial) {
    return Refused("size_mismatch", fmt::format("native_group_norm: N, C and HxW do not fit an "
                                                "input of size {}",
                                                ToString(input.sizes)));
  }
  if (!IsContiguous(input, SuggestedFormat(input))) {
    return Refused("bad_memory_format", "native_group_norm: expected a contiguous input");
  }
  return {};
}

Status GroupNormMeta(MetaCall& call) {
  GroupArgs args = ArgsOf(call.op, call.args);
  PAL_TRY(CheckGroups(call, args));
  PAL_TRY(CheckNormTypes(call, args.input, {&args.weight, &args.bias}));
  PAL_TRY(View view, CopyLayout(args.input, SuggestedFormat(args.input)));
  call.results.push_back(ResultSpec::Fresh(view));
  if (call.op.schema.returns.size() == 1) return {};
  GroupShape shape = ShapeOf(args);
  PAL_TRY(CheckNativeForm(call, shape, args.input));
  DType moments = MomentType(args.input, {&args.weight, &args.bias});
  Dims sizes = {shape.samples, shape.groups};
  call.results.push_back(ResultSpec::Fresh(moments, sizes));
  call.results.push_back(ResultSpec::Fresh(moments, sizes));
  return {};
}

template <typename T>
Status GroupNorm(KernelCall& call, DType type, const GroupArgs& args) {
  GroupShape shape = ShapeOf(args);
  PAL_TRY(Tensor x, Packed(args.input, type));
  PAL_TRY(NormParameter weight, NormParameter::Of(args.weight, type));
  PAL_TRY(NormParameter bias, NormParameter::Of(args.bias, type));
  PAL_TRY(PackedResult y, PackedResult::For(call.results[0], type));
  Dims moment_sizes = {shape.samples, shape.groups};
  PAL_TRY(Tensor means, EmptyTensor(type, moment_sizes));
  PAL_TRY(Tensor scales, EmptyTensor(type, moment_sizes));
  int64_t per_group = shape.channels / shape.groups;
  for (int64_t row = 0; row < shape.samples * shape.groups; ++row) {
    int64_t begin = row * per_group * shape.spatial;
    Moments moments = MomentsOf(x.data_as<T>() + begin, per_group * shape.spatial);
    double scale = 1 / std::sqrt(moments.variance + args.eps);
    means.data_as<T>()[row] = static_cast<T>(moments.mean);
    scales.data_as<T>()[row] = static_cast<T>(scale);
    for (int64_t c = 0; c < per_group; ++c) {
      int64_t channel = row % shape.groups * per_group + c;
      T w = weight.data<T>() == nullptr ? T(1) : weight.data<T>()[channel];
      T b = bias.data<T>() == nullptr ? T(0) : bias.data<T>()[channel];
      T factor = static_cast<T>(scale) * w;
      T mean = static_cast<T>(moments.mean);
      const T* from = x.data_as<T>() + begin + c * shape.spatial;
      T* to = y.data<T>() + begin + c * shape.spatial;
      for (int64_t i = 0; i < shape.spatial; ++i) to[i] = (from[i] - mean) * factor + b;
    }
  }
  PAL_TRY(y.Store());
  if (call.results.size() == 1) return {};
  PAL_TRY(CopyTo(means, call.results[1]));
  return CopyTo(scales, call.results[2]);
}

Status GroupNormKernel(KernelCall& call) {
  GroupArgs args = ArgsOf(call.op, call.args);
  DType type = ComputeType(args.input.dtype);
  return type == DType::kF64 ? GroupNorm<double>(call, type, args)
                             : GroupNorm<float>(call, type, args);
}

}  // namespace

Status RegisterGroupNorms(op::OpTable& table) {
  return RegisterBuiltinRows(
      table, {{.schema = "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, "
                         "Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor",
               .meta = GroupNormMeta,
               .kernel = GroupNormKernel},
              {.schema = "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, "
                         "SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, "
                         "Tensor, Tensor)",
               .meta = GroupNormMeta,
               .kernel = GroupNormKernel}});
}

}  // namespace palimpsest::kernels
