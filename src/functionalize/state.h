// The walk of Functionalize over a program and its trace. Internal to functionalize/.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/remark.h"
#include "functionalize/bases.h"
#include "functionalize/functionalize.h"
#include "interpret/interpret.h"
#include "ir/emitter.h"

namespace palimpsest::functionalize {

// One call of the program: the operator, and what it was called with and gave, from the trace.
struct Call {
  const op::Op* op = nullptr;
  const ir::Node* node = nullptr;  // of the program
  std::string place;               // the user's source line
  std::vector<Value> args;
  Value result;
};

struct State {
  const FunctionalizeOptions& options;
  RemarkSink& remarks;
  ir::Graph graph;  // the result
  ir::Emitter emit{&graph};
  Bases bases{&emit};

  // functionalize.cc
  Status ProcessGraph(const ir::Graph& program, const interpret::Trace& trace);
  Status ProcessPieces(const ir::Graph& program, const ir::Node& node,
                       const std::vector<interpret::Trace::Piece>& pieces);
  Status ProcessRegion(const ir::Graph& region, const interpret::Trace& trace);
  Status ProcessNode(const ir::Graph& program, const interpret::Trace& trace, size_t i);
  Status ProcessCall(const Call& call);
  // An operator that writes nothing: the same call on functional values, if it computes anything.
  Status Compute(const Call& call);
  // A value of the program as an argument of the functional graph: tensors from the newest
  // versions.
  Result<ir::Argument> Read(const Value& value);
  Result<std::vector<ir::Argument>> ReadAll(const std::vector<Value>& values);
  // Fresh tensors in the result of `node` become bases; element nodes are made for lists. `offset`
  // is the place of the operator's first result in the node's list; < 0: the node is the result.
  void AddResults(const Call& call, const Value& result, ir::NodeId node);
  void AddElements(const Call& call, const Value::List& list, ir::NodeId node);

  // in_place.cc: a built-in that writes one argument and has a functional twin.
  Status InPlace(const Call& call, size_t written);
  // custom_call.cc: any other operator that writes.
  Status CustomCall(const Call& call);

  // Names of the getitem nodes of the program: (call, index) -> name.
  std::map<std::pair<const ir::Node*, int64_t>, std::string> element_names = {};
  // Where the source places of the graph that is gone through begin in the result's.
  int first_place = 0;
};

}  // namespace palimpsest::functionalize
