// Unary operators that turn integers into floats: exponentials, logarithms, roots, trigonometry.
#include "kernels/pointwise.h"
#include "kernels/pointwise_row.h"

namespace palimpsest::kernels {
namespace {

constexpr PointwiseRow Row(const char* schema, LoopId loops) {
  return {.schema = schema,
          .roles = "o",
          .rule = Rule::kUnaryFloat,
          .loops = loops,
          .in_place = "",
          .out = "out",
          .refuses_complex = false};
}

const PointwiseRow kRows[] = {
    Row("aten::exp(Tensor self) -> Tensor", LoopId::kExp),
    Row("aten::exp2(Tensor self) -> Tensor", LoopId::kExp2),
    Row("aten::expm1(Tensor self) -> Tensor", LoopId::kExpm1),
    Row("aten::log(Tensor self) -> Tensor", LoopId::kLog),
    Row("aten::log2(Tensor self) -> Tensor", LoopId::kLog2),
    Row("aten::log10(Tensor self) -> Tensor", LoopId::kLog10),
    Row("aten::log1p(Tensor self) -> Tensor", LoopId::kLog1p),
    Row("aten::sqrt(Tensor self) -> Tensor", LoopId::kSqrt),
    Row("aten::rsqrt(Tensor self) -> Tensor", LoopId::kRsqrt),
    Row("aten::reciprocal(Tensor self) -> Tensor", LoopId::kReciprocal),
    Row("aten::sin(Tensor self) -> Tensor", LoopId::kSin),
    Row("aten::cos(Tensor self) -> Tensor", LoopId::kCos),
    Row("aten::tan(Tensor self) -> Tensor", LoopId::kTan),
    Row("aten::asin(Tensor self) -> Tensor", LoopId::kAsin),
    Row("aten::acos(Tensor self) -> Tensor", LoopId::kAcos),
    Row("aten::atan(Tensor self) -> Tensor", LoopId::kAtan),
    Row("aten::sinh(Tensor self) -> Tensor", LoopId::kSinh),
    Row("aten::cosh(Tensor self) -> Tensor", LoopId::kCosh),
    Row("aten::tanh(Tensor self) -> Tensor", LoopId::kTanh),
    Row("aten::asinh(Tensor self) -> Tensor", LoopId::kAsinh),
    Row("aten::acosh(Tensor self) -> Tensor", LoopId::kAcosh),
    Row("aten::atanh(Tensor self) -> Tensor", LoopId::kAtanh),
    Row("aten::erf(Tensor self) -> Tensor", LoopId::kErf),
    Row("aten::erfc(Tensor self) -> Tensor", LoopId::kErfc),
    Row("aten::sigmoid(Tensor self) -> Tensor", LoopId::kSigmoid),
};

}  // namespace

Status RegisterUnaryFloat(op::OpTable& table) { return RegisterRows(table, kRows); }

}  // namespace palimpsest::kernels
