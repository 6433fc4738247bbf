// Loops of activation functions.
#include "kernels/levels/row.h"
#include "kernels/unary_functions.h"

namespace palimpsest::kernels::PAL_LEVEL {

namespace f = functions;

void PutActivationLoops(LoopTables& tables) {
  Put<f::GeluErf, 1, kFloats>(tables, LoopId::kGeluErf);
  Put<f::GeluTanh, 1, kFloats>(tables, LoopId::kGeluTanh);
  Put<f::Silu, 1, kFloats>(tables, LoopId::kSilu);
  Put<f::Mish, 1, kFloats>(tables, LoopId::kMish);
  Put<f::Elu, 1, kFloats>(tables, LoopId::kElu);
  Put<f::Selu, 1, kFloats>(tables, LoopId::kSelu);
  Put<f::Celu, 1, kFloats>(tables, LoopId::kCelu);
  Put<f::Relu6, 1, kInts | kFloats>(tables, LoopId::kRelu6);
  Put<f::HardSigmoid, 1, kFloats>(tables, LoopId::kHardSigmoid);
  Put<f::HardSwish, 1, kFloats>(tables, LoopId::kHardSwish);
  Put<f::LeakyRelu, 1, kFloats>(tables, LoopId::kLeakyRelu);
  Put<f::Softplus, 1, kFloats>(tables, LoopId::kSoftplus);
  Put<f::LogSigmoid, 1, kFloats>(tables, LoopId::kLogSigmoid);
  Put<f::HardShrink, 1, kFloats>(tables, LoopId::kHardShrink);
  Put<f::SoftShrink, 1, kFloats>(tables, LoopId::kSoftShrink);
  Put<f::Threshold, 1, kInts | kFloats>(tables, LoopId::kThreshold);
}

}  // namespace palimpsest::kernels::PAL_LEVEL
