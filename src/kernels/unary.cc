// Unary operators on all types: sign, rounding, tests, bounds.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "kernels/copy_cast.h"
#include "kernels/pointwise.h"
#include "kernels/pointwise_row.h"

namespace palimpsest::kernels {
namespace {

Status RefuseBool(std::span<const Value> args) {
  if (args[0].tensor().dtype != DType::kB8) return {};
  return Refused("unsupported_dtype", "the operation is not defined for bool tensors");
}

LoopId ChooseClamp(std::span<const Value> args) {
  if (args[2].IsNone()) return LoopId::kClampMin;
  return args[1].IsNone() ? LoopId::kClampMax : LoopId::kClamp;
}
Status RefuseNoBounds(std::span<const Value> args) {
  if (!args[1].IsNone() || !args[2].IsNone()) return {};
  return Refused("missing_bound", "clamp: at least one of 'min' or 'max' must not be None");
}
Status BoundsFit(std::span<const Value> args, DType common) {
  for (const Value& bound : args.subspan(1, std::min<size_t>(2, args.size() - 1))) {
    if (bound.IsNumber()) PAL_TRY(CheckFits(bound.ToScalar(), common));
  }
  return {};
}

Status CheckLimits(std::span<const Value> args) {
  PAL_TRY(RefuseBool(args));
  bool negative = args[1].ToDouble() < 0 || args[2].ToDouble() < 0;
  if (args[0].tensor().dtype != DType::kU8 || !negative) return {};
  return Refused("bad_argument", "cannot do hardtanh on an unsigned type with negative limits");
}

Scalar AbsentNanReplacement(int param, DType common) {
  double largest = common == DType::kF16    ? 65504.0
                   : common == DType::kBF16 ? 0x1.fep127
                   : common == DType::kF64  ? std::numeric_limits<double>::max()
                                            : double{std::numeric_limits<float>::max()};
  return Scalar::Float(param == 0 ? 0 : param == 1 ? largest : -largest);
}

// PyTorch composes isinf and isfinite of other operations, which shows in trivial strides:
// abs(x) == inf, and (x == x) * (abs(x) != inf). Of integers it makes a tensor like x.
Result<View> IsInfView(const Tensor& self) {
  IteratorConfig abs = IteratorConfig::Unary();
  abs.AddOutput().AddInput(self);
  PAL_TRY(Iteration magnitude, Iteration::Build(abs));
  IteratorConfig compare = IteratorConfig::Comparison();
  compare.AddOutput().AddInput(magnitude.output(0)).AddInput(Scalar::Float(0));
  PAL_TRY(Iteration result, Iteration::Build(compare));
  return result.output(0);
}
Result<Dims> IsInfStrides(const Tensor& self) {
  if (IsIntegral(self.dtype)) return PreserveStrides(self);
  PAL_TRY(View view, IsInfView(self));
  return view.strides;
}
Result<Dims> IsFiniteStrides(const Tensor& self) {
  if (IsIntegral(self.dtype)) return PreserveStrides(self);
  IteratorConfig compare = IteratorConfig::Comparison();
  compare.AddOutput().AddInput(self).AddInput(self);
  PAL_TRY(Iteration is_number, Iteration::Build(compare));
  PAL_TRY(View is_bounded, IsInfView(self));
  IteratorConfig both = IteratorConfig::Binary();
  both.AddOutput().AddInput(is_number.output(0)).AddInput(is_bounded);
  PAL_TRY(Iteration result, Iteration::Build(both));
  return result.output(0).strides;
}

const PointwiseRow kRows[] = {
    {.schema = "aten::neg(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kNeg,
     .in_place = "",
     .out = "out",
     .before = RefuseBool},
    {.schema = "aten::negative(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kNeg,
     .in_place = "",
     .out = "out",
     .before = RefuseBool},
    {.schema = "aten::abs(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kAbs,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::absolute(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kAbs,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::bitwise_not(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kBitNot,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::logical_not(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kLogicalNot,
     .loops = LoopId::kLogicalNot,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::sign(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kSign,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::sgn(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kSign,
     .in_place = "",
     .out = "out",
     .refuses_complex = false},
    {.schema = "aten::relu(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kRelu,
     .in_place = "",
     .before = RefuseBool},
    // As pow(self, 2): the number takes part in promotion, the square of a bool is an i64.
    {.schema = "aten::square(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kBinary,
     .loops = LoopId::kSquare,
     .type_only_int = true,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::isnan(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kLogicalNot,
     .loops = LoopId::kIsNan,
     .refuses_complex = false},
    {.schema = "aten::isinf(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kLogicalNot,
     .loops = LoopId::kIsInf,
     .strides = IsInfStrides,
     .refuses_complex = false},
    {.schema = "aten::isfinite(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kLogicalNot,
     .loops = LoopId::kIsFinite,
     .strides = IsFiniteStrides,
     .refuses_complex = false},
    {.schema = "aten::floor(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kFloor,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::ceil(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kCeil,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::trunc(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kTrunc,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::fix(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kTrunc,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::round(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kRound,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::round.decimals(Tensor self, *, int decimals) -> Tensor",
     .roles = "op",
     .rule = Rule::kUnary,
     .loops = LoopId::kRoundDecimals,
     .in_place = "",
     .out = "decimals_out"},
    {.schema = "aten::frac(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kFrac,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? "
               "neginf=None) -> Tensor",
     .roles = "oppp",
     .rule = Rule::kUnary,
     .loops = LoopId::kNanToNum,
     .new_layout = NewLayout::kPreserve,
     .in_place = "",
     .out = "out",
     .absent = AbsentNanReplacement,
     .refuses_complex = false},
    {.schema = "aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
     .roles = "onn",
     .rule = Rule::kBinary,
     .in_place = "",
     .out = "out",
     .before = RefuseNoBounds,
     .after = BoundsFit,
     .choose = ChooseClamp,
     .out_keeps_type = true},
    {.schema = "aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
     .roles = "onn",
     .rule = Rule::kBinary,
     .in_place = "",
     .out = "out",
     .before = RefuseNoBounds,
     .after = BoundsFit,
     .choose = ChooseClamp,
     .out_keeps_type = true},
    {.schema = "aten::clamp_min(Tensor self, Scalar min) -> Tensor",
     .roles = "on",
     .rule = Rule::kBinary,
     .loops = LoopId::kClampMin,
     .in_place = "",
     .out = "out",
     .after = BoundsFit,
     .out_keeps_type = true},
    {.schema = "aten::clamp_max(Tensor self, Scalar max) -> Tensor",
     .roles = "on",
     .rule = Rule::kBinary,
     .loops = LoopId::kClampMax,
     .in_place = "",
     .out = "out",
     .after = BoundsFit,
     .out_keeps_type = true},
    {.schema = "aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
     .roles = "opp",
     .rule = Rule::kUnary,
     .loops = LoopId::kClamp,
     .new_layout = NewLayout::kPreserve,
     .in_place = "",
     .out = "out",
     .before = CheckLimits,
     .after = BoundsFit,
     .out_keeps_type = true},
};

}  // namespace

Status RegisterUnary(op::OpTable& table) { return RegisterRows(table, kRows); }

}  // namespace palimpsest::kernels
