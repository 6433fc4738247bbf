// Arithmetic of two operands.
#include "kernels/copy_cast.h"
#include "kernels/pointwise.h"
#include "kernels/pointwise_row.h"

namespace palimpsest::kernels {
namespace {

// The scale of add and sub: the last or last but one argument, after two operands.
Status CheckAlpha(std::span<const Value> args, DType common) {
  Scalar alpha = args[2].ToScalar();
  if (alpha.category == Category::kBool && common != DType::kB8) {
    return Refused("bad_alpha", "Boolean alpha only supported for Boolean results.");
  }
  if (IsIntegral(common) && !alpha.IsInt()) {
    return Refused(
        "bad_alpha",
        "For integral input tensors, argument alpha must not be a floating point number.");
  }
  if (!IsComplex(common) && alpha.category == Category::kComplex) {
    return Refused("bad_alpha",
                   "For non-complex input tensors, argument alpha must not be a complex number.");
  }
  return CheckFits(alpha, common);
}

bool IsBool(const Value& value) {
  return value.IsTensor() ? value.tensor().dtype == DType::kB8 : value.Is<bool>();
}
bool IsComplexValue(const Value& value) {
  return value.IsTensor() ? IsComplex(value.tensor().dtype) : value.Is<std::complex<double>>();
}

Status RefuseBoolOperands(std::span<const Value> args) {
  if (!IsBool(args[0]) && !IsBool(args[1])) return {};
  return Refused("unsupported_dtype",
                 "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
                 "trying to invert a mask, use the `~` or `logical_not()` operator instead.");
}
Status RefuseComplexOperands(std::span<const Value> args) {
  if (!IsComplexValue(args[0]) && !IsComplexValue(args[1])) return {};
  return Refused("unsupported_dtype", "maximum and minimum are not defined for complex tensors");
}
Status RefuseNegativeExponent(std::span<const Value> args, DType common) {
  if (!args[1].IsNumber()) return {};
  Scalar exponent = args[1].ToScalar();
  if (IsIntegral(common) && exponent.IsInt() && exponent.i < 0) {
    return Refused("unsupported_dtype", "Integers to negative integer powers are not allowed.");
  }
  return CheckFits(exponent, common);
}

constexpr PointwiseRow Add(const char* schema, LoopId loops, const char* in_place,
                           const char* out) {
  return {.schema = schema,
          .roles = "oop",
          .rule = Rule::kBinary,
          .loops = loops,
          .in_place = in_place,
          .out = out,
          .before = loops == LoopId::kAdd ? nullptr : RefuseBoolOperands,
          .after = CheckAlpha,
          .refuses_complex = false};
}
// other - alpha * self, with other as the first operand.
constexpr PointwiseRow Rsub(const char* schema, const char* out) {
  PointwiseRow row = Add(schema, LoopId::kSub, nullptr, out);
  row.swapped = true;
  return row;
}
constexpr PointwiseRow Row(const char* schema, Rule rule, LoopId loops, const char* in_place,
                           const char* out) {
  return {.schema = schema,
          .roles = "oo",
          .rule = rule,
          .loops = loops,
          .in_place = in_place,
          .out = out};
}
constexpr PointwiseRow Extreme(const char* schema, LoopId loops) {
  return {.schema = schema,
          .roles = "oo",
          .rule = Rule::kBinary,
          .loops = loops,
          .out = "out",
          .before = RefuseComplexOperands};
}

const PointwiseRow kRows[] = {
    Add("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", LoopId::kAdd,
        "", "out"),
    Add("aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", LoopId::kAdd, "",
        nullptr),
    Add("aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", LoopId::kSub,
        "", "out"),
    Add("aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", LoopId::kSub, "",
        nullptr),
    Add("aten::subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        LoopId::kSub, "", "out"),
    Add("aten::subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", LoopId::kSub,
        "", nullptr),
    Rsub("aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", nullptr),
    Rsub("aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", nullptr),
    Row("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", Rule::kBinary, LoopId::kMul, "",
        "out"),
    Row("aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", Rule::kBinary, LoopId::kMul, "",
        nullptr),
    Row("aten::multiply.Tensor(Tensor self, Tensor other) -> Tensor", Rule::kBinary, LoopId::kMul,
        "", "out"),
    Row("aten::multiply.Scalar(Tensor self, Scalar other) -> Tensor", Rule::kBinary, LoopId::kMul,
        "", nullptr),
    Extreme("aten::maximum(Tensor self, Tensor other) -> Tensor", LoopId::kMaximum),
    Extreme("aten::minimum(Tensor self, Tensor other) -> Tensor", LoopId::kMinimum),
    Extreme("aten::fmax(Tensor self, Tensor other) -> Tensor", LoopId::kFmax),
    Extreme("aten::fmin(Tensor self, Tensor other) -> Tensor", LoopId::kFmin),
    Row("aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", Rule::kBinary,
        LoopId::kMaximum, "", "Tensor_out"),
    Row("aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", Rule::kBinary,
        LoopId::kMinimum, "", "Tensor_out"),
    Row("aten::atan2(Tensor self, Tensor other) -> Tensor", Rule::kBinaryFloat, LoopId::kAtan2, "",
        "out"),
    Row("aten::hypot(Tensor self, Tensor other) -> Tensor", Rule::kBinary, LoopId::kHypot, "",
        "out"),
    Row("aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor", Rule::kBinaryFloat,
        LoopId::kCopySign, "", "out"),
    Row("aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor", Rule::kBinaryFloat,
        LoopId::kCopySign, "", "Scalar_out"),
    Row("aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor", Rule::kBinaryFloat,
        LoopId::kXlogy, "", "OutTensor"),
    Row("aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor", Rule::kBinaryFloat,
        LoopId::kXlogy, "", "OutScalar_Other"),
    Row("aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor", Rule::kBinaryFloat,
        LoopId::kXlogy, nullptr, "OutScalar_Self"),
    Row("aten::logaddexp(Tensor self, Tensor other) -> Tensor", Rule::kBinary, LoopId::kLogAddExp,
        nullptr, "out"),
    {.schema = "aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
     .roles = "oo",
     .rule = Rule::kBinary,
     .loops = LoopId::kPow,
     .in_place = "pow_.Tensor",
     .out = "Tensor_Tensor_out"},
    {.schema = "aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
     .roles = "oo",
     .rule = Rule::kBinary,
     .loops = LoopId::kPow,
     .new_layout = NewLayout::kContiguous,
     .out = "Scalar_out"},
};

// Laid out as a unary operator: the exponent is no operand.
const PointwiseRow kNumberRows[] = {
    {.schema = "aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
     .roles = "on",
     .rule = Rule::kBinary,
     .loops = LoopId::kPowNumber,
     .in_place = "pow_.Scalar",
     .out = "Tensor_Scalar_out",
     .after = RefuseNegativeExponent},
};

}  // namespace

Status RegisterBinary(op::OpTable& table) {
  PAL_TRY(RegisterRows(table, kRows));
  return RegisterRows(table, kNumberRows);
}

}  // namespace palimpsest::kernels
