// Loops of two operands: arithmetic.
#include "kernels/binary_functions.h"
#include "kernels/levels/row.h"

namespace palimpsest::kernels::PAL_LEVEL {

namespace f = functions;

void PutBinaryLoops(LoopTables& tables) {
  Put<f::AddScaled, 2, kReals>(tables, LoopId::kAdd);
  Put<f::SubScaled, 2, kInts | kFloats>(tables, LoopId::kSub);
  Put<f::Mul, 2, kReals>(tables, LoopId::kMul);
  Put<f::Maximum, 2, kReals>(tables, LoopId::kMaximum);
  Put<f::Minimum, 2, kReals>(tables, LoopId::kMinimum);
  Put<f::Fmax, 2, kReals>(tables, LoopId::kFmax);
  Put<f::Fmin, 2, kReals>(tables, LoopId::kFmin);
  Put<f::Atan2, 2, kFloats>(tables, LoopId::kAtan2);
  Put<f::Hypot, 2, kFloats>(tables, LoopId::kHypot);
  Put<f::CopySign, 2, kFloats>(tables, LoopId::kCopySign);
  Put<f::Xlogy, 2, kFloats>(tables, LoopId::kXlogy);
  Put<f::LogAddExp, 2, kFloats>(tables, LoopId::kLogAddExp);
  Put<f::Pow, 2, kInts | kFloats>(tables, LoopId::kPow);
  Put<f::PowNumber, 1, kInts | kFloats>(tables, LoopId::kPowNumber);
  Put<f::PRelu, 2, kFloats>(tables, LoopId::kPRelu);
  Put<f::Div, 2, kFloats>(tables, LoopId::kDiv);
  Put<f::DivTrunc, 2, kInts | kFloats>(tables, LoopId::kDivTrunc);
  Put<f::DivFloor, 2, kInts | kFloats>(tables, LoopId::kDivFloor);
  Put<f::Remainder, 2, kInts | kFloats>(tables, LoopId::kRemainder);
  Put<f::Fmod, 2, kInts | kFloats>(tables, LoopId::kFmod);
}

}  // namespace palimpsest::kernels::PAL_LEVEL
