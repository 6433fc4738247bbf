// The three kernels. All compute in double precision and round once; a real transform is a complex
// one of which half is kept.
//
// Layout of a result: PyTorch's CPU build computes with the transformed dims innermost, and its
// result keeps that order: the other dims by falling stride, then the transformed ones by falling
// stride, then, for real transforms, the halved dim.
#include "kernels/fourier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/promotion.h"
#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/packed.h"
#include "kernels/reduce_dims.h"

namespace palimpsest::kernels {
namespace {

using Complex = std::complex<double>;
using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

enum class Form : uint8_t { kComplex, kFromReal, kToReal };

struct Transform {
  Form form;
  Dims dims;           // the halved one last
  bool inverse;        // the sign of the exponent
  bool keeps_all;      // kFromReal: both halves of the spectrum
  Dims signal;         // sizes of the transformed signal: those that count for the scale
  Dims sizes;          // of the result
  double scale = 1.0;  // by 1 / n, or 1 / sqrt(n)
};

Result<Transform> TransformOf(Form form, const op::Op& op, std::span<const Value> args) {
  const Tensor& self = args[0].tensor();
  bool is_complex = IsComplex(self.dtype);
  if (is_complex == (form == Form::kFromReal) || (!is_complex && !IsFloating(self.dtype)) ||
      ItemSize(self.dtype) < 4) {
    return Refused("unsupported_dtype", fmt::format("{} is not implemented for {}", op.schema.Key(),
                                                    TorchName(self.dtype)));
  }
  Transform t{form, {}, false, true, self.sizes, self.sizes};
  for (int64_t dim : args[1].ToDims()) {
    PAL_TRY(int64_t d, WrapDim(dim, self.dim()));
    if (std::find(t.dims.begin(), t.dims.end(), d) != t.dims.end()) {
      return Refused("dim_repeated", fmt::format("{}: dims must be unique", op.schema.Key()));
    }
    t.dims.push_back(d);
  }
  if (t.dims.empty()) return t;
  auto last = static_cast<size_t>(t.dims.back());
  if (form == Form::kComplex) t.inverse = !args[3].ToBool();
  if (form == Form::kFromReal) {
    t.keeps_all = !args[3].ToBool();
    if (!t.keeps_all) t.sizes[last] = self.sizes[last] / 2 + 1;
  }
  if (form == Form::kToReal) {
    t.inverse = true;
    t.signal[last] = t.sizes[last] = args[3].ToInt();
    if (t.sizes[last] >= 0 && self.sizes[last] < t.sizes[last] / 2 + 1) {
      return Refused("size_mismatch",
                     fmt::format("{}: {} values give no signal of length {}", op.schema.Key(),
                                 self.sizes[last], t.sizes[last]));
    }
  }
  double count = 1;
  for (int64_t d : t.dims) {
    int64_t size = t.signal[static_cast<size_t>(d)];
    if (size < 1) {
      return Refused("bad_argument",
                     fmt::format("{}: invalid number of data points ({})", op.schema.Key(), size));
    }
    count *= static_cast<double>(size);
  }
  int64_t normalization = args[2].ToInt();  // 0 none, 1 by the root, 2 by n
  if (normalization != 0) t.scale = normalization == 1 ? 1 / std::sqrt(count) : 1 / count;
  return t;
}

Dims StridesInOrder(const Dims& sizes, const std::vector<size_t>& order) {
  Dims strides(sizes.size(), 1);
  int64_t stride = 1;
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    strides[*d] = stride;
    stride *= std::max(sizes[*d], int64_t{1});
  }
  return strides;
}

Dims ResultStrides(const Transform& t, const View& self) {
  if (t.dims.empty()) return PreserveStrides(self);
  std::vector<size_t> order(self.dim());
  std::iota(order.begin(), order.end(), size_t{0});
  auto is_transformed = [&](size_t d) {
    return std::find(t.dims.begin(), t.dims.end(), static_cast<int64_t>(d)) != t.dims.end();
  };
  // Dims of equal strides (of size 1) stay as the partition leaves them: so they lie in PyTorch.
  auto rest = std::partition(order.begin(), order.end(), std::not_fn(is_transformed));
  std::copy(t.dims.begin(), t.dims.end(), rest);
  auto by_stride = [&](size_t a, size_t b) { return self.strides[a] > self.strides[b]; };
  std::sort(order.begin(), rest, by_stride);
  std::sort(rest, order.end() - (t.form == Form::kComplex ? 0 : 1), by_stride);
  return StridesInOrder(t.sizes, order);
}

DType ResultType(Form form, DType self) {
  if (form == Form::kFromReal) return ComplexType(self);
  return form == Form::kToReal ? RealType(self) : self;
}

Status TransformMeta(Form form, MetaCall& call) {
  PAL_TRY(Transform t, TransformOf(form, call.op, call.args));
  const Tensor& self = call.args[0].tensor();
  View view = ContiguousView(ResultType(form, self.dtype), t.sizes);
  view.strides = ResultStrides(t, self.view());
  call.results.push_back(ResultSpec::Fresh(view));
  return {};
}

// Every line along dim `d` of contiguous `data`.
void TransformLines(Complex* data, const Dims& sizes, size_t d, bool inverse) {
  int64_t length = sizes[d], inner = 1, outer = 1;
  for (size_t i = 0; i < d; ++i) outer *= sizes[i];
  for (size_t i = d + 1; i < sizes.size(); ++i) inner *= sizes[i];
  if (outer * inner == 0) return;
  FourierPlan plan(length, inverse);
  std::vector<Complex> line(static_cast<size_t>(length));
  for (int64_t i = 0; i < outer * inner; ++i) {
    Complex* first = data + i / inner * length * inner + i % inner;
    for (int64_t k = 0; k < length; ++k) line[static_cast<size_t>(k)] = first[k * inner];
    plan.Run(line);
    for (int64_t k = 0; k < length; ++k) first[k * inner] = line[static_cast<size_t>(k)];
  }
}

// The other half of dim `d`: element n - k is the conjugate of element k.
Result<Tensor> WithOtherHalf(const Tensor& half, size_t d, int64_t length) {
  Dims sizes = half.sizes;
  sizes[d] = length;
  PAL_TRY(Tensor whole, EmptyTensor(DType::kC128, sizes));
  int64_t inner = half.strides[d], outer = 1;
  for (size_t i = 0; i < d; ++i) outer *= sizes[i];
  const auto* from = half.data_as<Complex>();
  auto* to = whole.data_as<Complex>();
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t k = 0; k < length; ++k) {
      bool mirrored = k > length / 2;
      const Complex* row = from + (o * half.sizes[d] + (mirrored ? length - k : k)) * inner;
      for (int64_t i = 0; i < inner; ++i) *to++ = mirrored ? std::conj(row[i]) : row[i];
    }
  }
  return whole;
}

