// Division and remainders.
#include <fmt/format.h>

#include "kernels/binary_functions.h"
#include "kernels/pointwise.h"
#include "kernels/pointwise_row.h"

namespace palimpsest::kernels {
namespace {

namespace f = functions;

constexpr LoopTable kDiv = MakeLoops<f::Div, 2, kFloats | kComplexes>();
constexpr LoopTable kDivTrunc = MakeLoops<f::DivTrunc, 2, kInts | kFloats>();
constexpr LoopTable kDivFloor = MakeLoops<f::DivFloor, 2, kInts | kFloats>();
constexpr LoopTable kRemainder = MakeLoops<f::Remainder, 2, kInts | kFloats>();
constexpr LoopTable kFmod = MakeLoops<f::Fmod, 2, kInts | kFloats>();

std::string_view Mode(const Value& mode) {
  return mode.IsNone() ? std::string_view() : std::string_view(mode.As<std::string>());
}
Status CheckMode(std::span<const Value> args) {
  std::string_view mode = Mode(args[2]);
  if (mode.empty() || mode == "trunc" || mode == "floor") return {};
  return Refused(
      "bad_argument",
      fmt::format("div expected rounding_mode to be one of None, 'trunc', or 'floor' but "
                  "found '{}'",
                  mode));
}
const LoopTable* ChooseMode(std::span<const Value> args) {
  std::string_view mode = Mode(args[2]);
  return mode.empty() ? &kDiv : mode == "trunc" ? &kDivTrunc : &kDivFloor;
}
Rule ChooseRule(std::span<const Value> args) {
  return Mode(args[2]).empty() ? Rule::kBinaryFloat : Rule::kBinary;
}

constexpr PointwiseRow Row(const char* schema, const LoopTable* loops, const char* in_place,
                           const char* out) {
  bool is_true = loops == &kDiv;
  return {.schema = schema,
          .roles = "oo",
          .rule = is_true ? Rule::kBinaryFloat : Rule::kBinary,
          .loops = loops,
          .in_place = in_place,
          .out = out,
          .may_refuse = !is_true};
}
constexpr PointwiseRow ModeRow(const char* schema, const char* out) {
  return {.schema = schema,
          .roles = "oo-",
          .rule = Rule::kBinary,
          .in_place = "",
          .out = out,
          .before = CheckMode,
          .choose = ChooseMode,
          .choose_rule = ChooseRule,
          .may_refuse = true};
}

const PointwiseRow kRows[] = {
    Row("aten::div.Tensor(Tensor self, Tensor other) -> Tensor", &kDiv, "", "out"),
    Row("aten::div.Scalar(Tensor self, Scalar other) -> Tensor", &kDiv, "", nullptr),
    Row("aten::true_divide.Tensor(Tensor self, Tensor other) -> Tensor", &kDiv, "", "out"),
    Row("aten::true_divide.Scalar(Tensor self, Scalar other) -> Tensor", &kDiv, "", nullptr),
    Row("aten::divide.Tensor(Tensor self, Tensor other) -> Tensor", &kDiv, "", "out"),
    Row("aten::divide.Scalar(Tensor self, Scalar other) -> Tensor", &kDiv, "", nullptr),
    ModeRow("aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
            "out_mode"),
    ModeRow("aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
            nullptr),
    ModeRow("aten::divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
            "out_mode"),
    ModeRow("aten::divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
            nullptr),
    Row("aten::floor_divide(Tensor self, Tensor other) -> Tensor", &kDivFloor,
        "floor_divide_.Tensor", "out"),
    Row("aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor", &kDivFloor, "", nullptr),
    Row("aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", &kRemainder, "",
        "Tensor_out"),
    Row("aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor", &kRemainder, "",
        "Scalar_out"),
    Row("aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", &kRemainder, nullptr,
        nullptr),
    Row("aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", &kFmod, "", "Tensor_out"),
    Row("aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor", &kFmod, "", "Scalar_out"),
};

}  // namespace

Status RegisterBinaryDivision(op::OpTable& table) { return RegisterRows(table, kRows); }

}  // namespace palimpsest::kernels
