// ReturnAssignedState: results that are a buffer's new value become the buffer.
//
// `self.count = self.count + x; return self.count` is exported as
//
//   add = torch.ops.aten.add.Tensor(b_count, x)
//   copy__default = torch.ops.aten.copy_.default(b_count, add)
//   return (add,)
//
// In the model the result *is* the buffer. The copies that export itself puts at the end of a graph
// are told from the user's own copy_ by their name: `return (copy__default,)`. Only where the new
// value has the buffer's type, sizes and strides: an assignment may change them, a copy does not.
#pragma once

#include "ir/graph.h"

namespace palimpsest::importing {

void ReturnAssignedState(ir::Graph& graph);

}  // namespace palimpsest::importing
