// Which dims a reduction takes away, and the shape of its result.
#pragma once

#include <span>

#include "op/op.h"
#include "palimpsest/tensor.h"

namespace palimpsest::kernels {

struct ReduceDims {
  SmallVector<bool, 6> reduced;  // per dim of the input
  bool keepdim = false;
  Dims sizes;         // of the result
  int64_t count = 1;  // elements that go into one result
};

// `dim`: None or an empty list (all dims), an integer, or a list. Errors "dim_out_of_range",
// "dim_repeated".
Result<ReduceDims> ChooseReduceDims(const View& input, const Value& dim, bool keepdim);
// Every element is its own result.
ReduceDims ReduceNothing(const View& input);
// -n .. n-1 (of a 0-dim tensor 0 and -1) -> 0 .. n-1. Error "dim_out_of_range".
Result<int64_t> WrapDim(int64_t dim, size_t rank);

// The result `index` of a reduction: new, contiguous; or with `out` given (argument `arg`) that
// tensor, resized to contiguous where its shape differs.
Status AddReduceResult(op::MetaCall& call, const View& result, int out_arg);
// The tensor that the kernel writes: the fresh result, or the out argument, grown.
Result<Tensor> ReduceTarget(const op::KernelCall& call, const View& result, size_t index,
                            int out_arg);

}  // namespace palimpsest::kernels
