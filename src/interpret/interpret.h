// The eager interpreter: a graph op by op on real storages, views alias, writes write. It is the
// oracle that everything else is compared with; and the same walk on metadata only (InferMeta).
//
// Any phase up to kOptimized runs: auto_functionalized(_v2) clones its bases, rebuilds the views
// and calls the operator; write-backs are copied at the end.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "palimpsest/result.h"
#include "palimpsest/value.h"

namespace palimpsest::interpret {

struct WalkOptions {
  op::Generator* generator = nullptr;
  // Numbers that `item` and its like would read from memory, by node: InferMeta needs each.
  std::map<ir::NodeId, Value> known_data;
  // False: a value is let go after its last use, and Trace keeps outputs only (less memory).
  bool keep_values = true;
};

// What auto_functionalized(_v2) handed to its operator.
struct InnerCall {
  const op::Op* op = nullptr;
  std::vector<Value> args;     // of the operator: views of `bases`, and what is only read
  std::vector<Tensor> bases;   // the copies, one per base (ir::FunctionalizedCall::bases)
  std::vector<Value> returns;  // of the operator
};

// What a walk saw.
struct Trace {
  // Per node: its value (a tensor, a number, a list). Tensors carry `object` ids. After the walk a
  // tensor object has the view that it had when the node ran, not what a later t_() made of it.
  std::vector<Value> values;
  // Per kCall node: its argument values, schema defaults filled in, as they were when it ran. For a
  // higher-order node: positional, then keyword arguments.
  std::vector<std::vector<Value>> args;
  std::vector<Value> outputs;
  // Per auto_functionalized(_v2) node: the call inside.
  std::map<ir::NodeId, InnerCall> inner_calls;
  // Per cond or wrapped region: which subgraph ran, and what it saw.
  struct Region;
  std::map<ir::NodeId, std::shared_ptr<Region>> regions;
  // Input objects whose view was changed by a metadata-only write: input index -> new view.
  std::map<size_t, View> relayouts;
};

struct Trace::Region {
  int subgraph = -1;
  Trace trace;
};

// `inputs`: one per leading kInput node. Errors carry the node's source place in Error::place; all
// that is written before the failure stays written.
Result<Trace> Interpret(const ir::Graph& graph, std::span<const Value> inputs,
                        const WalkOptions& options = {});
// The same on shape-only tensors: no memory is touched. Storage identity shows the aliasing.
Result<Trace> InferMeta(const ir::Graph& graph, std::span<const Value> inputs,
                        const WalkOptions& options = {});

}  // namespace palimpsest::interpret
