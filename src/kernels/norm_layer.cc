// layer_norm and rms_norm: over the last dims, as one row each.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/norm.h"
#include "kernels/norm_moments.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

// The input as [rows, cols].
struct RowShape {
  int64_t rows = 1, cols = 1;
  Dims moment_sizes;  // sizes of the moments: 1 in normalized dims
};

RowShape ShapeOf(const Tensor& input, size_t normalized) {
  RowShape shape;
  size_t first = input.dim() - normalized;
  for (size_t d = 0; d < input.dim(); ++d) {
    (d < first ? shape.rows : shape.cols) *= input.sizes[d];
    shape.moment_sizes.push_back(d < first ? input.sizes[d] : 1);
  }
  return shape;
}

Status CheckShapes(const MetaCall& call, std::initializer_list<const Value*> parameters) {
  const Tensor& input = call.args[0].tensor();
  Dims normalized = call.args[1].ToDims();
  if (normalized.empty()) {
    return Refused("bad_argument", "Expected normalized_shape to be at least 1-dimensional");
  }
  bool fits = normalized.size() <= input.dim() &&
              std::equal(normalized.begin(), normalized.end(),
                         input.sizes.end() - static_cast<int64_t>(normalized.size()));
  if (!fits) {
    return Refused("size_mismatch",
                   fmt::format("{}: normalized_shape={} does not fit an input of "
                               "size {}",
                               call.op.schema.Key(), ToString(normalized), ToString(input.sizes)));
  }
  for (const Value* parameter : parameters) {
    if (!parameter->IsTensor() || parameter->tensor().sizes == normalized) continue;
    return Refused(
        "size_mismatch",
        fmt::format("{}: expected parameters of the shape {}, but got {}", call.op.schema.Key(),
                    ToString(normalized), ToString(parameter->tensor().sizes)));
  }
  return {};
}

const Value& Weight(std::span<const Value> args) { return args[2]; }

Status LayerNormMeta(MetaCall& call) {
  const Tensor& input = call.args[0].tensor();
  std::initializer_list<const Value*> parameters = {&Weight(call.args), &call.args[3]};
  PAL_TRY(CheckShapes(call, parameters));
  PAL_TRY(CheckNormTypes(call, input, parameters));
  call.results.push_back(ResultSpec::Fresh(input.dtype, input.sizes));
  if (call.op.schema.returns.size() == 1) return {};
  RowShape shape = ShapeOf(input, call.args[1].list().size());
  for (int i = 0; i < 2; ++i) {
    call.results.push_back(ResultSpec::Fresh(MomentType(input, parameters), shape.moment_sizes));
  }
  return {};
}

template <typename T>
Status LayerNorm(KernelCall& call, DType type, const Tensor& input, const RowShape& shape) {
  PAL_TRY(Tensor x, Packed(input, type));
  PAL_TRY(NormParameter weight, NormParameter::Of(Weight(call.args), type));
  PAL_TRY(NormParameter bias, NormParameter::Of(call.args[3], type));
  PAL_TRY(PackedResult y, PackedResult::For(call.results[0], type));
  bool has_moments = call.results.size() > 1;
  Dims rows = {shape.rows};
  PAL_TRY(Tensor means, EmptyTensor(type, rows));
  PAL_TRY(Tensor scales, EmptyTensor(type, rows));
  double eps = call.args[4].ToDouble();
  for (int64_t row = 0; row < shape.rows; ++row) {
    const T* from = x.data_as<T>() + row * shape.cols;
    Moments moments = MomentsOf(from, shape.cols);
    double scale = 1 / std::sqrt(moments.variance + eps);
    Normalize<T>(
        {from, y.data<T>() + row * shape.cols, shape.cols, weight.data<T>(), bias.data<T>()},
        moments.mean, scale);
    means.data_as<T>()[row] = static_cast<T>(moments.mean);
    scales.data_as<T>()[row] = static_cast<T>(scale);
  }
  PAL_TRY(y.Store());
  if (!has_moments) return {};
  View view = ContiguousView(type, shape.moment_sizes);
  PAL_TRY(CopyTo(Tensor(view, means.storage), call.results[1]));
  return CopyTo(Tensor(view, scales.storage), call.results[2]);
}

