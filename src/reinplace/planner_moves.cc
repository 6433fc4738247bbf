// The moves of a Planner: finding where values lie, copying, saving what would be lost, placing
// what must be complete.
#include <algorithm>
#include <set>

#include "core/overlap.h"
#include "reinplace/pieces.h"
#include "reinplace/planner.h"

namespace palimpsest::reinplace {

// ---- where values lie

int Planner::NewBuffer(int family) {
  return machine_.AddBuffer(Machine::Kind::kTemp, flow_.families[static_cast<size_t>(family)].bytes,
                            family);
}

std::vector<Planner::Found> Planner::Matches(const Content& content, bool complete,
                                             bool writable) const {
  std::vector<Found> found;
  std::set<std::pair<int, int64_t>> seen;
  int probes = complete ? 1 : kMaxProbes;
  for (const Piece& p : content.pieces) {
    if (probes-- == 0) break;
    for (const Machine::Holder& h : machine_.HoldersOf(p.number)) {
      const Machine::Buffer& b = machine_.buffer(h.buffer);
      const int64_t low = h.address - p.address;
      if (writable && b.kind == Machine::Kind::kReadOnly) continue;
      if (low < 0 || low + content.extent > b.bytes) continue;
      if (!seen.emplace(h.buffer, low).second) continue;
      const int64_t missing = machine_.MissingBytes(h.buffer, low, content.pieces);
      if (missing == 0 || !complete) found.push_back({h.buffer, low, missing});
    }
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(a.missing, a.buffer, a.low) < std::tie(b.missing, b.buffer, b.low);
  });
  return found;
}

Pieces Planner::Lost(int buffer, const std::vector<Interval>& where, const Dying& dying,
                     bool after) const {
  Pieces lost;
  auto doomed_of = [&](int b) -> const std::vector<Interval>* {
    for (const auto& [other, intervals] : dying) {
      if (other == b) return &intervals;
    }
    return nullptr;
  };
  auto in_cell = [&](int64_t address, int64_t number, int64_t bytes, const Machine::Cell& cell,
                     int64_t skipped) {
    if (cell.readers <= 0 && (after || cell.current <= 0)) return;
    // What is doomed in every holder; offsets from `number`.
    std::vector<Interval> gone = {{0, bytes}};
    for (const Machine::Holder& h : cell.holders) {
      const std::vector<Interval>* doomed = doomed_of(h.buffer);
      if (doomed == nullptr) return;
      const int64_t at = h.address + skipped;
      std::vector<Interval> both;
      for (const Interval& d : Intersection(*doomed, {at, at + bytes})) {
        for (const Interval& i : Intersection(gone, {d.begin - at, d.end - at})) both.push_back(i);
      }
      gone = std::move(both);
      if (gone.empty()) return;
    }
    for (const Interval& i : gone) {
      lost.push_back({address + i.begin, i.end - i.begin, number + i.begin});
    }
  };
  for (const Interval& i : where) {
    machine_.buffer(buffer).map.ForEach(i.begin, i.end - i.begin, [&](const Piece& p) {
      machine_.ForEachCell(
          p.number, p.bytes,
          [&](int64_t number, int64_t bytes, const Machine::Cell& cell, int64_t skipped) {
            in_cell(p.address + number - p.number, number, bytes, cell, skipped);
          });
    });
  }
  return lost;
}

// ---- copies

