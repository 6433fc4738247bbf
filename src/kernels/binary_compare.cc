// Comparisons and logical operators: the result is bool.
#include "kernels/pointwise.h"
#include "kernels/pointwise_row.h"

namespace palimpsest::kernels {
namespace {

constexpr PointwiseRow Row(const char* schema, LoopId loops, const char* out) {
  return {.schema = schema,
          .roles = "oo",
          .rule = Rule::kComparison,
          .loops = loops,
          .in_place = "",
          .out = out};
}

const PointwiseRow kRows[] = {
    Row("aten::eq.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kEq, "Tensor_out"),
    Row("aten::eq.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kEq, "Scalar_out"),
    Row("aten::ne.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kNe, "Tensor_out"),
    Row("aten::ne.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kNe, "Scalar_out"),
    Row("aten::lt.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kLt, "Tensor_out"),
    Row("aten::lt.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kLt, "Scalar_out"),
    Row("aten::le.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kLe, "Tensor_out"),
    Row("aten::le.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kLe, "Scalar_out"),
    Row("aten::gt.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kGt, "Tensor_out"),
    Row("aten::gt.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kGt, "Scalar_out"),
    Row("aten::ge.Tensor(Tensor self, Tensor other) -> Tensor", LoopId::kGe, "Tensor_out"),
    Row("aten::ge.Scalar(Tensor self, Scalar other) -> Tensor", LoopId::kGe, "Scalar_out"),
    Row("aten::logical_and(Tensor self, Tensor other) -> Tensor", LoopId::kLogicalAnd, "out"),
    Row("aten::logical_or(Tensor self, Tensor other) -> Tensor", LoopId::kLogicalOr, "out"),
    Row("aten::logical_xor(Tensor self, Tensor other) -> Tensor", LoopId::kLogicalXor, "out"),
};

}  // namespace

Status RegisterBinaryCompare(op::OpTable& table) { return RegisterRows(table, kRows); }

}  // namespace palimpsest::kernels
