// Machine: buffers that hold value numbers, and the index from numbers to the places that hold
// them.
//
// What the planner tries is undone exactly (Mark, Undo): every change is in a journal. Each query
// touches only the pieces asked for, so that planning is near-linear.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reinplace/buffer_plan.h"
#include "reinplace/flow.h"
#include "reinplace/run_map.h"

namespace palimpsest::reinplace {

// A step of the plan while it is being made; buffers are indices into Machine::buffers().
struct CopyRun {
  int source = -1, destination = -1;
  int64_t source_address = 0, destination_address = 0, bytes = 0;
};
struct Spot {
  int buffer = -1;
  View view;  // in the buffer
};
struct PlannedStep {
  // A copy, or `node` runs.
  std::vector<CopyRun> runs;
  const char* why = "";
  int node = -1;  // that runs, or for which the copy is made (-1: the end)
  bool is_copy = false;
  int family = -1;  // copies: the base on whose behalf
  std::vector<Spot> operands, results;
};

class Machine {
 public:
  enum class Kind : uint8_t { kReadOnly, kHome, kTemp };
  struct Buffer {
    Kind kind;
    int64_t bytes;
    int family;
    bool is_output = false;  // set by the planner at the end
    RunMap map;
  };
  // A range of numbers that are held in the same places and wanted by the same readers.
  struct Holder {
    int buffer;
    int64_t address;  // of the first number of the cell
    friend bool operator==(const Holder&, const Holder&) = default;
  };
  struct Cell {
    int64_t bytes = 0;
    int32_t readers = 0;  // nodes still to come, and the end
    int32_t current = 0;  // operands of the node that runs now
    std::vector<Holder> holders;
  };

  explicit Machine(const FlowGraph& flow);

  int AddBuffer(Kind kind, int64_t bytes, int family);
  const std::vector<Buffer>& buffers() const { return buffers_; }
  const Buffer& buffer(int i) const { return buffers_[static_cast<size_t>(i)]; }
  void MarkOutput(int i) { buffers_[static_cast<size_t>(i)].is_output = true; }
  const std::vector<int>& BuffersOf(int family) const;

  // Bytes now hold number, number + 1, ...
  void Assign(int buffer, int64_t address, int64_t bytes, int64_t number);
  void Place(int buffer, int64_t low, const Pieces& pieces);  // Assign each
  // One reader more (or less) of these numbers.
  void AddReaders(const Pieces& pieces, int count);
  void AddCurrent(const Pieces& pieces, int count);

  // f(number, bytes, cell) for the cells of a range, split so that they fit. Cells without an entry
  // do not exist: every number in use has one.
  template <typename F>
  void ForEachCell(int64_t number, int64_t bytes, F&& f) const {
    const int64_t end = number + bytes;
    auto it = cells_.upper_bound(number);
    if (it != cells_.begin()) --it;
    for (; it != cells_.end() && it->first < end; ++it) {
      const int64_t from = std::max(number, it->first);
      const int64_t to = std::min(end, it->first + it->second.bytes);
      if (from < to) f(from, to - from, it->second, from - it->first);
    }
  }
  // Where one number lies: (buffer, address) each.
  std::vector<Holder> HoldersOf(int64_t number) const;
  // Do the bytes from `low` on hold exactly these pieces? The bytes that differ.
  int64_t MissingBytes(int buffer, int64_t low, const Pieces& pieces) const;
  Pieces MissingPieces(int buffer, int64_t low, const Pieces& pieces) const;

  void Emit(PlannedStep step);
  int64_t cost() const { return cost_; }
  void AddCost(int64_t bytes) { cost_ += bytes; }
  std::vector<PlannedStep>& steps() { return steps_; }

  struct Mark {
    size_t journal, buffers, steps;
    int64_t cost;
  };
  Mark Now() const { return {journal_.size(), buffers_.size(), steps_.size(), cost_}; }
  void Undo(const Mark& mark);
  void ForgetJournal() { journal_.clear(); }

 private:
  struct Entry {
    int buffer;  // >= 0: these bytes held `pieces`; -1: readers, -2: current
    int64_t address, bytes;
    Pieces pieces;
    int count;
  };
  void Split(int64_t number);
  void Write(int buffer, int64_t address, int64_t bytes, int64_t number);
  void Clear(int buffer, int64_t address, int64_t bytes, Pieces* old);
  void ChangeHolders(int64_t number, int64_t bytes, int buffer, int64_t address, bool add);
  void Count(const Pieces& pieces, int count, bool current);

  std::vector<Buffer> buffers_;
  std::vector<std::vector<int>> buffers_of_family_;
  std::map<int64_t, Cell> cells_;
  std::vector<Entry> journal_;
  std::vector<PlannedStep> steps_;
  int64_t cost_ = 0;
};

}  // namespace palimpsest::reinplace