bool Planner::Copy(int buffer, const Pieces& pieces, const char* why, int family) {
  if (pieces.empty()) return true;
  PlannedStep step;
  step.is_copy = true;
  step.why = why;
  step.family = family;
  step.node = current_node_;
  int64_t total = 0;
  bool complete = true;
  for (const Piece& p : pieces) {
    int64_t covered = 0;
    machine_.ForEachCell(
        p.number, p.bytes,
        [&](int64_t number, int64_t bytes, const Machine::Cell& cell, int64_t skipped) {
          // Inside the buffer first, else the oldest buffer.
          const Machine::Holder* best = nullptr;
          auto rank = [&](const Machine::Holder& h) {
            return std::make_tuple(h.buffer != buffer, h.buffer, h.address);
          };
          for (const Machine::Holder& h : cell.holders) {
            if (best == nullptr || rank(h) < rank(*best)) best = &h;
          }
          if (best == nullptr) return;
          covered += bytes;
          const CopyRun run{best->buffer, buffer, best->address + skipped,
                            p.address + number - p.number, bytes};
          if (!step.runs.empty()) {
            CopyRun& last = step.runs.back();
            if (last.source == run.source &&
                last.source_address + last.bytes == run.source_address &&
                last.destination_address + last.bytes == run.destination_address) {
              last.bytes += bytes;
              return;
            }
          }
          step.runs.push_back(run);
        });
    complete = complete && covered == p.bytes;
    total += p.bytes;
  }
  if (!complete) return false;
  machine_.Place(buffer, 0, pieces);
  machine_.AddCost(total);
  machine_.Emit(std::move(step));
  return machine_.cost() < limit_;
}

std::vector<Planner::Target> Planner::SaveTargets(int buffer, const Pieces& lost,
                                                  const std::vector<Interval>& doomed) const {
  std::vector<Target> targets;
  auto into = [&](int t, const Pieces& pieces) {
    const std::vector<Interval> where = AbsoluteIntervals(pieces, 0);
    for (size_t i = 0; i + 1 < where.size(); ++i) {
      if (where[i].end > where[i + 1].begin) return;  // two values in one place
    }
    if (!where.empty() && where.back().end > machine_.buffer(t).bytes) return;
    if (t == buffer) {
      for (const Interval& i : where) {
        if (Intersects(doomed, i)) return;
      }
    }
    if (!Lost(t, where, {{t, where}}, false).empty()) return;
    targets.push_back({t, -1, 0, pieces});
  };
  const Machine::Buffer& own = machine_.buffer(buffer);
  for (const Ends& e : ends_) {
    if (e.input < 0) continue;
    if (auto pieces = WhereTheyEnd(e.by_number, lost)) into(e.input, *pieces);
  }
  const std::vector<int>& family = machine_.BuffersOf(own.family);
  const size_t first = family.size() - std::min<size_t>(family.size(), kMaxFamilyBuffers);
  for (size_t i = first; i < family.size(); ++i) {
    const Machine::Buffer& t = machine_.buffer(family[i]);
    if (family[i] != buffer && t.kind != Machine::Kind::kReadOnly && t.bytes == own.bytes) {
      into(family[i], lost);
    }
  }
  for (size_t i = 0; i < flow_.inputs.size() && i < 16; ++i) {
    if (static_cast<int>(i) != buffer && flow_.inputs[i].written &&
        flow_.inputs[i].bytes == own.bytes && flow_.inputs[i].family != own.family) {
      into(static_cast<int>(i), lost);
    }
  }
  targets.push_back({-1, own.family, own.bytes, lost});
  for (const Ends& e : ends_) {
    if (e.output < 0) continue;
    const int output_family = flow_.outputs[static_cast<size_t>(e.output)].family;
    const int64_t bytes = flow_.families[static_cast<size_t>(output_family)].bytes;
    if (bytes == own.bytes) continue;
    if (auto pieces = WhereTheyEnd(e.by_number, lost)) {
      targets.push_back({-1, output_family, bytes, std::move(*pieces)});
    }
  }
  return targets;
}

bool Planner::Save(int buffer, const Pieces& lost, const std::vector<Interval>& doomed) {
  if (lost.empty()) return true;
  const std::vector<Target> targets = SaveTargets(buffer, lost, doomed);
  const Target& t = targets[static_cast<size_t>(choices_.Choose(static_cast<int>(targets.size())))];
  const int destination =
      t.buffer >= 0 ? t.buffer : machine_.AddBuffer(Machine::Kind::kTemp, t.bytes, t.family);
  return Copy(destination, t.pieces, "save", machine_.buffer(buffer).family);
}

