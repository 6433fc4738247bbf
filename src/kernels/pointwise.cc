#include "kernels/pointwise.h"

namespace palimpsest::kernels {

Status RegisterPointwise(op::OpTable& table) {
  for (auto* family : {RegisterUnary, RegisterUnaryFloat, RegisterUnaryActivation, RegisterBinary,
                       RegisterBinaryDivision, RegisterBinaryCompare, RegisterBinaryBits,
                       RegisterTernary, RegisterForeach, RegisterBinaryOfViews}) {
    PAL_TRY(family(table));
  }
  return {};
}

}  // namespace palimpsest::kernels
