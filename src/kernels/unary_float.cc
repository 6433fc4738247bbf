// Unary operators that turn integers into floats: exponentials, logarithms, roots, trigonometry.
#include "kernels/pointwise.h"
#include "kernels/pointwise_row.h"
#include "kernels/unary_functions.h"

namespace palimpsest::kernels {
namespace {

namespace f = functions;
constexpr unsigned kBoth = kFloats | kComplexes;

constexpr LoopTable kExp = MakeLoops<f::Exp, 1, kBoth>();
constexpr LoopTable kExp2 = MakeLoops<f::Exp2, 1, kFloats>();
constexpr LoopTable kExpm1 = MakeLoops<f::Expm1, 1, kFloats>();
constexpr LoopTable kLog = MakeLoops<f::Log, 1, kBoth>();
constexpr LoopTable kLog2 = MakeLoops<f::Log2, 1, kFloats>();
constexpr LoopTable kLog10 = MakeLoops<f::Log10, 1, kBoth>();
constexpr LoopTable kLog1p = MakeLoops<f::Log1p, 1, kFloats>();
constexpr LoopTable kSqrt = MakeLoops<f::Sqrt, 1, kBoth>();
constexpr LoopTable kRsqrt = MakeLoops<f::Rsqrt, 1, kBoth>();
constexpr LoopTable kReciprocal = MakeLoops<f::Reciprocal, 1, kBoth>();
constexpr LoopTable kSin = MakeLoops<f::Sin, 1, kBoth>();
constexpr LoopTable kCos = MakeLoops<f::Cos, 1, kBoth>();
constexpr LoopTable kTan = MakeLoops<f::Tan, 1, kFloats>();
constexpr LoopTable kAsin = MakeLoops<f::Asin, 1, kFloats>();
constexpr LoopTable kAcos = MakeLoops<f::Acos, 1, kFloats>();
constexpr LoopTable kAtan = MakeLoops<f::Atan, 1, kFloats>();
constexpr LoopTable kSinh = MakeLoops<f::Sinh, 1, kFloats>();
constexpr LoopTable kCosh = MakeLoops<f::Cosh, 1, kFloats>();
constexpr LoopTable kTanh = MakeLoops<f::Tanh, 1, kBoth>();
constexpr LoopTable kAsinh = MakeLoops<f::Asinh, 1, kFloats>();
constexpr LoopTable kAcosh = MakeLoops<f::Acosh, 1, kFloats>();
constexpr LoopTable kAtanh = MakeLoops<f::Atanh, 1, kFloats>();
constexpr LoopTable kErf = MakeLoops<f::Erf, 1, kFloats>();
constexpr LoopTable kErfc = MakeLoops<f::Erfc, 1, kFloats>();
constexpr LoopTable kSigmoid = MakeLoops<f::Sigmoid, 1, kBoth>();

constexpr PointwiseRow Row(const char* schema, const LoopTable* loops) {
  return {.schema = schema,
          .roles = "o",
          .rule = Rule::kUnaryFloat,
          .loops = loops,
          .in_place = "",
          .out = "out",
          .refuses_complex = false};
}

const PointwiseRow kRows[] = {
    Row("aten::exp(Tensor self) -> Tensor", &kExp),
    Row("aten::exp2(Tensor self) -> Tensor", &kExp2),
    Row("aten::expm1(Tensor self) -> Tensor", &kExpm1),
    Row("aten::log(Tensor self) -> Tensor", &kLog),
    Row("aten::log2(Tensor self) -> Tensor", &kLog2),
    Row("aten::log10(Tensor self) -> Tensor", &kLog10),
    Row("aten::log1p(Tensor self) -> Tensor", &kLog1p),
    Row("aten::sqrt(Tensor self) -> Tensor", &kSqrt),
    Row("aten::rsqrt(Tensor self) -> Tensor", &kRsqrt),
    Row("aten::reciprocal(Tensor self) -> Tensor", &kReciprocal),
    Row("aten::sin(Tensor self) -> Tensor", &kSin),
    Row("aten::cos(Tensor self) -> Tensor", &kCos),
    Row("aten::tan(Tensor self) -> Tensor", &kTan),
    Row("aten::asin(Tensor self) -> Tensor", &kAsin),
    Row("aten::acos(Tensor self) -> Tensor", &kAcos),
    Row("aten::atan(Tensor self) -> Tensor", &kAtan),
    Row("aten::sinh(Tensor self) -> Tensor", &kSinh),
    Row("aten::cosh(Tensor self) -> Tensor", &kCosh),
    Row("aten::tanh(Tensor self) -> Tensor", &kTanh),
    Row("aten::asinh(Tensor self) -> Tensor", &kAsinh),
    Row("aten::acosh(Tensor self) -> Tensor", &kAcosh),
    Row("aten::atanh(Tensor self) -> Tensor", &kAtanh),
    Row("aten::erf(Tensor self) -> Tensor", &kErf),
    Row("aten::erfc(Tensor self) -> Tensor", &kErfc),
    Row("aten::sigmoid(Tensor self) -> Tensor", &kSigmoid),
};

}  // namespace

Status RegisterUnaryFloat(op::OpTable& table) { return RegisterRows(table, kRows); }

}  // namespace palimpsest::kernels
