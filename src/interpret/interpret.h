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
  // What is read from memory while the graph runs, by node: InferMeta needs each. Of `item` and its
  // like the number; of a higher-order node its decisions (Note [Decisions]), a list.
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

// Note [Decisions]. Which branch of a cond runs, how often a loop goes round, which number an
// `item` inside a region gives: all that a higher-order node reads from memory in order to go on,
// bools and integers, in the order in which it does. A walk on memory records them, a walk on
// metadata plays them back, and so both see the same regions.

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
  // Per higher-order node with regions: what ran, in order.
  struct Piece;
  std::map<ir::NodeId, std::vector<Piece>> pieces;
  std::map<ir::NodeId, Value::List> decisions;  // of the higher-order nodes that made some
  // Input objects whose view was changed by a metadata-only write: input index -> new view.
  std::map<size_t, View> relayouts;
};

// Either a region, or a built-in that joins regions (the rows of a map are selected and stacked).
struct Trace::Piece {
  int subgraph = -1;
  std::shared_ptr<const Trace> region;

  const op::Op* op = nullptr;
  std::vector<Value> args;
  Value result;
};

// Does the operator read a number from memory (item)?
bool ReadsNumber(const op::Op& op);

// `inputs`: one per leading kInput node. Errors carry the node's source place in Error::place; all
// that is written before the failure stays written.
Result<Trace> Interpret(const ir::Graph& graph, std::span<const Value> inputs,
                        const WalkOptions& options = {});
// The same on shape-only tensors: no memory is touched. Storage identity shows the aliasing.
Result<Trace> InferMeta(const ir::Graph& graph, std::span<const Value> inputs,
                        const WalkOptions& options = {});

}  // namespace palimpsest::interpret
