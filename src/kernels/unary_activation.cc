// Activation functions of neural networks: floats only, the type stays.
#include <fmt/format.h>

#include "kernels/copy_cast.h"
#include "kernels/pointwise.h"
#include "kernels/pointwise_row.h"

namespace palimpsest::kernels {
namespace {

bool IsTanh(const Value& approximate) {
  return approximate.Is<std::string>() && approximate.As<std::string>() == "tanh";
}
LoopId ChooseGelu(std::span<const Value> args) {
  return IsTanh(args[1]) ? LoopId::kGeluTanh : LoopId::kGeluErf;
}
Status CheckApproximate(std::span<const Value> args) {
  if (IsTanh(args[1]) || args[1].As<std::string>() == "none") return {};
  return Refused("bad_argument", fmt::format("gelu: approximate must be 'none' or 'tanh', not '{}'",
                                             args[1].As<std::string>()));
}

Status RefuseZeroAlpha(std::span<const Value> args) {
  if (args[1].ToDouble() != 0) return {};
  return Refused("bad_argument", "ZeroDivisionError: alpha cannot be 0 for CELU");
}
Status RefuseNegativeLambda(std::span<const Value> args) {
  if (args[1].ToDouble() >= 0) return {};
  return Refused(
      "bad_argument",
      fmt::format("softshrink: lambda must not be negative, but found {}", args[1].ToDouble()));
}
Status NumbersFit(std::span<const Value> args, DType common) {
  for (const Value& number : args.subspan(1, 2)) PAL_TRY(CheckFits(number.ToScalar(), common));
  return {};
}

const PointwiseRow kRows[] = {
    {.schema = "aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor",
     .roles = "o-",
     .rule = Rule::kUnary,
     .in_place = "",
     .out = "out",
     .before = CheckApproximate,
     .choose = ChooseGelu},
    {.schema = "aten::silu(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kSilu,
     .in_place = "",
     .out = "out",
     .refuses_complex = false},
    {.schema = "aten::mish(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kMish,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> "
               "Tensor",
     .roles = "oppp",
     .rule = Rule::kUnary,
     .loops = LoopId::kElu,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::selu(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kSelu,
     .in_place = ""},
    {.schema = "aten::celu(Tensor self, Scalar alpha=1.0) -> Tensor",
     .roles = "op",
     .rule = Rule::kUnary,
     .loops = LoopId::kCelu,
     .in_place = "",
     .before = RefuseZeroAlpha},
    {.schema = "aten::relu6(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kRelu6,
     .new_layout = NewLayout::kPreserve,
     .in_place = ""},
    {.schema = "aten::hardsigmoid(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kHardSigmoid,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::hardswish(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kHardSwish,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
     .roles = "op",
     .rule = Rule::kUnary,
     .loops = LoopId::kLeakyRelu,
     .in_place = "",
     .out = "out"},
    {.schema = "aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
     .roles = "opp",
     .rule = Rule::kUnary,
     .loops = LoopId::kSoftplus,
     .out = "out"},
    {.schema = "aten::log_sigmoid(Tensor self) -> Tensor",
     .roles = "o",
     .rule = Rule::kUnary,
     .loops = LoopId::kLogSigmoid,
     .new_layout = NewLayout::kContiguous},
    {.schema = "aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
     .roles = "op",
     .rule = Rule::kUnary,
     .loops = LoopId::kHardShrink,
     .out = "out"},
    {.schema = "aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
     .roles = "op",
     .rule = Rule::kUnary,
     .loops = LoopId::kSoftShrink,
     .out = "out",
     .before = RefuseNegativeLambda},
    {.schema = "aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
     .roles = "opp",
     .rule = Rule::kBinary,
     .loops = LoopId::kThreshold,
     .in_place = "",
     .out = "out",
     .after = NumbersFit,
     .checks_overlap = false},
};

}  // namespace

Status RegisterUnaryActivation(op::OpTable& table) { return RegisterRows(table, kRows); }

}  // namespace palimpsest::kernels
