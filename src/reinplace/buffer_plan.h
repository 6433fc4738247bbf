// BufferPlan: which buffer each value lives in, in which order the nodes run, and what is copied.
//
// Decided by Reinplace (reinplace.h), checked by CheckPlan (checker.h), executed by runtime/.
// All offsets and sizes here are bytes unless said otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/id.h"
#include "ir/graph.h"
#include "palimpsest/tensor.h"

namespace palimpsest::reinplace {

using BufferId = Id<struct BufferTag>;

struct Buffer {
  enum class Kind : uint8_t {
    kInput,   // the storage of an input: `storage` = its number in order of appearance
    kTemp,    // in the arena
    kOutput,  // a fresh result: one allocation of its own per call
  };
  Kind kind = Kind::kTemp;
  int64_t bytes = 0;
  int storage = -1;
  ir::NodeId input;       // kInput: the first input that shows the storage
  bool may_write = true;  // false: an input that the program does not write
};

// An operand or result: a view whose offset counts from the start of the buffer.
struct Place {
  BufferId buffer;
  View view;
};

// One *parallel move*: all sources are read before anything is written.
struct CopyStep {
  struct Run {
    BufferId source, destination;
    int64_t source_offset, destination_offset, bytes;
    int64_t count = 1, source_stride = 0, destination_stride = 0;  // repeated `count` times
  };
  std::vector<Run> runs;
  int64_t bytes = 0;  // written: the copied bytes of this step
  // For explain: why the bytes had to move.
  std::string why;  // "save", "place", "home", "output"
  int base = -1;    // index into BufferPlan::bases: on whose behalf
  ir::NodeId node;  // of the functional graph, for which it is made; invalid: the end
};

// One node of the functional graph runs. Higher-order auto_functionalized nodes run their operator.
struct ComputeStep {
  ir::NodeId node;
  // One per tensor operand, in the order of ForEachTensor over the operator's arguments.
  std::vector<Place> operands;
  // One per fresh tensor result of the operator, lists flattened. The result of a tied operator has
  // the place of its tied operand.
  std::vector<Place> results;
  // A copy that is too fine for runs (Note [Coarse bases]) runs as the program's own copy operator:
  // it counts as a copy step of this many bytes.
  int64_t copied_bytes = 0;
  int base = -1;  // of the copy
};

struct Step {
  std::variant<CopyStep, ComputeStep> what;
  std::vector<int> after;  // indices of steps that must come before: derived from the places alone
};

struct OutputPlace {
  int output = 0;  // index into the flat results
  Place place;     // in an input's buffer: it aliases that input
};

// What happened to one base that is written, or copied for other reasons; for explain.
struct BaseReport {
  ir::NodeId node;   // the input, or the node that makes its first version
  std::string name;  // the input's name, or the first node of the base
  int64_t bytes = 0;
  std::string verdict;  // "in place", "copied", "patched", "snapshot"
  int64_t copied_bytes = 0;
  std::string reader, writer;  // node names
  std::string reader_at, writer_at;
  std::string why;
};

struct BufferPlan {
  std::vector<Buffer> buffers;
  std::vector<Step> steps;  // a legal order; `after` holds the edges
  std::vector<OutputPlace> outputs;
  int64_t copied_bytes = 0;          // the planner's own count
  int64_t lower_bound = 0;           // no plan copies fewer bytes (search.cc); equal: proven
  int64_t program_copied_bytes = 0;  // what the program as written copies
  int clones = 0;                    // whole-base copies among the copy steps
  std::vector<BaseReport> bases;
};

}  // namespace palimpsest::reinplace
