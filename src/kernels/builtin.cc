#include "kernels/builtin.h"

#include "kernels/attention.h"
#include "kernels/convolution.h"
#include "kernels/copy.h"
#include "kernels/factories.h"
#include "kernels/indexing.h"
#include "kernels/matmul.h"
#include "kernels/norm.h"
#include "kernels/own_ops.h"
#include "kernels/pointwise.h"
#include "kernels/pooling.h"
#include "kernels/random.h"
#include "kernels/reduce.h"
#include "kernels/scatter.h"
#include "kernels/shaping.h"
#include "kernels/softmax.h"
#include "kernels/symbolic.h"
#include "kernels/views.h"

namespace palimpsest::kernels {

Status RegisterBuiltins(op::OpTable& table) {
  for (auto* family : {RegisterOwnOperators, RegisterCopies, RegisterViews, RegisterFactories,
                       RegisterSymbolic, RegisterRandom, RegisterIndexing, RegisterScatters,
                       RegisterShaping, RegisterPointwise, RegisterReductions,
                       RegisterMatmul, RegisterConvolution, RegisterNorms, RegisterSoftmax,
                       RegisterAttention, RegisterPooling}) {
    PAL_TRY(family(table));
  }
  return {};
}

}  // namespace palimpsest::kernels
