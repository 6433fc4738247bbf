// Binary functions of views of their arguments: diff (of neighbours), prelu (weight per channel).
#include <fmt/format.h>

#include "kernels/pointwise.h"
#include "kernels/pointwise_run.h"
#include "kernels/reduce_dims.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {
namespace {

// The two views whose elements are combined.
struct Pair {
  View x, y;
};

Result<View> LayoutOf(const Pair& pair) {
  IteratorConfig config = IteratorConfig::Binary();
  config.AddOutput().AddInput(pair.x).AddInput(pair.y);
  PAL_TRY(Iteration iteration, Iteration::Build(config));
  return iteration.output(0);
}

// ---- diff: x[1:] - x[:-1] along a dim; of bools, whether they differ.

Result<Pair> Neighbours(std::span<const Value> args) {
  const Tensor& self = args[0].tensor();
  if (self.dim() == 0) {
    return Refused("bad_argument", "diff expects input to be at least one-dimensional");
  }
  if (args[1].ToInt() != 1 || !args[3].IsNone() || !args[4].IsNone()) {
    return Unsupported("diff with n other than 1, prepend or append has no kernel");
  }
  PAL_TRY(int64_t wrapped, WrapDim(args[2].ToInt(), self.dim()));
  size_t dim = static_cast<size_t>(wrapped);
  Pair pair{self.view(), self.view()};
  int64_t size = self.sizes[dim] > 0 ? self.sizes[dim] - 1 : 0;
  pair.x.sizes[dim] = pair.y.sizes[dim] = size;
  if (size > 0) pair.x.offset += self.strides[dim];
  return pair;
}
Status DiffMeta(op::MetaCall& call) {
  PAL_TRY(Pair pair, Neighbours(call.args));
  PAL_TRY(View view, LayoutOf(pair));
  call.results.push_back(op::ResultSpec::Fresh(std::move(view)));
  return {};
}
Status DiffKernel(op::KernelCall& call) {
  if (call.results[0].numel() == 0) return {};
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(Pair pair, Neighbours(call.args));
  Tensor x(pair.x, self.storage), y(pair.y, self.storage);
  PointwiseInput inputs[] = {{&x, {}}, {&y, {}}};
  Scalar alpha = Scalar::Int(1);
  LoopId loops = self.dtype == DType::kB8 ? LoopId::kLogicalXor : LoopId::kSub;
  return RunPointwise(loops, self.dtype, call.results[0], inputs, {&alpha, 1});
}

// ---- prelu: x, or weight * x where x is not positive; the weight counts along dim 1.

Result<Pair> WithWeight(std::span<const Value> args) {
  const Tensor& self = args[0].tensor();
  const Tensor& weight = args[1].tensor();
  if (self.dtype != weight.dtype) {
    return Refused("dtype_mismatch", "prelu: Type promoting not supported.");
  }
  if (!IsFloating(self.dtype)) {
    return Refused("unsupported_dtype",
                   fmt::format("prelu is not implemented for {}", TorchName(self.dtype)));
  }
  int64_t channels = self.dim() > 1 ? self.sizes[1] : 1;
  if (weight.dim() > 1 || (weight.numel() != 1 && weight.numel() != channels)) {
    return Refused("broadcast_mismatch",
                   fmt::format("prelu: the weight must have 1 or {} elements in one dim, it is {}",
                               channels, ToString(weight.view())));
  }
  Pair pair{self.view(), weight.view()};
  if (self.dim() == weight.dim()) return pair;
  pair.y.sizes = Dims(self.dim(), 1);
  if (self.dim() > 1) pair.y.sizes[1] = weight.numel();
  pair.y.strides = ContiguousStrides(pair.y.sizes);
  if (weight.dim() == 1) {
    for (int64_t& stride : pair.y.strides) stride *= weight.strides[0];
  }
  return pair;
}
Status PReluMeta(op::MetaCall& call) {
  PAL_TRY(WithWeight(call.args));
  View view = call.args[0].tensor().view();  // made like self, whatever the weight
  view.strides = PreserveStrides(view);
  call.results.push_back(op::ResultSpec::Fresh(std::move(view)));
  return {};
}
Status PReluKernel(op::KernelCall& call) {
  if (call.results[0].numel() == 0) return {};
  PAL_TRY(Pair pair, WithWeight(call.args));
  Tensor x(pair.x, call.args[0].tensor().storage), y(pair.y, call.args[1].tensor().storage);
  PointwiseInput inputs[] = {{&x, {}}, {&y, {}}};
  return RunPointwise(LoopId::kPRelu, x.dtype, call.results[0], inputs, {});
}

}  // namespace

Status RegisterBinaryOfViews(op::OpTable& table) {
  op::Op diff;
  PAL_TRY(diff.schema, op::ParseSchema("aten::diff(Tensor self, int n=1, int dim=-1, Tensor? "
                                       "prepend=None, Tensor? append=None) -> Tensor"));
  diff.meta = DiffMeta;
  diff.kernel = DiffKernel;
  PAL_TRY(table.Register(std::move(diff)));
  op::Op prelu;
  PAL_TRY(prelu.schema, op::ParseSchema("aten::prelu(Tensor self, Tensor weight) -> Tensor"));
  prelu.meta = PReluMeta;
  prelu.kernel = PReluKernel;
  return table.Register(std::move(prelu));
}

}  // namespace palimpsest::kernels
