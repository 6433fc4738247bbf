// Loops of three operands.
#include "kernels/binary_functions.h"
#include "kernels/levels/row.h"

namespace palimpsest::kernels::PAL_LEVEL {

namespace f = functions;

void PutTernaryLoops(LoopTables& tables) {
  Put<f::Where, 3, kReals, ResultType::kSame, true>(tables, LoopId::kWhere);
  Put<f::MaskedFill, 2, kReals, ResultType::kSame, true>(tables, LoopId::kMaskedFill);
  Put<f::AddCMul, 3, kInts | kFloats>(tables, LoopId::kAddCMul);
  Put<f::AddCDiv, 3, kFloats>(tables, LoopId::kAddCDiv);
  Put<f::Lerp, 3, kFloats>(tables, LoopId::kLerp);
  Put<f::LerpNumber, 2, kFloats>(tables, LoopId::kLerpNumber);
  Put<f::ClampTensors, 3, kInts | kFloats>(tables, LoopId::kClampTensors);
}

}  // namespace palimpsest::kernels::PAL_LEVEL
