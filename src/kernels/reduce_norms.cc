// Vector norms and logsumexp, accumulated in double.
#include <fmt/format.h>
#include <algorithm>

#include <cmath>
#include <limits>

#include "core/promotion.h"
#include "kernels/reduce.h"
#include "kernels/reduce_row.h"

namespace palimpsest::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename Step>
double Fold(SliceSource& slice, double start, Step step) {
  const double* x = nullptr;
  for (int64_t n; (n = slice.Next(&x)) > 0;) {
    for (int64_t i = 0; i < n; ++i) start = step(start, x[i]);
  }
  return start;
}

double Norm(SliceSource& slice, double order) {
  if (order == 2) {
    return std::sqrt(Fold(slice, 0, [](double s, double x) { return s + x * x; }));
  }
  if (order == 1) return Fold(slice, 0, [](double s, double x) { return s + std::abs(x); });
  if (order == 0) return Fold(slice, 0, [](double s, double x) { return s + (x != 0 ? 1 : 0); });
  if (order == kInfinity) {
    return Fold(slice, 0, [](double s, double x) {
      double a = std::abs(x);
      return s != s || a <= s ? s : a;
    });
  }
  if (order == -kInfinity) {
    return Fold(slice, kInfinity, [](double s, double x) {
      double a = std::abs(x);
      return s != s || a >= s ? s : a;
    });
  }
  double sum = Fold(slice, 0, [&](double s, double x) { return s + std::pow(std::abs(x), order); });
  return std::pow(sum, 1 / order);
}

void NormSlice(SliceSource& slice, const ReduceParams& params, SliceResult* results) {
  *reinterpret_cast<double*>(results->value) = Norm(slice, params.number);
}

void LogSumExpSlice(SliceSource& slice, const ReduceParams&, SliceResult* results) {
  double most =
      Fold(slice, -kInfinity, [](double s, double x) { return s != s || x <= s ? s : x; });
  double shift = std::abs(most) == kInfinity ? 0 : most;
  slice.Rewind();
  double sum = Fold(slice, 0, [&](double s, double x) { return s + std::exp(x - shift); });
  *reinterpret_cast<double*>(results->value) = std::log(sum) + shift;
}

SliceKernel FindNorm(DType loop) { return loop == DType::kF64 ? NormSlice : nullptr; }
SliceKernel FindLogSumExp(DType loop) { return loop == DType::kF64 ? LogSumExpSlice : nullptr; }

Result<ReduceTypes> NormTypes(const ReduceArgs& args) {
  DType through = args.dtype().value_or(args.self().dtype);
  if (IsIntegral(through) || IsIntegral(args.self().dtype)) {
    return Refused("unsupported_dtype",
                   "linalg.vector_norm: expected a floating point or complex tensor as input");
  }
  if (PromoteTypes(args.self().dtype, through) != through) {
    return Refused("cannot_cast",
                   "linalg.vector_norm: the dtype of the input should be convertible without "
                   "narrowing to the specified dtype");
  }
  DType result = args.out() != nullptr ? args.out()->dtype : through;
  return ReduceTypes{through, IsComplex(through) ? through : DType::kF64, {result, result}};
}
// PyTorch accepts an empty list of dims only where there is none to reduce.
Status RefuseNoDims(const ReduceArgs& args) {
  if (args.self().dim() == 0 || args.self().numel() == 0 || args.keepdim() ||
      !args.dim().IsList() || !args.dim().list().empty()) {
    return {};
  }
  return Refused("output_shape_mismatch", "logsumexp: the list of dims is empty");
}
Result<ReduceTypes> LogSumExpTypes(const ReduceArgs& args) {
  DType self = args.self().dtype;
  DType result = IsIntegral(self) ? DType::kF32 : self;
  if (args.out() != nullptr) {
    result = args.out()->dtype;
    if (IsIntegral(result)) {
      return Refused("dtype_mismatch",
                     fmt::format("logsumexp(): Expected floating point type for result tensor, but "
                                 "got: {}",
                                 TorchName(result)));
    }
  }
  return ReduceTypes{self, IsComplex(self) ? self : DType::kF64, {result, result}};
}

ReduceParams Order(const ReduceArgs& args) {
  const Value* order = args.Find("ord");
  if (order == nullptr) order = args.Find("p");
  return {order == nullptr || order->IsNone() ? 2.0 : order->ToDouble()};
}

// A norm of a negative order has no value for nothing.
Status RefuseEmptyNegative(const ReduceArgs& args) {
  return Order(args).number < 0 ? RefuseEmpty(args) : Status();
}
}  // namespace

Status RegisterReduceNorms(op::OpTable& table) {
  PAL_TRY(RegisterReduceRow(
      table, {.schemas = {"aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, "
                          "bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
                          "aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
                          "aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool "
                          "keepdim=False) -> Tensor",
                          "aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool "
                          "keepdim, *, ScalarType dtype) -> Tensor",
                          "aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) "
                          "-> Tensor"},
              .types = NormTypes,
              .kernel = FindNorm,
              .before = RefuseEmptyNegative,
              .params = Order}));
  return RegisterReduceRow(
      table,
      {.schemas = {"aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
                   "aten::logsumexp.out(Tensor self, int[1] dim, bool keepdim=False, *, Tensor(a!) "
                   "out) -> Tensor(a!)"},
       .types = LogSumExpTypes,
       .kernel = FindLogSumExp,
       .before = RefuseNoDims});
}

}  // namespace palimpsest::kernels