bool Planner::Meets(const PlannedStep& step, int buffer, const View& view) const {
  for (const Spot& s : step.operands) {
    if (s.buffer == buffer && MayOverlap(s.view, view)) return true;
  }
  return false;
}

bool Planner::Place(const Wanted& wanted, const Rules& rules, const PlannedStep& used, int* buffer,
                    int64_t* low) {
  const Content& content = *wanted.content;
  std::vector<Found> candidates;
  auto add = [&](const Found& f) {
    const Machine::Buffer& b = machine_.buffer(f.buffer);
    if (b.kind == Machine::Kind::kHome && !rules.homes) return;
    if (std::count(rules.banned.begin(), rules.banned.end(), f.buffer) > 0) return;
    for (const View* v : rules.aligned) {
      const std::optional<View> moved = Shifted(*v, f.low - wanted.low);
      if (!moved || Meets(used, f.buffer, *moved)) return;
    }
    for (const Found& c : candidates) {
      if (c.buffer == f.buffer && c.low == f.low) return;
    }
    candidates.push_back(f);
  };
  if (mode_ != Mode::kFunctional) {
    for (const Found& f : Matches(content, false, true)) add(f);
    const std::vector<int>& family = machine_.BuffersOf(wanted.family);
    const size_t first = family.size() - std::min<size_t>(family.size(), kMaxFamilyBuffers);
    for (size_t i = first; i < family.size(); ++i) {
      const Machine::Buffer& b = machine_.buffer(family[i]);
      if (b.kind == Machine::Kind::kReadOnly || wanted.low + content.extent > b.bytes) continue;
      add({family[i], wanted.low, machine_.MissingBytes(family[i], wanted.low, content.pieces)});
    }
    const int64_t bytes = flow_.families[static_cast<size_t>(wanted.family)].bytes;
    for (size_t i = 0; searching_ && i < machine_.buffers().size(); ++i) {
      const Machine::Buffer& b = machine_.buffer(static_cast<int>(i));
      if (b.kind != Machine::Kind::kTemp || b.bytes != bytes || b.family == wanted.family) continue;
      if (wanted.low + content.extent > bytes) continue;
      add({static_cast<int>(i), wanted.low,
           machine_.MissingBytes(static_cast<int>(i), wanted.low, content.pieces)});
    }
    std::sort(candidates.begin(), candidates.end(), [&](const Found& a, const Found& b) {
      const bool other_a = machine_.buffer(a.buffer).family != wanted.family;
      const bool other_b = machine_.buffer(b.buffer).family != wanted.family;
      return std::tie(a.missing, other_a, a.buffer, a.low) <
             std::tie(b.missing, other_b, b.buffer, b.low);
    });
    if (candidates.size() > kMaxCandidates) candidates.resize(kMaxCandidates);
  }
  const size_t pick = static_cast<size_t>(choices_.Choose(static_cast<int>(candidates.size()) + 1));
  if (pick == candidates.size()) {
    *buffer = NewBuffer(wanted.family);
    *low = wanted.low;
  } else {
    *buffer = candidates[pick].buffer;
    *low = candidates[pick].low;
  }
  Pieces missing = machine_.MissingPieces(*buffer, *low, content.pieces);
  for (Piece& p : missing) p.address += *low;
  const std::vector<Interval> doomed = AbsoluteIntervals(missing, 0);
  // A copy is a parallel move: what it moves inside the buffer is not lost.
  const Pieces lost = WithoutNumbers(Lost(*buffer, doomed, {{*buffer, doomed}}, false), missing);
  if (!Save(*buffer, lost, doomed)) return false;
  return Copy(*buffer, missing, wanted.why, wanted.family);
}

}  // namespace palimpsest::reinplace
