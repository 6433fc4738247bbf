// ExpandComposites: functional forms with a hidden copy become a copy, a view, and a write.
//
//   --- before
//   slice_scatter: "f32[4][1]" = torch.ops.aten.slice_scatter.default(x, y, 0, 1, 3)
//   return (slice_scatter,)
//   --- after
//   slice_scatter: "f32[4][1]" = torch.ops.palimpsest.clone_strides.default(x)
//   slice_1 = torch.ops.aten.slice.Tensor(slice_scatter, 0, 1, 3, 1)
//   copy_ = torch.ops.aten.copy_.default(slice_1, y)
//   return (slice_scatter,)
//
// The same for select_scatter, diagonal_scatter, as_strided_scatter; for auto_functionalized (both
// versions: copies of the bases, the views rebuilt from the keys, the operator called); for
// _foreach_*_ with explicit lists (one in-place operator per element); for regions that only wrap
// (wrap_with_set_grad_enabled: inlined); and for the write-backs of a graph that was functionalized
// elsewhere (a copy_ into the input at the end). What comes out is a program: phase kProgram.
//
// Syntactic: no sizes are looked at. Why at all: the middle of the compiler then knows one kind of
// copy and one kind of write, and decides about all copies at one place (reinplace/).
#pragma once

#include "base/remark.h"
#include "ir/graph.h"
#include "palimpsest/result.h"

namespace palimpsest::passes {

// Returns the number of nodes that were expanded.
Result<int> ExpandComposites(ir::Graph& graph, RemarkSink& remarks);

}  // namespace palimpsest::passes