Status LayerNormKernel(KernelCall& call) {
  const Tensor& input = call.args[0].tensor();
  RowShape shape = ShapeOf(input, call.args[1].list().size());
  DType type = ComputeType(input.dtype);
  return type == DType::kF64 ? LayerNorm<double>(call, type, input, shape)
                             : LayerNorm<float>(call, type, input, shape);
}

Status RmsNormMeta(MetaCall& call) {
  const Tensor& input = call.args[0].tensor();
  PAL_TRY(CheckShapes(call, {&Weight(call.args)}));
  PAL_TRY(CheckNormTypes(call, input, {}));
  PAL_TRY(View view, CopyLayout(input, SuggestedFormat(input)));
  call.results.push_back(ResultSpec::Fresh(view));
  if (call.op.schema.returns.size() == 1) return {};
  RowShape shape = ShapeOf(input, call.args[1].list().size());
  call.results.push_back(ResultSpec::Fresh(ComputeType(input.dtype), shape.moment_sizes));
  return {};
}

// The smallest step at 1, of the type that the mean is made in.
double DefaultEps(DType type) {
  return type == DType::kF64 ? std::numeric_limits<double>::epsilon()
                             : static_cast<double>(std::numeric_limits<float>::epsilon());
}

template <typename T>
Status RmsNorm(KernelCall& call, DType type, const Tensor& input, const RowShape& shape) {
  PAL_TRY(Tensor x, Packed(input, type));
  PAL_TRY(NormParameter weight, NormParameter::Of(Weight(call.args), type));
  PAL_TRY(PackedResult y, PackedResult::For(call.results[0], type));
  Dims rows = {shape.rows};
  PAL_TRY(Tensor scales, EmptyTensor(type, rows));
  double eps = call.args[3].IsNone() ? DefaultEps(type) : call.args[3].ToDouble();
  for (int64_t row = 0; row < shape.rows; ++row) {
    const T* from = x.data_as<T>() + row * shape.cols;
    double scale = 1 / std::sqrt(MeanSquare(from, shape.cols) + eps);
    Normalize<T>({from, y.data<T>() + row * shape.cols, shape.cols, weight.data<T>(), nullptr}, 0,
                 scale);
    scales.data_as<T>()[row] = static_cast<T>(scale);
  }
  PAL_TRY(y.Store());
  if (call.results.size() == 1) return {};
  return CopyTo(Tensor(ContiguousView(type, shape.moment_sizes), scales.storage), call.results[1]);
}

Status RmsNormKernel(KernelCall& call) {
  const Tensor& input = call.args[0].tensor();
  RowShape shape = ShapeOf(input, call.args[1].list().size());
  DType type = ComputeType(input.dtype);
  return type == DType::kF64 ? RmsNorm<double>(call, type, input, shape)
                             : RmsNorm<float>(call, type, input, shape);
}

}  // namespace

Status RegisterLayerNorms(op::OpTable& table) {
  return RegisterBuiltinRows(
      table,
      {{.schema = "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
                  "Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
        .meta = LayerNormMeta,
        .kernel = LayerNormKernel},
       {.schema = "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? "
                  "weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
        .meta = LayerNormMeta,
        .kernel = LayerNormKernel},
       {.schema = "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
                  "float? eps=None) -> Tensor",
        .meta = RmsNormMeta,
        .kernel = RmsNormKernel},
       {.schema = "aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, "
                  "float? eps) -> (Tensor, Tensor)",
        .meta = RmsNormMeta,
        .kernel = RmsNormKernel}});
}

Status RegisterNorms(op::OpTable& table) {
  PAL_TRY(RegisterLayerNorms(table));
  PAL_TRY(RegisterGroupNorms(table));
  return RegisterBatchNorms(table);
}

}  // namespace palimpsest::kernels
