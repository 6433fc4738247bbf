// Functionalize: a program that writes -> a graph in which no operator writes (phase kFunctional).
//
//   --- before
//   f: "f32[10][1]" = torch.ops.aten.full.default([10], 0)
//   select: "f32[][]" = torch.ops.aten.select.int(f, 0, 0)
//   foo = torch.ops.my.foo.default(select)
//   return (f,)
//   --- after
//   f: "f32[10][1]" = torch.ops.aten.full.default([10], 0)
//   auto_functionalized_v2 =
//   torch.ops.higher_order.auto_functionalized_v2(torch.ops.my.foo.default,
//       _x_base_index = 0, _x_size = [], _x_stride = [], _x_storage_offset = 0, _all_bases = [f])
//   getitem_1: "f32[10][1]" = auto_functionalized_v2[1]
//   return (getitem_1,)
//
// Everything is on the base (Note [Bases] in functionalize.cc): a base is a *storage*, found by the
// identity of the storage in `inputs` and in what meta functions say; a write to a view is a new
// version of its base; any other view of that base is regenerated from the newest version when it
// is next read. Strides are kept: every regenerated view has its eager sizes, strides and offset.
//
// The base's tensor is the first tensor that covers its whole storage densely; where there is none
// (an input that shows a part of its storage, two inputs on one storage, a gapped result) it is
// torch.ops.palimpsest.storage(x): the 1-d view of everything in x's dtype.
#pragma once

#include <span>

#include "base/remark.h"
#include "ir/graph.h"
#include "palimpsest/result.h"
#include "palimpsest/value.h"

namespace palimpsest::functionalize {

struct FunctionalizeOptions {
  // kV2: one new version per distinct base (auto_functionalized_v2). kV1: one per written argument,
  // on clones of the views, scattered back: kept for reading and comparing.
  enum class Version : uint8_t { kV1, kV2 } version = Version::kV2;
};

// `inputs`: shape-only values, one per graph input; inputs that share a storage share a StorageRef
// (this is the call signature). `known_data`: numbers read ahead, per node of `program`.
// The result has concrete types, and `write_backs` for the storages of inputs that the program
// writes, each the newest version of the base.
Result<ir::Graph> Functionalize(const ir::Graph& program, std::span<const Value> inputs,
                                const std::map<ir::NodeId, Value>& known_data,
                                const FunctionalizeOptions& options, RemarkSink& remarks);

}  // namespace palimpsest::functionalize
