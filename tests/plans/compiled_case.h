// A program case, compiled as far as its plan, and what running a plan of it gives. The interpreter
// on the program as written is the oracle.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../cases_runner/json.h"
#include "../cases_runner/tensors.h"
#include "interpret/interpret.h"
#include "ir/graph.h"
#include "reinplace/buffer_plan.h"
#include "reinplace/flow.h"

namespace palimpsest::plans {

struct CompiledCase {
  std::string id;
  cases::Memory memory;
  std::vector<Value> args;
  std::vector<std::vector<std::byte>> before;  // the storages of the call
  ir::Graph program, optimized;
  interpret::Trace trace;
  reinplace::FlowGraph flow;
  reinplace::BufferPlan plan;
};

// kUnsupported and errors of the program as Functionalize and Reinplace give them.
Result<CompiledCase> CompileCase(const cases::Json& c);

// What a call leaves: the bytes of each result, of each storage, and who shares memory with whom.
struct Outcome {
  std::string error;  // of the call; then nothing else counts
  std::vector<std::vector<std::byte>> results, storages;
  std::vector<int> memory;  // per result: number of a storage of the call, or of new memory
  friend bool operator==(const Outcome&, const Outcome&) = default;
};
Outcome Interpreted(const CompiledCase& c);
Outcome Executed(const CompiledCase& c, const reinplace::BufferPlan& plan);

// The steps in another order, edges renumbered. REQUIRES: `order` is a permutation that the edges
// allow.
reinplace::BufferPlan InOrder(const reinplace::BufferPlan& plan, const std::vector<int>& order);

}  // namespace palimpsest::plans
