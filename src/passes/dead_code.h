// RemoveDeadCode: removes what nobody wants from a functional graph.
//
//   --- before
//   neg: "f32[4][1]" = torch.ops.aten.neg.default(x)
//   return (x,)
//   --- after
//   return (x,)
//
// Wanted are: outputs, write-backs, operators with an effect, random operators (eager advances the
// generator even if nobody uses the result), and operators that can refuse because of data. Needs a
// functional graph: there a write is wanted exactly if its new version is. Runs after all meta
// functions have run (Functionalize): eager refuses a bad line even if nobody wants its result.
//
// Note [Only the check]: an indexed write whose result nobody wants becomes the indexed *read* with
// the same indices: it refuses in the same cases, and copies nothing.
#pragma once

#include "base/remark.h"
#include "ir/graph.h"
#include "palimpsest/result.h"

namespace palimpsest::passes {

// Returns the number of nodes removed.
Result<int> RemoveDeadCode(ir::Graph& graph, RemarkSink& remarks);

}  // namespace palimpsest::passes
