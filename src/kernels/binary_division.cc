// Division and remainders.
#include <fmt/format.h>

#include "kernels/pointwise.h"
#include "kernels/pointwise_row.h"

namespace palimpsest::kernels {
namespace {

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
LoopId ChooseMode(std::span<const Value> args) {
  std::string_view mode = Mode(args[2]);
  return mode.empty() ? LoopId::kDiv : mode == "trunc" ? LoopId::kDivTrunc : LoopId::kDivFloor;
}
Rule ChooseRule(std::span<const Value> args) {
  return Mode(args[2]).empty() ? Rule::kBinaryFloat : Rule::kBinary;
}

constexpr PointwiseRow Row(const char* schema, LoopId loops, const char* in_place,
                           const char* out) {
  bool is_true = loops == LoopId::kDiv;
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
    Row("aten::div.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kDiv, "", "out"),
    Row("aten::div.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kDiv, "", nullptr),
    Row("aten::true_divide.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kDiv, "", "out"),
    Row("aten::true_divide.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kDiv, "", nullptr),
    Row("aten::divide.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kDiv, "", "out"),
    Row("aten::divide.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kDiv, "", nullptr),
    ModeRow("aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
            "out_mode"),
    ModeRow("aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
            nullptr),
    ModeRow("aten::divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
            "out_mode"),
    ModeRow("aten::divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
            nullptr),
    Row("aten::floor_divide(Tensor self, Tensor other) -> Tensor", LoopId::kDivFloor,
        "floor_divide_.Tensor", "out"),
    Row("aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kDivFloor, "",
        nullptr),
    Row("aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kRemainder, "",
        "Tensor_out"),
    Row("aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kRemainder, "",
        "Scalar_out"),
    Row("aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", LoopId::kRemainder,
        nullptr, nullptr),
    Row("aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kFmod, "", "Tensor_out"),
    Row("aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kFmod, "", "Scalar_out"),
};

}  // namespace

Status RegisterBinaryDivision(op::OpTable& table) { return RegisterRows(table, kRows); }

}  // namespace palimpsest::kernels
