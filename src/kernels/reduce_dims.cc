#include "kernels/reduce_dims.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/pointwise_row.h"

namespace palimpsest::kernels {

Result<int64_t> WrapDim(int64_t dim, size_t rank) {
  int64_t n = std::max<int64_t>(static_cast<int64_t>(rank), 1);
  if (dim < -n || dim >= n) {
    return Refused(
        "dim_out_of_range",
        fmt::format("Dimension out of range (expected to be in range of [{}, {}], but got "
                    "{})",
                    -n, n - 1, dim));
  }
  return dim < 0 ? dim + n : dim;
}

Result<ReduceDims> ChooseReduceDims(const View& input, const Value& dim, bool keepdim) {
  ReduceDims result;
  result.keepdim = keepdim;
  bool all = dim.IsNone() || (dim.IsList() && dim.list().empty());
  result.reduced.resize(input.dim(), all);
  if (!all) {
    bool seen_scalar = false;
    for (int64_t d : dim.ToDims()) {
      PAL_TRY(int64_t wrapped, WrapDim(d, input.dim()));
      bool repeated = input.dim() == 0 ? seen_scalar : result.reduced[static_cast<size_t>(wrapped)];
      if (repeated) {
        return Refused("dim_repeated",
                       fmt::format("dim {} appears multiple times in the list of dims", wrapped));
      }
      seen_scalar = true;
      if (input.dim() > 0) result.reduced[static_cast<size_t>(wrapped)] = true;
    }
  }
  for (size_t d = 0; d < input.dim(); ++d) {
    if (result.reduced[d]) result.count *= input.sizes[d];
    if (!result.reduced[d]) result.sizes.push_back(input.sizes[d]);
    if (result.reduced[d] && keepdim) result.sizes.push_back(1);
  }
  return result;
}

ReduceDims ReduceNothing(const View& input) {
  ReduceDims result;
  result.reduced.resize(input.dim(), false);
  result.sizes = input.sizes;
  return result;
}

Status AddReduceResult(op::MetaCall& call, const View& result, int out_arg) {
  if (out_arg < 0) {
    call.results.push_back(op::ResultSpec::Fresh(result));
    return {};
  }
  call.results.push_back(op::ResultSpec::Same(out_arg));
  const Tensor& out = call.args[static_cast<size_t>(out_arg)].tensor();
  if (out.sizes == result.sizes) return {};
  View resized{out.dtype, result.sizes, ContiguousStrides(result.sizes), out.offset};
  return ResizeOutput(call, out_arg, resized);
}

Result<Tensor> ReduceTarget(const op::KernelCall& call, const View& result, size_t index,
                            int out_arg) {
  if (out_arg < 0) return call.results[index];
  const Tensor& out = call.args[static_cast<size_t>(out_arg)].tensor();
  if (out.sizes == result.sizes) return out;
  return GrownOutput(out, {out.dtype, result.sizes, ContiguousStrides(result.sizes), out.offset});
}

}  // namespace palimpsest::kernels
