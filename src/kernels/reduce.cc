#include "kernels/reduce.h"

namespace palimpsest::kernels {

Status RegisterReductions(op::OpTable& table) {
  for (auto* family :
       {RegisterReduceSums, RegisterReduceExtremes, RegisterReduceLogic, RegisterReduceMoments,
        RegisterReduceNorms, RegisterReduceMedian, RegisterScans}) {
    PAL_TRY(family(table));
  }
  return {};
}

}  // namespace palimpsest::kernels
