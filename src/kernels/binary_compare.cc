// Comparisons and logical operators: the result is bool.
#include "kernels/binary_functions.h"
#include "kernels/pointwise.h"
#include "kernels/pointwise_row.h"

namespace palimpsest::kernels {
namespace {

namespace f = functions;
constexpr auto kBool = LoopTable::ResultType::kBool;

constexpr LoopTable kEq = MakeLoops<f::Eq, 2, kAllKinds, kBool>();
constexpr LoopTable kNe = MakeLoops<f::Ne, 2, kAllKinds, kBool>();
constexpr LoopTable kLt = MakeLoops<f::Lt, 2, kReals, kBool>();
constexpr LoopTable kLe = MakeLoops<f::Le, 2, kReals, kBool>();
constexpr LoopTable kGt = MakeLoops<f::Gt, 2, kReals, kBool>();
constexpr LoopTable kGe = MakeLoops<f::Ge, 2, kReals, kBool>();
constexpr LoopTable kAnd = MakeLoops<f::LogicalAnd, 2, kAllKinds, kBool>();
constexpr LoopTable kOr = MakeLoops<f::LogicalOr, 2, kAllKinds, kBool>();
constexpr LoopTable kXor = MakeLoops<f::LogicalXor, 2, kAllKinds, kBool>();

constexpr PointwiseRow Row(const char* schema, const LoopTable* loops, const char* out) {
  return {.schema = schema,
          .roles = "oo",
          .rule = Rule::kComparison,
          .loops = loops,
          .in_place = "",
          .out = out};
}

const PointwiseRow kRows[] = {
    Row("aten::eq.Tensor(Tensor self, Tensor other) -> Tensor", &kEq, "Tensor_out"),
    Row("aten::eq.Scalar(Tensor self, Scalar other) -> Tensor", &kEq, "Scalar_out"),
    Row("aten::ne.Tensor(Tensor self, Tensor other) -> Tensor", &kNe, "Tensor_out"),
    Row("aten::ne.Scalar(Tensor self, Scalar other) -> Tensor", &kNe, "Scalar_out"),
    Row("aten::lt.Tensor(Tensor self, Tensor other) -> Tensor", &kLt, "Tensor_out"),
    Row("aten::lt.Scalar(Tensor self, Scalar other) -> Tensor", &kLt, "Scalar_out"),
    Row("aten::le.Tensor(Tensor self, Tensor other) -> Tensor", &kLe, "Tensor_out"),
    Row("aten::le.Scalar(Tensor self, Scalar other) -> Tensor", &kLe, "Scalar_out"),
    Row("aten::gt.Tensor(Tensor self, Tensor other) -> Tensor", &kGt, "Tensor_out"),
    Row("aten::gt.Scalar(Tensor self, Scalar other) -> Tensor", &kGt, "Scalar_out"),
    Row("aten::ge.Tensor(Tensor self, Tensor other) -> Tensor", &kGe, "Tensor_out"),
    Row("aten::ge.Scalar(Tensor self, Scalar other) -> Tensor", &kGe, "Scalar_out"),
    Row("aten::logical_and(Tensor self, Tensor other) -> Tensor", &kAnd, "out"),
    Row("aten::logical_or(Tensor self, Tensor other) -> Tensor", &kOr, "out"),
    Row("aten::logical_xor(Tensor self, Tensor other) -> Tensor", &kXor, "out"),
};

}  // namespace

Status RegisterBinaryCompare(op::OpTable& table) { return RegisterRows(table, kRows); }

}  // namespace palimpsest::kernels
