// Loops of two operands: comparisons, logic, bits.
#include "kernels/binary_functions.h"
#include "kernels/levels/row.h"

namespace palimpsest::kernels::PAL_LEVEL {

namespace f = functions;

void PutCompareLoops(LoopTables& tables) {
  Put<f::Eq, 2, kReals, ResultType::kBool>(tables, LoopId::kEq);
  Put<f::Ne, 2, kReals, ResultType::kBool>(tables, LoopId::kNe);
  Put<f::Lt, 2, kReals, ResultType::kBool>(tables, LoopId::kLt);
  Put<f::Le, 2, kReals, ResultType::kBool>(tables, LoopId::kLe);
  Put<f::Gt, 2, kReals, ResultType::kBool>(tables, LoopId::kGt);
  Put<f::Ge, 2, kReals, ResultType::kBool>(tables, LoopId::kGe);
  Put<f::LogicalAnd, 2, kReals, ResultType::kBool>(tables, LoopId::kLogicalAnd);
  Put<f::LogicalOr, 2, kReals, ResultType::kBool>(tables, LoopId::kLogicalOr);
  Put<f::LogicalXor, 2, kReals, ResultType::kBool>(tables, LoopId::kLogicalXor);
  Put<f::BitAnd, 2, kBools | kInts>(tables, LoopId::kBitAnd);
  Put<f::BitOr, 2, kBools | kInts>(tables, LoopId::kBitOr);
  Put<f::BitXor, 2, kBools | kInts>(tables, LoopId::kBitXor);
  Put<f::ShiftLeft, 2, kInts>(tables, LoopId::kShiftLeft);
  Put<f::ShiftRight, 2, kInts>(tables, LoopId::kShiftRight);
}

}  // namespace palimpsest::kernels::PAL_LEVEL
