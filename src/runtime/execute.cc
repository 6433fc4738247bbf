// Execute: the loop over instructions. Nothing is decided here; the plan said it all.

#include <fmt/format.h>

#include <cstring>

#include "runtime/executable.h"

namespace palimpsest::runtime {
namespace {

using reinplace::CopyStep;
using reinplace::Place;

// The memory of every buffer of one call.
struct Memory {
  struct Slot {
    StorageRef storage;
    int64_t start = 0;  // bytes from the start of the storage
  };
  std::vector<Slot> slots;

  std::byte* At(reinplace::BufferId buffer, int64_t offset) const {
    const Slot& slot = slots[static_cast<size_t>(buffer.index)];
    return slot.storage->data() + slot.start + offset;
  }
  Tensor TensorAt(const Place& place) const {
    const Slot& slot = slots[static_cast<size_t>(place.buffer.index)];
    Tensor tensor(place.view, slot.storage);
    tensor.offset += slot.start / tensor.item_size();
    return tensor;
  }
};

Status PrepareArena(const Executable& executable, Frame& frame) {
  if (frame.arena && frame.arena->bytes() >= executable.arena_bytes) return {};
  frame.arena.reset();  // give the old one back before asking for the new one
  Result<StorageRef> arena = AllocateStorage(executable.arena_bytes);
  if (!arena.ok()) {
    Error error = arena.error();
    error.message = fmt::format("the arena of {} bytes (largest value: {}): {}",
                                executable.arena_bytes, executable.largest_operator, error.message);
    return error;
  }
  frame.arena = std::move(*arena);
  return {};
}

Result<Memory> PrepareMemory(const Executable& executable, Frame& frame) {
  PAL_TRY(PrepareArena(executable, frame));
  Memory memory;
  memory.slots.reserve(executable.buffers.size());
  for (const BufferSlot& buffer : executable.buffers) {
    switch (buffer.kind) {
      case reinplace::Buffer::Kind::kInput:
        memory.slots.push_back({frame.storages[static_cast<size_t>(buffer.storage)], 0});
        break;
      case reinplace::Buffer::Kind::kTemp:
        memory.slots.push_back({frame.arena, buffer.arena_offset});
        break;
      case reinplace::Buffer::Kind::kOutput: {
        Result<StorageRef> storage = AllocateStorage(buffer.bytes);
        if (!storage.ok()) {
          Error error = storage.error();
          error.message = fmt::format("a result of {} bytes: {}", buffer.bytes, error.message);
          return error;
        }
        memory.slots.push_back({std::move(*storage), 0});
        break;
      }
    }
  }
  return memory;
}

// Calls f(source, destination, bytes) for every contiguous piece.
template <typename F>
void ForEachPiece(const CopyStep::Run& run, F&& f) {
  for (int64_t k = 0; k < run.count; ++k) {
    f(run.source_offset + k * run.source_stride,
      run.destination_offset + k * run.destination_stride, run.bytes);
  }
}

int64_t RunCopy(const Instruction& instruction, const Memory& memory) {
  int64_t copied = 0;
  if (!instruction.staged) {
    for (const CopyStep::Run& run : instruction.runs) {
      ForEachPiece(run, [&](int64_t source, int64_t destination, int64_t bytes) {
        std::memcpy(memory.At(run.destination, destination), memory.At(run.source, source),
                    static_cast<size_t>(bytes));
        copied += bytes;
      });
    }
    return copied;
  }
  // All sources are read before anything is written.
  std::vector<std::byte> stage;
  for (const CopyStep::Run& run : instruction.runs) {
    ForEachPiece(run, [&](int64_t source, int64_t, int64_t bytes) {
      const std::byte* from = memory.At(run.source, source);
      stage.insert(stage.end(), from, from + bytes);
    });
  }
  const std::byte* next = stage.data();
  for (const CopyStep::Run& run : instruction.runs) {
    ForEachPiece(run, [&](int64_t, int64_t destination, int64_t bytes) {
      std::memcpy(memory.At(run.destination, destination), next, static_cast<size_t>(bytes));
      next += bytes;
      copied += bytes;
    });
  }
  return copied;
}

// Puts the tensors of this call into an argument (lists are nested at most once by the schema).
void PlaceTensors(Value& value, const Memory& memory, const std::vector<Place>& places,
                  size_t& next) {
  if (value.IsTensor()) {
    value = memory.TensorAt(places[next++]);
  } else if (value.IsList()) {
    for (Value& item : value.As<Value::List>()) PlaceTensors(item, memory, places, next);
  }
}

Status RunCompute(const Instruction& instruction, const Memory& memory, op::Generator* generator) {
  std::vector<Value> args = instruction.args;
  size_t next = 0;
  for (Value& arg : args) PlaceTensors(arg, memory, instruction.operands, next);
  std::vector<Tensor> results;
  results.reserve(instruction.results.size());
  for (const Place& place : instruction.results) results.push_back(memory.TensorAt(place));
  op::KernelCall call{*instruction.op, args, results, {}, generator};
  Status status = instruction.op->kernel(call);
  if (status.ok()) return {};
  Error error = status.error();
  error.message = fmt::format("{}: {}", instruction.name, error.message);
  if (error.place.empty()) error.place = instruction.source_place;
  return error;
}

Value OutputValue(const Executable::Output& output, const Memory& memory) {
  return output.is_place ? Value(memory.TensorAt(output.place)) : output.value;
}

}  // namespace

Result<std::vector<Value>> Execute(const Executable& executable, Frame& frame) {
  frame.copied_bytes = 0;
  PAL_TRY(executable.runnable);
  PAL_TRY(Memory memory, PrepareMemory(executable, frame));
  for (const Instruction& instruction : executable.instructions) {
    if (instruction.is_copy) {
      frame.copied_bytes += RunCopy(instruction, memory);
    } else {
      PAL_TRY(RunCompute(instruction, memory, frame.generator));
    }
  }
  std::vector<Value> results;
  for (const Executable::Output& output : executable.outputs) {
    results.push_back(OutputValue(output, memory));
  }
  return results;
}

}  // namespace palimpsest::runtime
