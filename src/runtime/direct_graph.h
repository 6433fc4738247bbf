// DirectGraph: what a plan really runs, written as a program again.
//
//   --- optimized
//   auto_functionalized_v2 = torch.ops.higher_order.auto_functionalized_v2(
//       torch.ops.my.foo.default, _x_base_index = 0, _x_size = [], ..., _all_bases = [full])
//   getitem_1: "f32[10][1]cpu" = auto_functionalized_v2[1]
//   return (getitem_1,)
//   --- direct
//   select: "f32[][]cpu" = torch.ops.aten.select.int(full, 0, 0)
//   foo = torch.ops.my.foo.default(select)
//   return (full,)
//
// Operators are called directly on the places of their operands, in the plan's order; a copy step
// is a clone, where it copies a whole value into new memory, or torch.ops.palimpsest.copy_bytes. A
// result that is computed straight into memory which holds other values already has a "# place:"
// line. For people: `explain`, the demo, golden tests.
#pragma once

#include "ir/graph.h"
#include "palimpsest/result.h"
#include "runtime/executable.h"

namespace palimpsest::runtime {

Result<ir::Graph> DirectGraph(const ir::Graph& graph, const interpret::Trace& trace,
                              const reinplace::BufferPlan& plan);

}  // namespace palimpsest::runtime
