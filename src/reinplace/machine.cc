#include "reinplace/machine.h"

#include <algorithm>

namespace palimpsest::reinplace {

Machine::Machine(const FlowGraph& flow) : buffers_of_family_(flow.families.size()) {
  if (flow.numbers > 1) cells_[1].bytes = flow.numbers - 1;
  for (const FlowNode& node : flow.nodes) {
    if (!node.live) continue;
    for (const FlowOperand& o : node.operands) {
      if (o.read && !o.soft) Count(flow.content(o.content).pieces, 1, false);
    }
  }
  for (const FlowOutputStorage& s : flow.outputs) Count(s.whole.pieces, 1, false);
  for (const FlowInput& input : flow.inputs) {
    if (input.written) Count(input.last.pieces, 1, false);
  }
  for (const FlowInput& input : flow.inputs) {
    const int b =
        AddBuffer(input.written ? Kind::kHome : Kind::kReadOnly, input.bytes, input.family);
    for (const Piece& p : input.first.pieces) Write(b, p.address, p.bytes, p.number);
  }
  journal_.clear();
}

int Machine::AddBuffer(Kind kind, int64_t bytes, int family) {
  const int id = static_cast<int>(buffers_.size());
  buffers_.push_back({kind, bytes, family, false, {}});
  if (family >= 0) buffers_of_family_[static_cast<size_t>(family)].push_back(id);
  return id;
}

const std::vector<int>& Machine::BuffersOf(int family) const {
  static const std::vector<int> kNone;
  return family < 0 ? kNone : buffers_of_family_[static_cast<size_t>(family)];
}

void Machine::Split(int64_t number) {
  auto it = cells_.upper_bound(number);
  if (it == cells_.begin()) return;
  --it;
  const int64_t before = number - it->first;
  if (before == 0 || before >= it->second.bytes) return;
  Cell rest = it->second;
  rest.bytes -= before;
  for (Holder& h : rest.holders) h.address += before;
  it->second.bytes = before;
  cells_.emplace_hint(std::next(it), number, std::move(rest));
}

void Machine::ChangeHolders(int64_t number, int64_t bytes, int buffer, int64_t address, bool add) {
  Split(number);
  Split(number + bytes);
  for (auto it = cells_.find(number); it != cells_.end() && it->first < number + bytes; ++it) {
    const Holder holder{buffer, address + it->first - number};
    std::vector<Holder>& holders = it->second.holders;
    if (add) {
      holders.push_back(holder);
    } else {
      holders.erase(std::find(holders.begin(), holders.end(), holder));
    }
  }
}

void Machine::Clear(int buffer, int64_t address, int64_t bytes, Pieces* old) {
  RunMap& map = buffers_[static_cast<size_t>(buffer)].map;
  Pieces pieces;
  map.ForEach(address, bytes, [&](const Piece& p) { pieces.push_back(p); });
  if (pieces.empty()) return;
  for (const Piece& p : pieces) ChangeHolders(p.number, p.bytes, buffer, p.address, false);
  map.Erase(address, bytes);
  if (old != nullptr) *old = std::move(pieces);
}

void Machine::Write(int buffer, int64_t address, int64_t bytes, int64_t number) {
  buffers_[static_cast<size_t>(buffer)].map.Assign(address, bytes, number);
  ChangeHolders(number, bytes, buffer, address, true);
}

void Machine::Assign(int buffer, int64_t address, int64_t bytes, int64_t number) {
  if (bytes == 0) return;
  Entry entry{buffer, address, bytes, {}, 0};
  Clear(buffer, address, bytes, &entry.pieces);
  journal_.push_back(std::move(entry));
  Write(buffer, address, bytes, number);
}

void Machine::Place(int buffer, int64_t low, const Pieces& pieces) {
  for (const Piece& p : pieces) Assign(buffer, low + p.address, p.bytes, p.number);
}

void Machine::Count(const Pieces& pieces, int count, bool current) {
  for (const Piece& p : pieces) {
    Split(p.number);
    Split(p.number + p.bytes);
    for (auto it = cells_.find(p.number); it != cells_.end() && it->first < p.number + p.bytes;
         ++it) {
      (current ? it->second.current : it->second.readers) += count;
    }
  }
}

void Machine::AddReaders(const Pieces& pieces, int count) {
  Count(pieces, count, false);
  journal_.push_back({-1, 0, 0, pieces, count});
}

void Machine::AddCurrent(const Pieces& pieces, int count) {
  Count(pieces, count, true);
  journal_.push_back({-2, 0, 0, pieces, count});
}

std::vector<Machine::Holder> Machine::HoldersOf(int64_t number) const {
  std::vector<Holder> result;
  ForEachCell(number, 1, [&](int64_t, int64_t, const Cell& cell, int64_t skipped) {
    for (const Holder& h : cell.holders) result.push_back({h.buffer, h.address + skipped});
  });
  return result;
}

Pieces Machine::MissingPieces(int buffer, int64_t low, const Pieces& pieces) const {
  Pieces missing;
  const RunMap& map = buffers_[static_cast<size_t>(buffer)].map;
  auto add = [&](int64_t address, int64_t bytes, int64_t number) {
    if (bytes > 0) missing.push_back({address, bytes, number});
  };
  for (const Piece& p : pieces) {
    int64_t at = low + p.address;  // all before it is decided
    map.ForEach(at, p.bytes, [&](const Piece& have) {
      add(at - low, have.address - at, p.number + at - low - p.address);
      at = have.address;
      const int64_t number = p.number + at - low - p.address;
      if (have.number != number) add(at - low, have.bytes, number);
      at += have.bytes;
    });
    const int64_t end = low + p.address + p.bytes;
    add(at - low, end - at, p.number + at - low - p.address);
  }
  return missing;
}

int64_t Machine::MissingBytes(int buffer, int64_t low, const Pieces& pieces) const {
  int64_t bytes = 0;
  for (const Piece& p : MissingPieces(buffer, low, pieces)) bytes += p.bytes;
  return bytes;
}

void Machine::Emit(PlannedStep step) { steps_.push_back(std::move(step)); }

void Machine::Undo(const Mark& mark) {
  while (journal_.size() > mark.journal) {
    Entry entry = std::move(journal_.back());
    journal_.pop_back();
    if (entry.buffer < 0) {
      Count(entry.pieces, -entry.count, entry.buffer == -2);
      continue;
    }
    Clear(entry.buffer, entry.address, entry.bytes, nullptr);
    for (const Piece& p : entry.pieces) Write(entry.buffer, p.address, p.bytes, p.number);
  }
  while (buffers_.size() > mark.buffers) {
    const int family = buffers_.back().family;
    if (family >= 0) buffers_of_family_[static_cast<size_t>(family)].pop_back();
    buffers_.pop_back();
  }
  steps_.resize(mark.steps);
  cost_ = mark.cost;
}

}  // namespace palimpsest::reinplace
