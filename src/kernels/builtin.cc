#include "kernels/builtin.h"

#include "kernels/attention.h"
#include "kernels/composites.h"
#include "kernels/convolution.h"
#include "kernels/copy.h"
#include "kernels/factories.h"
#include "kernels/fourier.h"
#include "kernels/indexing.h"
#include "kernels/losses.h"
#include "kernels/matmul.h"
#include "kernels/norm.h"
#include "kernels/own_ops.h"
#include "kernels/pointwise.h"
#include "kernels/pooling.h"
#include "kernels/random.h"
#include "kernels/recurrent.h"
#include "kernels/reduce.h"
#include "kernels/resampling.h"
#include "kernels/resampling_grid.h"
#include "kernels/scatter.h"
#include "kernels/shaping.h"
#include "kernels/softmax.h"
#include "kernels/symbolic.h"
#include "kernels/views.h"

namespace palimpsest::kernels {

Status RegisterBuiltins(op::OpTable& table) {
  for (auto* family :
       {RegisterOwnOperators, RegisterCopies,      RegisterViews,      RegisterFactories,
        RegisterSymbolic,     RegisterRandom,      RegisterIndexing,   RegisterScatters,
        RegisterShaping,      RegisterPointwise,   RegisterReductions, RegisterMatmul,
        RegisterConvolution,  RegisterNorms,       RegisterSoftmax,    RegisterAttention,
        RegisterPooling,      RegisterComposites,  RegisterLosses,     RegisterRecurrent,
        RegisterResampling,   RegisterGridSampler, RegisterFourier}) {
    PAL_TRY(family(table));
  }
  return {};
}

}  // namespace palimpsest::kernels