Status TransformKernel(Form form, KernelCall& call) {
  PAL_TRY(Transform t, TransformOf(form, call.op, call.args));
  const Tensor& self = call.args[0].tensor();
  const Tensor& result = call.results[0];
  if (result.numel() == 0) return {};
  PAL_TRY(Tensor data, EmptyTensor(DType::kC128, self.sizes));
  PAL_TRY(CopyTo(self, data));
  if (t.dims.empty()) return CopyTo(data, result);
  auto last = static_cast<size_t>(t.dims.back());
  for (int64_t d : t.dims) {
    bool halved = form == Form::kToReal && static_cast<size_t>(d) == last;
    if (halved) {
      PAL_TRY(data, WithOtherHalf(data, last, t.signal[last]));
    }
    TransformLines(data.data_as<Complex>(), data.sizes, static_cast<size_t>(d), t.inverse);
  }
  auto* values = data.data_as<Complex>();
  for (int64_t i = 0; t.scale != 1 && i < data.numel(); ++i) values[i] *= t.scale;
  Dims sizes = data.sizes;
  sizes[last] = t.sizes[last];
  Tensor kept = Rearranged(data, sizes, data.strides, 0);
  if (form != Form::kToReal) return CopyTo(kept, result);
  for (int64_t& stride : kept.strides) stride *= 2;  // real parts
  kept.dtype = DType::kF64;
  return CopyTo(kept, result);
}

BuiltinRow RowOf(const char* schema, Form form) {
  return {.schema = schema,
          .meta = [form](MetaCall& call) { return TransformMeta(form, call); },
          .kernel = [form](KernelCall& call) { return TransformKernel(form, call); }};
}

}  // namespace

Status RegisterFourierKernels(op::OpTable& table) {
  return RegisterBuiltinRows(
      table,
      {RowOf("aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor",
             Form::kComplex),
       RowOf("aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
             Form::kFromReal),
       RowOf("aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> "
             "Tensor",
             Form::kToReal)});
}

Status RegisterFourier(op::OpTable& table) {
  PAL_TRY(RegisterFourierKernels(table));
  return RegisterFourierForms(table);
}

}  // namespace palimpsest::kernels
