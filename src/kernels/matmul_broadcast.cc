// matmul and linear: products whose leading dims broadcast.
//
// The result is always contiguous. A weight of two dims makes one product of all rows.
#include <fmt/format.h>

#include "kernels/builtin_row.h"
#include "kernels/matmul.h"
#include "kernels/matmul_product.h"
#include "kernels/packed.h"
#include "kernels/pointwise_row.h"
#include "kernels/reduce_dims.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

// The factors as matrices, the product's sizes as the operator gives them, and with a 1 where a
// vector was made a matrix.
struct Product {
  Tensor a, b;
  Dims sizes, matrix_sizes;
};

Error SizeMismatch(const MetaCall& call, const Tensor& a, const Tensor& b) {
  return Refused("matmul_size",
                 fmt::format("{}: shapes cannot be multiplied ({} and {})", call.op.schema.Key(),
                             ToString(a.sizes), ToString(b.sizes)));
}

// REQUIRES: both have at least one dim.
Result<Product> FindProduct(const Tensor& x, const Tensor& y) {
  Product p{x, y, {}, {}};
  if (x.dim() == 1) p.a = Rearranged(x, {1, x.sizes[0]}, {0, x.strides[0]}, x.offset);
  if (y.dim() == 1) p.b = Rearranged(y, {y.sizes[0], 1}, {y.strides[0], 0}, y.offset);
  size_t ra = p.a.dim(), rb = p.b.dim();
  Dims a_batch, b_batch;
  a_batch.assign(p.a.sizes.begin(), p.a.sizes.end() - 2);
  b_batch.assign(p.b.sizes.begin(), p.b.sizes.end() - 2);
  PAL_TRY(p.sizes, BroadcastShapes(a_batch, b_batch));
  p.matrix_sizes = p.sizes;
  p.matrix_sizes.push_back(p.a.sizes[ra - 2]);
  p.matrix_sizes.push_back(p.b.sizes[rb - 1]);
  if (x.dim() > 1) p.sizes.push_back(p.a.sizes[ra - 2]);
  if (y.dim() > 1) p.sizes.push_back(p.b.sizes[rb - 1]);
  return p;
}

Tensor Transposed(const Tensor& weight) {
  if (weight.dim() < 2) return weight;
  return Rearranged(weight, {weight.sizes[1], weight.sizes[0]},
                    {weight.strides[1], weight.strides[0]}, weight.offset);
}

Status CheckFactors(const MetaCall& call, const Tensor& a, const Tensor& b) {
  if (a.dim() == 0 || b.dim() == 0) {
    return Refused("matmul_size", fmt::format("{}: both arguments need to be at least 1D, but they "
                                              "are {}D and {}D",
                                              call.op.schema.Key(), a.dim(), b.dim()));
  }
  if (a.sizes.back() != b.sizes[b.dim() == 1 ? 0 : b.dim() - 2]) return SizeMismatch(call, a, b);
  if (a.dtype != b.dtype) {
    return Refused(
        "dtype_mismatch",
        fmt::format("{}: expected both factors to have the same dtype, but got {} and {}",
                    call.op.schema.Key(), TorchName(a.dtype), TorchName(b.dtype)));
  }
  if (a.dtype == DType::kB8) {
    return Refused("unsupported_dtype",
                   fmt::format("{} is not implemented for bool", call.op.schema.Key()));
  }
  return {};
}

Status MatmulMeta(MetaCall& call) {
  const Tensor& a = call.args[0].tensor();
  const Tensor& b = call.args[1].tensor();
  PAL_TRY(CheckFactors(call, a, b));
  PAL_TRY(Product p, FindProduct(a, b));
  call.results.push_back(ResultSpec::Fresh(a.dtype, p.sizes));
  return {};
}

