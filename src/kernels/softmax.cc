// One slice at a time: largest element, sum of exponentials, division (or subtraction). Half types
// are computed in float and rounded once. Results are contiguous whatever the operand's strides.
#include "kernels/softmax.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/packed.h"
#include "kernels/reduce_dims.h"

namespace palimpsest::kernels {

template <typename T>
void SoftmaxRow(T* row, int64_t n, int64_t stride) {
  T largest = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < n; ++i) {
    T x = row[i * stride];
    if (x > largest || x != x) largest = x;
  }
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += row[i * stride] = std::exp(row[i * stride] - largest);
  T factor = T(1) / sum;
  for (int64_t i = 0; i < n; ++i) row[i * stride] *= factor;
}
template void SoftmaxRow(float*, int64_t, int64_t);
template void SoftmaxRow(double*, int64_t, int64_t);

namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

template <typename T>
void LogSoftmaxRow(T* row, int64_t n, int64_t stride) {
  T largest = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < n; ++i) {
    T x = row[i * stride];
    if (x > largest || x != x) largest = x;
  }
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(row[i * stride] - largest);
  T log_sum = static_cast<T>(std::log(sum));
  for (int64_t i = 0; i < n; ++i) row[i * stride] = row[i * stride] - largest - log_sum;
}

// As softmax, but a row of -inf only gives zeros.
template <typename T>
void SafeSoftmaxRow(T* row, int64_t n, int64_t stride) {
  bool all_masked = true;
  for (int64_t i = 0; i < n && all_masked; ++i) {
    all_masked = row[i * stride] == -std::numeric_limits<T>::infinity();
  }
  if (!all_masked) return SoftmaxRow(row, n, stride);
  for (int64_t i = 0; i < n; ++i) row[i * stride] = 0;
}

template <typename T>
using RowFn = void (*)(T*, int64_t, int64_t);
struct Rows {
  RowFn<float> f32;
  RowFn<double> f64;
};

template <typename T>
void ForEachSlice(const Tensor& tensor, size_t dim, RowFn<T> row) {
  int64_t n = tensor.dim() == 0 ? 1 : tensor.sizes[dim];
  int64_t inner = 1;
  for (size_t d = dim + 1; d < tensor.dim(); ++d) inner *= tensor.sizes[d];
  int64_t numel = tensor.numel();
  T* data = tensor.data_as<T>();
  for (int64_t begin = 0; begin < numel; begin += n * inner) {
    for (int64_t i = 0; i < inner; ++i) row(data + begin + i, n, inner);
  }
}

DType ResultType(const MetaCall& call) {
  return TypeAsked(call.op, call.args, call.args[0].tensor().dtype);
}

Status SoftmaxMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(WrapDim(call.args[1].ToInt(), self.dim()));
  bool has_dtype = call.op.schema.FindArg("dtype") >= 0;
  DType dtype = has_dtype ? ResultType(call) : self.dtype;
  if (!IsFloating(dtype) && self.numel() != 0) {
    return Refused("unsupported_dtype", fmt::format("{} is not implemented for {}",
                                                    call.op.schema.Key(), TorchName(dtype)));
  }
  if (!has_dtype && call.args[2].ToBool()) {
    return Refused("unsupported_dtype",
                   "softmax with half to float conversion is not supported on CPU");
  }
  call.results.push_back(ResultSpec::Fresh(dtype, self.sizes));
  return {};
}

Status SoftmaxKernel(const Rows& rows, KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& result = call.results[0];
  PAL_TRY(int64_t dim, WrapDim(call.args[1].ToInt(), self.dim()));
  DType type = ComputeType(result.dtype);
  PAL_TRY(PackedResult packed, PackedResult::For(result, type));
  PAL_TRY(CopyTo(self, packed.tensor()));
  if (type == DType::kF64) {
    ForEachSlice(packed.tensor(), static_cast<size_t>(dim), rows.f64);
  } else {
    ForEachSlice(packed.tensor(), static_cast<size_t>(dim), rows.f32);
  }
  return packed.Store();
}

}  // namespace

Status RegisterSoftmax(op::OpTable& table) {
  static const Rows softmax{SoftmaxRow<float>, SoftmaxRow<double>};
  static const Rows log_softmax{LogSoftmaxRow<float>, LogSoftmaxRow<double>};
  static const Rows safe_softmax{SafeSoftmaxRow<float>, SafeSoftmaxRow<double>};
  struct Form {
    const char* schema;
    const Rows& rows;
  };
  const Form forms[] = {
      {"aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", softmax},
      {"aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", softmax},
      {"aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", softmax},
      {"aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", log_softmax},
      {"aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
       log_softmax},
      {"aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", safe_softmax},
  };
  std::vector<BuiltinRow> rows;
  for (const Form& form : forms) {
    const Rows& used = form.rows;
    rows.push_back({.schema = form.schema,
                    .meta = SoftmaxMeta,
                    .kernel = [&used](KernelCall& call) { return SoftmaxKernel(used, call); }});
  }
  return RegisterBuiltinRows(table, std::move(rows));
}

}  // namespace palimpsest::kernels
