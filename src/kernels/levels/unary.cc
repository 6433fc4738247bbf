// Loops of one operand, any type.
#include "kernels/levels/row.h"
#include "kernels/unary_functions.h"

namespace palimpsest::kernels::PAL_LEVEL {

namespace f = functions;

namespace {

// Integers are whole already.
template <class F>
void PutRounding(LoopTables& tables, LoopId id) {
  Put<f::Identity, 1, kInts>(tables, id);
  Put<F, 1, kFloats>(tables, id);
}

}  // namespace

void PutUnaryLoops(LoopTables& tables) {
  Put<f::Neg, 1, kInts | kFloats>(tables, LoopId::kNeg);
  Put<f::Abs, 1, kInts | kFloats, ResultType::kReal>(tables, LoopId::kAbs);
  Put<f::BitNot, 1, kBools | kInts>(tables, LoopId::kBitNot);
  Put<f::LogicalNot, 1, kReals, ResultType::kBool>(tables, LoopId::kLogicalNot);
  Put<f::Sign, 1, kReals>(tables, LoopId::kSign);
  Put<f::Square, 1, kInts | kFloats>(tables, LoopId::kSquare);
  Put<f::Relu, 1, kInts | kFloats>(tables, LoopId::kRelu);
  Put<f::IsNan, 1, kReals, ResultType::kBool>(tables, LoopId::kIsNan);
  Put<f::IsInf, 1, kReals, ResultType::kBool>(tables, LoopId::kIsInf);
  Put<f::IsFinite, 1, kReals, ResultType::kBool>(tables, LoopId::kIsFinite);
  PutRounding<f::Floor>(tables, LoopId::kFloor);
  PutRounding<f::Ceil>(tables, LoopId::kCeil);
  PutRounding<f::Trunc>(tables, LoopId::kTrunc);
  PutRounding<f::Round>(tables, LoopId::kRound);
  Put<f::RoundDecimals, 1, kFloats>(tables, LoopId::kRoundDecimals);
  Put<f::Frac, 1, kFloats>(tables, LoopId::kFrac);
  Put<f::NanToNum, 1, kReals>(tables, LoopId::kNanToNum);
  Put<f::Clamp, 1, kInts | kFloats>(tables, LoopId::kClamp);
  Put<f::ClampMin, 1, kInts | kFloats>(tables, LoopId::kClampMin);
  Put<f::ClampMax, 1, kInts | kFloats>(tables, LoopId::kClampMax);
}

}  // namespace palimpsest::kernels::PAL_LEVEL
