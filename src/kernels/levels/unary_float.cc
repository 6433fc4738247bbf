// Loops of one operand, floats: exponentials, logarithms, roots, trigonometry.
#include "kernels/levels/row.h"
#include "kernels/unary_functions.h"

namespace palimpsest::kernels::PAL_LEVEL {

namespace f = functions;

void PutUnaryFloatLoops(LoopTables& tables) {
  Put<f::Exp, 1, kFloats>(tables, LoopId::kExp);
  Put<f::Exp2, 1, kFloats>(tables, LoopId::kExp2);
  Put<f::Expm1, 1, kFloats>(tables, LoopId::kExpm1);
  Put<f::Log, 1, kFloats>(tables, LoopId::kLog);
  Put<f::Log2, 1, kFloats>(tables, LoopId::kLog2);
  Put<f::Log10, 1, kFloats>(tables, LoopId::kLog10);
  Put<f::Log1p, 1, kFloats>(tables, LoopId::kLog1p);
  Put<f::Sqrt, 1, kFloats>(tables, LoopId::kSqrt);
  Put<f::Rsqrt, 1, kFloats>(tables, LoopId::kRsqrt);
  Put<f::Reciprocal, 1, kFloats>(tables, LoopId::kReciprocal);
  Put<f::Sin, 1, kFloats>(tables, LoopId::kSin);
  Put<f::Cos, 1, kFloats>(tables, LoopId::kCos);
  Put<f::Tan, 1, kFloats>(tables, LoopId::kTan);
  Put<f::Asin, 1, kFloats>(tables, LoopId::kAsin);
  Put<f::Acos, 1, kFloats>(tables, LoopId::kAcos);
  Put<f::Atan, 1, kFloats>(tables, LoopId::kAtan);
  Put<f::Sinh, 1, kFloats>(tables, LoopId::kSinh);
  Put<f::Cosh, 1, kFloats>(tables, LoopId::kCosh);
  Put<f::Tanh, 1, kFloats>(tables, LoopId::kTanh);
  Put<f::Asinh, 1, kFloats>(tables, LoopId::kAsinh);
  Put<f::Acosh, 1, kFloats>(tables, LoopId::kAcosh);
  Put<f::Atanh, 1, kFloats>(tables, LoopId::kAtanh);
  Put<f::Erf, 1, kFloats>(tables, LoopId::kErf);
  Put<f::Erfc, 1, kFloats>(tables, LoopId::kErfc);
  Put<f::Sigmoid, 1, kFloats>(tables, LoopId::kSigmoid);
}

}  // namespace palimpsest::kernels::PAL_LEVEL