// Adds `bias`, broadcast, in the type of the sums.
template <typename T>
void AddBias(const Tensor& bias, const Tensor& product) {
  int64_t n = product.numel();
  if (n == 0) return;
  Tensor wide = Expanded(bias, product.sizes);
  int64_t cols = product.dim() == 0 ? 1 : product.sizes.back();
  int64_t step = product.dim() == 0 ? 0 : wide.strides.back();
  for (int64_t row = 0; row < n / cols; ++row) {
    int64_t offset = 0, index = row;
    for (size_t d = product.dim() - (product.dim() > 0); d-- > 0;) {
      offset += index % product.sizes[d] * wide.strides[d];
      index /= product.sizes[d];
    }
    const T* from = wide.data_as<T>() + offset;
    T* to = product.data_as<T>() + row * cols;
    for (int64_t j = 0; j < cols; ++j) to[j] += from[j * step];
  }
}

Status AddBiasAs(const Tensor& bias_in, const Tensor& product) {
  PAL_TRY(Tensor bias, Packed(bias_in, product.dtype));
  switch (product.dtype) {
    case DType::kF32:
      AddBias<float>(bias, product);
      return {};
    case DType::kF64:
      AddBias<double>(bias, product);
      return {};
    case DType::kI64:
      AddBias<int64_t>(bias, product);
      return {};
    case DType::kC64:
      AddBias<std::complex<float>>(bias, product);
      return {};
    case DType::kC128:
      AddBias<std::complex<double>>(bias, product);
      return {};
    default:
      return InternalError("matrix products are computed in another type");
  }
}

Status Multiply(const Tensor& x, const Tensor& y, const Value& bias, const Tensor& out) {
  DType type = ComputeType(x.dtype);
  Tensor a = x, b = y;
  if (a.dtype != type) {
    PAL_TRY(a, Packed(x, type));
  }
  if (b.dtype != type) {
    PAL_TRY(b, Packed(y, type));
  }
  PAL_TRY(Product p, FindProduct(a, b));
  PAL_TRY(PackedResult result, PackedResult::For(out, type));
  Tensor product = Rearranged(result.tensor(), p.matrix_sizes, ContiguousStrides(p.matrix_sizes),
                              result.tensor().offset);
  PAL_TRY(MultiplyMatrices(p.a, p.b, product));
  if (bias.IsTensor()) PAL_TRY(AddBiasAs(bias.tensor(), result.tensor()));
  return result.Store();
}

Status MatmulKernel(KernelCall& call) {
  return Multiply(call.args[0].tensor(), call.args[1].tensor(), Value(), call.results[0]);
}

Status LinearMeta(MetaCall& call) {
  const Tensor& input = call.args[0].tensor();
  const Tensor& weight = call.args[1].tensor();
  if (weight.dim() > 2) return SizeMismatch(call, input, weight);
  Tensor transposed = Transposed(weight);
  PAL_TRY(CheckFactors(call, input, transposed));
  PAL_TRY(Product p, FindProduct(input, transposed));
  if (call.args[2].IsTensor()) {
    const Tensor& bias = call.args[2].tensor();
    PAL_TRY(Dims sizes, BroadcastShapes(p.sizes, bias.sizes));
    if (sizes != p.sizes) {
      return Refused("broadcast_mismatch",
                     fmt::format("linear: a bias of sizes {} does not expand to the product's {}",
                                 ToString(bias.sizes), ToString(p.sizes)));
    }
    if (bias.dtype != input.dtype) {
      return Refused("dtype_mismatch", fmt::format("linear: bias has dtype {}, input {}",
                                                   TorchName(bias.dtype), TorchName(input.dtype)));
    }
  }
  call.results.push_back(ResultSpec::Fresh(input.dtype, p.sizes));
  return {};
}

Status LinearKernel(KernelCall& call) {
  return Multiply(call.args[0].tensor(), Transposed(call.args[1].tensor()), call.args[2],
                  call.results[0]);
}

}  // namespace

Status RegisterBroadcastProducts(op::OpTable& table) {
  return RegisterBuiltinRows(
      table, {{.schema = "aten::matmul(Tensor self, Tensor other) -> Tensor",
               .meta = MatmulMeta,
               .kernel = MatmulKernel},
              {.schema = "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
               .meta = LinearMeta,
               .kernel = LinearKernel}});
}

}  // namespace palimpsest::kernels
