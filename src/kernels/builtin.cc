#include "kernels/builtin.h"

#include "kernels/copy.h"
#include "kernels/factories.h"
#include "kernels/own_ops.h"
#include "kernels/pointwise.h"
#include "kernels/random.h"
#include "kernels/reduce.h"
#include "kernels/symbolic.h"
#include "kernels/views.h"

namespace palimpsest::kernels {

Status RegisterBuiltins(op::OpTable& table) {
  for (auto* family : {RegisterOwnOperators, RegisterCopies, RegisterViews, RegisterFactories,
                       RegisterSymbolic, RegisterRandom, RegisterPointwise, RegisterReductions}) {
    PAL_TRY(family(table));
  }
  return {};
}

}  // namespace palimpsest::kernels
