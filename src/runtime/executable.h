// Executable: one call signature, compiled: a flat list of instructions over one arena.
//
//   PAL_TRY(auto executable, Lower(graph, trace, plan));
//   PAL_TRY(auto results, Execute(*executable, frame));
//
// An executable is immutable and shared between sessions; a Frame belongs to one session. All
// places are resolved to (buffer, byte offset) when lowering, so that a run only adds addresses.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "interpret/interpret.h"
#include "ir/graph.h"
#include "palimpsest/result.h"
#include "palimpsest/value.h"
#include "reinplace/buffer_plan.h"

namespace palimpsest::runtime {

// Where a buffer of the plan lies while a call runs.
struct BufferSlot {
  reinplace::Buffer::Kind kind;
  int64_t bytes;
  int64_t arena_offset = 0;  // kTemp
  int storage = -1;          // kInput: index into Frame::storages
};

struct Instruction {
  bool is_copy = false;
  // A copy: runs of bytes; `staged` when a source meets a destination of the same step.
  std::vector<reinplace::CopyStep::Run> runs;
  bool staged = false;
  // A computation: the operator, its arguments (tensors hold views, their storage is filled in per
  // call), and where operands and results lie.
  const op::Op* op = nullptr;
  std::vector<Value> args;
  std::vector<reinplace::Place> operands;
  std::vector<reinplace::Place> results;
  std::string name;  // for errors: "aten::add.Tensor (add_1)"
  std::string source_place;
};

struct Executable {
  std::vector<BufferSlot> buffers;
  std::vector<Instruction> instructions;
  // The flat results: a place, or a value known when compiling (a number, None, a list of places).
  struct Output {
    bool is_place = false;
    reinplace::Place place;
    Value value;
  };
  std::vector<Output> outputs;
  int64_t arena_bytes = 0, arena_lower_bound = 0;
  // Why it cannot be executed: an operator that is known by its schema only.
  Status runnable;
  std::string largest_operator;  // named when the arena cannot be allocated
};

// What one call runs on.
struct Frame {
  std::vector<StorageRef> storages;  // of the inputs, numbered as in the signature
  StorageRef arena;                  // kept from call to call, grown when needed
  op::Generator* generator = nullptr;
  int64_t copied_bytes = 0;  // out: counted while running
};

// REQUIRES: `trace` is InferMeta of `graph`, `plan` its checked plan.
Result<std::shared_ptr<const Executable>> Lower(const ir::Graph& graph,
                                                const interpret::Trace& trace,
                                                const reinplace::BufferPlan& plan);

// Runs all instructions. On failure the error names the operator and its source line.
Result<std::vector<Value>> Execute(const Executable& executable, Frame& frame);

// The graph of phase kPlanned: where each value lies ("# place:") and what comes before what.
ir::Graph PlannedGraph(const ir::Graph& graph, const reinplace::BufferPlan& plan,
                       const Executable& executable);

}  // namespace palimpsest::runtime
