// Unary operators on all types: sign, rounding, tests, bounds.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "kernels/copy_cast.h"
#include "kernels/pointwise.h"
#include "kernels/pointwise_row.h"
#include "kernels/unary_functions.h"

namespace palimpsest::kernels {
namespace {

namespace f = functions;
constexpr auto kBool = LoopTable::ResultType::kBool;

constexpr LoopTable kIdentityTable = MakeLoops<f::Identity, 1, kInts>();

// Integers are whole already.
template <class F>
constexpr LoopTable MakeRounding() {
  LoopTable table = MakeLoops<F, 1, kFloats>();
  for (int i = 0; i < kNumDTypes; ++i) {
    if (kIdentityTable.rows[i] != nullptr) table.rows[i] = kIdentityTable.rows[i];
  }
  return table;
}

constexpr LoopTable kNeg = MakeLoops<f::Neg, 1, kInts | kFloats | kComplexes>();
constexpr LoopTable kAbs =
    MakeLoops<f::Abs, 1, kInts | kFloats | kComplexes, LoopTable::ResultType::kReal>();
constexpr LoopTable kBitNot = MakeLoops<f::BitNot, 1, kBools | kInts>();
constexpr LoopTable kLogicalNot = MakeLoops<f::LogicalNot, 1, kAllKinds, kBool>();
constexpr LoopTable kSign = MakeLoops<f::Sign, 1, kReals>();
constexpr LoopTable kSquare = MakeLoops<f::Square, 1, kInts | kFloats | kComplexes>();
constexpr LoopTable kRelu = MakeLoops<f::Relu, 1, kInts | kFloats>();
constexpr LoopTable kIsNan = MakeLoops<f::IsNan, 1, kAllKinds, kBool>();
constexpr LoopTable kIsInf = MakeLoops<f::IsInf, 1, kReals, kBool>();
constexpr LoopTable kIsFinite = MakeLoops<f::IsFinite, 1, kReals, kBool>();
constexpr LoopTable kFloor = MakeRounding<f::Floor>();
constexpr LoopTable kCeil = MakeRounding<f::Ceil>();
constexpr LoopTable kTrunc = MakeRounding<f::Trunc>();
constexpr LoopTable kRound = MakeRounding<f::Round>();
constexpr LoopTable kRoundDecimals = MakeLoops<f::RoundDecimals, 1, kFloats>();
constexpr LoopTable kFrac = MakeLoops<f::Frac, 1, kFloats>();
constexpr LoopTable kNanToNum = MakeLoops<f::NanToNum, 1, kReals>();
constexpr LoopTable kClamp = MakeLoops<f::Clamp, 1, kInts | kFloats>();
constexpr LoopTable kClampMin = MakeLoops<f::ClampMin, 1, kInts | kFloats>();
constexpr LoopTable kClampMax = MakeLoops<f::ClampMax, 1, kInts | kFloats>();

Status RefuseBool(std::span<const Value> args) {
  if (args[0].tensor().dtype != DType::kB8) return {};
  return Refused("unsupported_dtype", "the operation is not defined for bool tensors");
}

const LoopTable* ChooseClamp(std::span<const Value> args) {
  if (args[2].IsNone()) return &kClampMin;
  return args[1].IsNone() ? &kClampMax : &kClamp;
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
     .loops = &kNeg,
     .in_place = "",
     .out = "out",
     .before = RefuseBool},
    {.schema = "aten::negative(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = &kNeg,
     .in_place = "",
     .out = "out",
     .before = RefuseBool},
    {.schema = "aten::abs(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = &kAbs,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::absolute(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = &kAbs,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::bitwise_not(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = &kBitNot,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::logical_not(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kLogicalNot,
     .loops = &kLogicalNot,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::sign(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = &kSign,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::sgn(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = &kSign,
     .in_place = "",
     .out = "out",
     .refuses_complex = false},
    {.schema = "aten::relu(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = &kRelu,
     .in_place = "",
     .before = RefuseBool},
    // As pow(self, 2): the number takes part in promotion, the square of a bool is an i64.
    {.schema = "aten::square(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kBinary,
     .loops = &kSquare,
     .type_only_int = true,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::isnan(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kLogicalNot,
     .loops = &kIsNan,
     .refuses_complex = false},
    {.schema = "aten::isinf(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kLogicalNot,
     .loops = &kIsInf,
     .strides = IsInfStrides,
     .refuses_complex = false},
    {.schema = "aten::isfinite(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kLogicalNot,
     .loops = &kIsFinite,
     .strides = IsFiniteStrides,
     .refuses_complex = false},
    {.schema = "aten::floor(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = &kFloor,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::ceil(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = &kCeil,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::trunc(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = &kTrunc,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::fix(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = &kTrunc,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::round(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = &kRound,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::round.decimals(Tensor self, *, int decimals) -> Tensor",
     .roles = "op",
     .rule = Rule::kUnary,
     .loops = &kRoundDecimals,
     .in_place = "",
     .out = "decimals_out"},
    {.schema = "aten::frac(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = &kFrac,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? "
               "neginf=None) -> Tensor",
     .roles = "oppp",
     .rule = Rule::kUnary,
     .loops = &kNanToNum,
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
     .choose = ChooseClamp},
    {.schema = "aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
     .roles = "onn",
     .rule = Rule::kBinary,
     .in_place = "",
     .out = "out",
     .before = RefuseNoBounds,
     .after = BoundsFit,
     .choose = ChooseClamp},
    {.schema = "aten::clamp_min(Tensor self, Scalar min) -> Tensor",
     .roles = "on",
     .rule = Rule::kBinary,
     .loops = &kClampMin,
     .in_place = "",
     .out = "out",
     .after = BoundsFit},
    {.schema = "aten::clamp_max(Tensor self, Scalar max) -> Tensor",
     .roles = "on",
     .rule = Rule::kBinary,
     .loops = &kClampMax,
     .in_place = "",
     .out = "out",
     .after = BoundsFit},
    {.schema = "aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
     .roles = "opp",
     .rule = Rule::kUnary,
     .loops = &kClamp,
     .new_layout = NewLayout::kPreserve,
     .in_place = "",
     .out = "out",
     .before = CheckLimits,
     .after = BoundsFit},
};

}  // namespace

Status RegisterUnary(op::OpTable& table) { return RegisterRows(table, kRows); }

}  // namespace palimpsest::kernels
