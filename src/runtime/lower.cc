// Lower: a plan -> instructions. Lifetimes of temporary buffers become arena offsets (plan/); every
// operator call gets its argument values, with the tensors left open.

#include <fmt/format.h>

#include <algorithm>

#include "ir/auto_functionalized.h"
#include "plan/arena.h"
#include "runtime/executable.h"

namespace palimpsest::runtime {
namespace {

using reinplace::Buffer;
using reinplace::BufferPlan;
using reinplace::ComputeStep;
using reinplace::CopyStep;
using reinplace::Place;

struct State {
  const ir::Graph& graph;
  const interpret::Trace& trace;
  const BufferPlan& plan;
  Executable out;

  Status Process() {
    PAL_TRY(AddInstructions());
    PlaceBuffers();
    return AddOutputs();
  }

  Status AddInstructions() {
    for (const reinplace::Step& step : plan.steps) {
      if (const auto* copy = std::get_if<CopyStep>(&step.what)) {
        out.instructions.push_back(Copy(*copy));
      } else {
        PAL_TRY(Instruction instruction, Compute(std::get<ComputeStep>(step.what)));
        out.instructions.push_back(std::move(instruction));
      }
    }
    return {};
  }

  static Instruction Copy(const CopyStep& copy) {
    Instruction instruction;
    instruction.is_copy = true;
    instruction.runs = copy.runs;
    instruction.staged = NeedsStage(copy);
    return instruction;
  }

  // Does a source of the parallel move meet a destination of it? Extents decide: a stage too many
  // costs time, never correctness.
  static bool NeedsStage(const CopyStep& copy) {
    struct Extent {
      int buffer;
      int64_t begin, end;
      bool source;
    };
    std::vector<Extent> extents;
    for (const CopyStep::Run& r : copy.runs) {
      if (r.bytes == 0 || r.count == 0) continue;
      auto add = [&](reinplace::BufferId buffer, int64_t offset, int64_t stride, bool source) {
        int64_t reach = stride * (r.count - 1);
        extents.push_back({buffer.index, offset + std::min<int64_t>(reach, 0),
                           offset + std::max<int64_t>(reach, 0) + r.bytes, source});
      };
      add(r.source, r.source_offset, r.source_stride, true);
      add(r.destination, r.destination_offset, r.destination_stride, false);
    }
    std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
      return std::tie(a.buffer, a.begin) < std::tie(b.buffer, b.begin);
    });
    int buffer = -1;
    int64_t source_end = 0, destination_end = 0;  // of what came before in this buffer
    for (const Extent& e : extents) {
      if (e.buffer != buffer) {
        buffer = e.buffer;
        source_end = destination_end = -1;
      }
      if (e.begin < (e.source ? destination_end : source_end)) return true;
      int64_t& end = e.source ? source_end : destination_end;
      end = std::max(end, e.end);
    }
    return false;
  }

  Result<Instruction> Compute(const ComputeStep& step) {
    const ir::Node& node = graph.node(step.node);
    Instruction instruction;
    auto inner = trace.inner_calls.find(step.node);
    if (inner != trace.inner_calls.end()) {
      instruction.op = inner->second.op;
      instruction.args = inner->second.args;
    } else {
      instruction.op = node.op;
      instruction.args = trace.args[static_cast<size_t>(step.node.index)];
    }
    if (instruction.op == nullptr) {
      return InternalError(fmt::format("node '{}' runs no operator", node.name));
    }
    if (!instruction.op->kernel) NoteMissingKernel(*instruction.op, node);
    instruction.operands = step.operands;
    instruction.results = step.results;
    instruction.name = fmt::format("{} ('{}')", instruction.op->schema.Key(), node.name);
    instruction.source_place = graph.PlaceOf(node);
    return instruction;
  }

  // A program with such an operator can be explained, but not run.
  void NoteMissingKernel(const op::Op& op, const ir::Node& node) {
    if (!out.runnable.ok()) return;
    Error error{ErrorKind::kUnknownOperator, "", "", graph.PlaceOf(node)};
    error.message = fmt::format(
        "operator '{}' (node '{}') is known by its schema only, there is no kernel: load the "
        "library "
        "that defines it with --ops LIB",
        op.schema.Key(), node.name);
    out.runnable = std::move(error);
  }

  // First and last instruction that touches each buffer.
  std::vector<plan::Lifetime> Lifetimes() const {
    std::vector<plan::Lifetime> lifetimes(plan.buffers.size(), {0, -1, -1});
    auto touch = [&](reinplace::BufferId id, int time) {
      plan::Lifetime& life = lifetimes[static_cast<size_t>(id.index)];
      if (life.first < 0) life.first = time;
      life.last = time;
    };
    for (size_t t = 0; t < out.instructions.size(); ++t) {
      const Instruction& i = out.instructions[t];
      for (const CopyStep::Run& run : i.runs) {
        touch(run.source, static_cast<int>(t));
        touch(run.destination, static_cast<int>(t));
      }
      for (const Place& p : i.operands) touch(p.buffer, static_cast<int>(t));
      for (const Place& p : i.results) touch(p.buffer, static_cast<int>(t));
    }
    return lifetimes;
  }

  void PlaceBuffers() {
    std::vector<plan::Lifetime> lifetimes = Lifetimes();
    int64_t largest = -1;
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      const Buffer& buffer = plan.buffers[b];
      bool in_arena = buffer.kind == Buffer::Kind::kTemp && lifetimes[b].first >= 0;
      lifetimes[b].bytes = in_arena ? buffer.bytes : 0;
      if (lifetimes[b].first < 0) lifetimes[b].first = lifetimes[b].last = 0;
      if (lifetimes[b].bytes > largest && in_arena) {
        largest = lifetimes[b].bytes;
        out.largest_operator = out.instructions[static_cast<size_t>(lifetimes[b].first)].name;
      }
      out.buffers.push_back({buffer.kind, buffer.bytes, 0, buffer.storage});
    }
    plan::ArenaPlan arena = plan::PlanArena(lifetimes);
    for (size_t b = 0; b < out.buffers.size(); ++b) out.buffers[b].arena_offset = arena.offsets[b];
    out.arena_bytes = arena.bytes;
    out.arena_lower_bound = arena.lower_bound;
  }

  // Results that are no tensors were known when compiling. A list result is not flattened by the
  // graph: refused by the driver.
  Status AddOutputs() {
    for (const Value& value : trace.outputs) {
      Executable::Output output;
      output.value = value;
      out.outputs.push_back(std::move(output));
    }
    for (const reinplace::OutputPlace& place : plan.outputs) {
      Executable::Output& output = out.outputs[static_cast<size_t>(place.output)];
      output.is_place = true;
      output.place = place.place;
    }
    for (size_t i = 0; i < out.outputs.size(); ++i) {
      if (!out.outputs[i].is_place && !out.outputs[i].value.IsTensor()) continue;
      if (!out.outputs[i].is_place) {
        return InternalError(fmt::format("result {} has no place in the plan", i));
      }
    }
    return {};
  }
};

}  // namespace

Result<std::shared_ptr<const Executable>> Lower(const ir::Graph& graph,
                                                const interpret::Trace& trace,
                                                const BufferPlan& plan) {
  State state{graph, trace, plan, {}};
  PAL_TRY(state.Process());
  return std::make_shared<const Executable>(std::move(state.out));
}

}  // namespace palimpsest::runtime
