// var, std and their pairs with the mean: two passes in double.
#include <algorithm>
#include <cmath>

#include "core/promotion.h"
#include "kernels/reduce.h"
#include "kernels/reduce_row.h"

namespace palimpsest::kernels {
namespace {

// Number: the correction (1 = unbiased).
template <bool kRoot>
void MomentSlice(SliceSource& slice, const ReduceParams& params, SliceResult* results) {
  const double* x = nullptr;
  double sum = 0;
  for (int64_t n; (n = slice.Next(&x)) > 0;) {
    double part = 0;
    for (int64_t i = 0; i < n; ++i) part += x[i];
    sum += part;
  }
  double count = static_cast<double>(slice.length());
  double mean = sum / count;
  slice.Rewind();
  double squares = 0;
  for (int64_t n; (n = slice.Next(&x)) > 0;) {
    double part = 0;
    for (int64_t i = 0; i < n; ++i) part += (x[i] - mean) * (x[i] - mean);
    squares += part;
  }
  double variance = squares / std::max(0.0, count - params.number);
  if (count == 0) variance = mean;  // nan, whatever the correction
  *reinterpret_cast<double*>(results[0].value) = kRoot ? std::sqrt(variance) : variance;
  *reinterpret_cast<double*>(results[1].value) = mean;
}

template <bool kRoot>
SliceKernel Find(DType loop) {
  return loop == DType::kF64 ? MomentSlice<kRoot> : nullptr;
}

Result<ReduceTypes> MomentTypes(const ReduceArgs& args) {
  DType self = args.self().dtype;
  if (IsIntegral(self)) {
    return Refused("unsupported_dtype",
                   "std and var only support floating point and complex dtypes");
  }
  PAL_TRY(RefuseUnsafeOut(args, RealType(self)));
  DType result = args.out() != nullptr ? args.out()->dtype : self;
  return ReduceTypes{self, IsComplex(self) ? self : DType::kF64, {result, result}};
}

ReduceParams Correction(const ReduceArgs& args) {
  const Value* correction = args.Find("correction");
  const Value* unbiased = args.Find("unbiased");
  double number = 1;
  if (unbiased != nullptr) number = unbiased->ToBool() ? 1 : 0;
  if (correction != nullptr && !correction->IsNone()) number = correction->ToDouble();
  return {number};
}

template <bool kRoot>
Status RegisterOne(op::OpTable& table) {
  std::string name = kRoot ? "aten::std" : "aten::var";
  const std::string dims = "(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False";
  const std::string correction =
      "(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False";
  PAL_TRY(RegisterReduceRow(
      table,
      {.schemas = {name + "(Tensor self, bool unbiased=True) -> Tensor",
                   name + ".dim" + dims + ") -> Tensor",
                   name + ".out" + dims + ", *, Tensor(a!) out) -> Tensor(a!)",
                   name + ".correction" + correction + ") -> Tensor",
                   name + ".correction_out" + correction + ", Tensor(a!) out) -> Tensor(a!)"},
       .types = MomentTypes,
       .kernel = Find<kRoot>,
       .params = Correction}));
  return RegisterReduceRow(
      table, {.schemas = {name + "_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
                          name + "_mean.dim" + dims + ") -> (Tensor, Tensor)",
                          name + "_mean.correction" + correction + ") -> (Tensor, Tensor)"},
              .types = MomentTypes,
              .kernel = Find<kRoot>,
              .results = 2,
              .params = Correction});
}

}  // namespace

Status RegisterReduceMoments(op::OpTable& table) {
  PAL_TRY(RegisterOne<false>(table));
  return RegisterOne<true>(table);
}

}  // namespace palimpsest::kernels
