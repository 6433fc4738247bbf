#include "reinplace/planner.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "core/overlap.h"

namespace palimpsest::reinplace {
namespace {

constexpr int kMaxProbes = 64;         // runs that are looked up to find where values lie
constexpr size_t kMaxCandidates = 12;  // per choice
constexpr int kMaxFamilyBuffers = 8;   // the newest buffers of a family are tried
constexpr int kAttemptsPerNode = 300;  // scripts of choices tried for one node
// All attempts together, so that a very large graph is planned in linear time; when they are used
// up, a node gets few.
constexpr int64_t kAttempts = 30000, kAttemptsForEachNode = 8;
constexpr int kFewAttempts = 6;

std::vector<Interval> AbsoluteIntervals(const Pieces& pieces, int64_t low) {
  std::vector<Interval> result;
  for (const Piece& p : pieces) {
    const Interval i{low + p.address, low + p.address + p.bytes};
    if (!result.empty() && result.back().end == i.begin) {
      result.back().end = i.end;
    } else {
      result.push_back(i);
    }
  }
  return result;
}

// The numbers of `pieces` that are in `by_number`, as pieces where they end; nullopt if one is
// missing.
std::optional<Pieces> WhereTheyEnd(const std::map<int64_t, Piece>& by_number,
                                   const Pieces& pieces) {
  Pieces result;
  for (const Piece& p : pieces) {
    int64_t number = p.number;
    while (number < p.number + p.bytes) {
      auto it = by_number.upper_bound(number);
      if (it == by_number.begin()) return std::nullopt;
      const Piece& end = std::prev(it)->second;
      const int64_t skipped = number - end.number;
      if (skipped >= end.bytes) return std::nullopt;
      const int64_t bytes = std::min(end.bytes - skipped, p.number + p.bytes - number);
      result.push_back({end.address + skipped, bytes, number});
      number += bytes;
    }
  }
  std::sort(result.begin(), result.end(),
            [](const Piece& a, const Piece& b) { return a.address < b.address; });
  // A number that lies in two places has one end: it goes there once.
  Pieces once;
  int64_t covered = 0;
  for (const Piece& p : result) {
    const int64_t skipped = std::max<int64_t>(covered - p.address, 0);
    if (skipped < p.bytes) {
      once.push_back({p.address + skipped, p.bytes - skipped, p.number + skipped});
    }
    covered = std::max(covered, p.address + p.bytes);
  }
  return once;
}

// `pieces` without the numbers that `moved` takes along.
Pieces WithoutNumbers(const Pieces& pieces, const Pieces& moved) {
  if (pieces.empty()) return pieces;
  std::map<int64_t, int64_t> ranges;  // first number -> end
  for (const Piece& m : moved) {
    int64_t& end = ranges[m.number];
    end = std::max(end, m.number + m.bytes);
  }
  Pieces result;
  for (const Piece& p : pieces) {
    int64_t number = p.number;
    const int64_t end = p.number + p.bytes;
    auto it = ranges.upper_bound(number);
    if (it != ranges.begin()) --it;
    for (; it != ranges.end() && it->first < end; ++it) {
      if (it->second <= number) continue;
      if (it->first > number) {
        result.push_back({p.address + number - p.number, it->first - number, number});
      }
      number = std::max(number, it->second);
    }
    if (number < end) result.push_back({p.address + number - p.number, end - number, number});
  }
  return result;
}

}  // namespace

int Choices::Choose(int n) {
  if (next_ == script_.size()) {
    script_.push_back(0);
    counts_.push_back(n);
  }
  counts_[next_] = n;
  return script_[next_++];
}

bool Choices::Advance() {
  // What lies beyond the point that this attempt reached was not asked.
  script_.resize(next_);
  counts_.resize(next_);
  while (!script_.empty() && script_.back() + 1 >= counts_.back()) {
    script_.pop_back();
    counts_.pop_back();
  }
  next_ = 0;
  if (script_.empty()) return false;
  ++script_.back();
  return true;
}

void Choices::Play(std::vector<int> script) {
  script_ = std::move(script);
  counts_.assign(script_.size(), 0);
  next_ = 0;
}

Planner::Planner(const FlowGraph& flow)
    : flow_(flow),
      machine_(flow),
      attempts_left_(kAttempts + kAttemptsForEachNode * static_cast<int64_t>(flow.nodes.size())) {
  auto index = [](const Content& content, int64_t low) {
    std::map<int64_t, Piece> by_number;
    for (const Piece& p : content.pieces) {
      by_number.try_emplace(p.number, Piece{low + p.address, p.bytes, p.number});
    }
    return by_number;
  };
  for (size_t i = 0; i < flow.inputs.size(); ++i) {
    if (!flow.inputs[i].written) continue;
    ends_.push_back({static_cast<int>(i), -1, index(flow.inputs[i].last, 0)});
  }
  for (size_t i = 0; i < flow.outputs.size(); ++i) {
    const FlowOutputStorage& s = flow.outputs[i];
    if (s.input_storage < 0) ends_.push_back({-1, static_cast<int>(i), index(s.whole, s.low)});
  }
}

int64_t Planner::AttemptWeight(int index) const {
  if (index < 0) return 1;
  const FlowNode& node = flow_.nodes[static_cast<size_t>(index)];
  size_t count = 0;
  for (const FlowOperand& o : node.operands) count += flow_.content(o.content).pieces.size();
  for (const FlowResult& r : node.results) count += flow_.content(r.content).pieces.size();
  const int64_t pieces = static_cast<int64_t>(count);
  // Some pieces are looked up, and each time all of them are compared (Matches).
  return 1 + std::min<int64_t>(pieces, kMaxProbes) * pieces / 32;
}

bool Planner::Best(const std::function<bool()>& attempt) {
  const int64_t floor = machine_.cost();
  const Machine::Mark mark = machine_.Now();
  std::optional<std::vector<int>> best;
  int64_t best_cost = 0;
  choices_.Play({});
  limit_ = INT64_MAX;
  for (int tries = 0; tries < (attempts_left_ > 0 ? kAttemptsPerNode : kFewAttempts); ++tries) {
    attempts_left_ -= AttemptWeight(current_node_);
    choices_.Restart();
    debt_ = 0;
    const bool ok = attempt();
    const int64_t cost = machine_.cost() + debt_;
    if (ok && cost == floor) return true;
    if (ok && cost < limit_) {
      best = choices_.script();
      best_cost = cost;
      limit_ = cost;
    }
    machine_.Undo(mark);
    if (!choices_.Advance()) break;
  }
  if (!best) return false;
  limit_ = INT64_MAX;
  choices_.Play(*best);
  debt_ = 0;
  const bool ok = attempt();
  PAL_CHECK(ok && machine_.cost() + debt_ == best_cost,
            "a choice of the planner is not repeatable");
  return ok;
}

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

// ---- one node

bool Planner::PlaceGroups(const FlowNode& node, PlannedStep& step) {
  for (const FlowGroup& g : node.groups) {
    Rules rules;
    bool soft = true;
    for (int k : g.operands) {
      const FlowOperand& o = node.operands[static_cast<size_t>(k)];
      if (o.view.numel() > 0) rules.aligned.push_back(&o.view);
      soft = soft && o.soft;
    }
    const Content nothing{{}, g.before.extent};
    int buffer = -1;
    int64_t low = 0;
    if (soft) {
      buffer = NewBuffer(g.family);
      low = g.low;
    } else if (!Place({&g.before, g.low, g.family, "place"}, rules, step, &buffer, &low)) {
      return false;
    }
    for (int k : g.operands) {
      const FlowOperand& o = node.operands[static_cast<size_t>(k)];
      const std::optional<View> moved = Shifted(o.view, low - g.low);
      PAL_CHECK(moved.has_value(), "a group is placed between elements");
      step.operands[static_cast<size_t>(k)] = {buffer, *moved};
    }
  }
  return true;
}

bool Planner::PlaceRead(const FlowNode& node, size_t k, PlannedStep& step) {
  const FlowOperand& o = node.operands[k];
  const Content& content = flow_.content(o.content);
  std::vector<Spot> found;
  const size_t most = searching_ ? 3 : node.tied || node.opaque ? 1 : 2;
  auto add_matches = [&](const View& view, const Content& c) {
    for (const Found& f : Matches(c, true, false)) {
      if (found.size() >= most) return;
      const std::optional<View> moved = Shifted(view, f.low - ExtentOf(view).begin);
      if (!moved) continue;
      bool bad = false;
      for (size_t q : node.written) {
        const Spot& s = step.operands[q];
        bad = bad || (s.buffer == f.buffer && MayOverlap(s.view, *moved));
      }
      if (!bad) found.push_back({f.buffer, *moved});
    }
  };
  if (!content.pieces.empty()) add_matches(o.view, content);
  if (!node.opaque && !node.is_copy && !content.pieces.empty()) {
    int geometries = 0;
    for (const Alias& a : flow_.aliases_of(o.content)) {
      if (a.view.dtype != o.view.dtype || a.view.sizes != o.view.sizes || ++geometries > 8)
        continue;
      if (a.content != o.content) add_matches(a.view, flow_.content(a.content));
    }
  }
  if (!found.empty()) {
    step.operands[k] = found[static_cast<size_t>(choices_.Choose(static_cast<int>(found.size())))];
    return true;
  }
  int family = -1;
  for (const Alias& a : flow_.aliases_of(o.content)) {
    if (a.content == o.content && a.view == o.view) family = a.family;
  }
  const Interval extent = ExtentOf(o.view);
  int64_t wanted_low = extent.begin;
  View view = o.view;
  if (family < 0) {  // nothing is known of it: memory that nobody has written
    step.operands[k] = {machine_.AddBuffer(Machine::Kind::kTemp, extent.end, -1), o.view};
    return true;
  }
  Rules rules;
  rules.aligned.push_back(&view);
  int buffer = -1;
  int64_t low = 0;
  if (!Place({&content, wanted_low, family, "place"}, rules, step, &buffer, &low)) return false;
  step.operands[k] = {buffer, *Shifted(o.view, low - wanted_low)};
  return true;
}

bool Planner::PlaceReads(const FlowNode& node, PlannedStep& step) {
  for (size_t k = 0; k < node.operands.size(); ++k) {
    const FlowOperand& o = node.operands[k];
    if (o.group >= 0) continue;
    const Interval extent = ExtentOf(o.view);
    if (extent.begin == extent.end || !o.read) {
      // Only its sizes are looked at: any address will do.
      View view = o.view;
      view.offset = 0;
      step.operands[k] = {machine_.AddBuffer(Machine::Kind::kTemp, 0, -1), view};
      continue;
    }
    if (o.soft && Matches(flow_.content(o.content), true, false).empty()) {
      step.operands[k] = {machine_.AddBuffer(Machine::Kind::kTemp, extent.end, -1), o.view};
      continue;
    }
    if (!PlaceRead(node, k, step)) return false;
  }
  return true;
}

bool Planner::Intact(const FlowNode& node, const PlannedStep& step) const {
  for (size_t k = 0; k < node.operands.size(); ++k) {
    const FlowOperand& o = node.operands[k];
    if (!o.read || o.soft) continue;
    const Spot& s = step.operands[k];
    const Content& content = flow_.content(o.content);
    if (content.pieces.empty()) continue;
    const Content* held = &content;
    if (s.view.strides != o.view.strides) {
      // It was found under another geometry.
      for (const Alias& a : flow_.aliases_of(o.content)) {
        if (a.view.strides == s.view.strides && a.view.sizes == s.view.sizes &&
            a.view.dtype == s.view.dtype &&
            machine_.MissingBytes(s.buffer, ExtentOf(s.view).begin,
                                  flow_.content(a.content).pieces) == 0) {
          held = &flow_.content(a.content);
          break;
        }
      }
    }
    if (machine_.MissingBytes(s.buffer, ExtentOf(s.view).begin, held->pieces) > 0) return false;
  }
  return true;
}

bool Planner::SaveOverwritten(const FlowNode& node, const PlannedStep& step) {
  std::map<int, std::vector<Interval>> written;
  for (size_t k : node.written) {
    if (step.operands[k].buffer < 0) continue;
    std::vector<Interval>& of_buffer = written[step.operands[k].buffer];
    for (const Interval& i : IntervalsOrExtent(step.operands[k].view)) of_buffer.push_back(i);
  }
  Dying dying;
  for (auto& [buffer, intervals] : written) {
    std::sort(intervals.begin(), intervals.end(),
              [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    std::vector<Interval> merged;
    for (const Interval& i : intervals) {
      if (!merged.empty() && i.begin <= merged.back().end) {
        merged.back().end = std::max(merged.back().end, i.end);
      } else {
        merged.push_back(i);
      }
    }
    dying.emplace_back(buffer, std::move(merged));
  }
  for (const auto& [buffer, intervals] : dying) {
    if (!Save(buffer, Lost(buffer, intervals, dying, true), intervals)) return false;
  }
  return Intact(node, step);
}

bool Planner::MayOverlay(const FlowNode& node, size_t operand, size_t result, const Spot& a,
                         const Spot& b) const {
  if (node.results.size() > 1 && operand != result) return false;
  if (!node.pointwise && !(node.over_first && operand == 0)) return false;
  if (a.view.item_size() != b.view.item_size() || a.view.sizes != b.view.sizes ||
      a.view.offset != b.view.offset) {
    return false;
  }
  for (size_t k = 0; k < a.view.dim(); ++k) {
    if (a.view.sizes[k] > 1 && a.view.strides[k] != b.view.strides[k]) return false;
  }
  return true;
}

std::vector<Planner::Destination> Planner::Destinations(const FlowNode& node, size_t k,
                                                        const PlannedStep& step) const {
  const FlowResult& result = node.results[k];
  std::vector<Destination> all;
  if (mode_ == Mode::kFunctional || node.opaque || flow_.content(result.content).pieces.empty())
    return all;
  auto add = [&](int buffer, const View& view, int64_t low) {
    const Machine::Buffer& b = machine_.buffer(buffer);
    const Interval extent = ExtentOf(view);
    const std::optional<View> moved = Shifted(view, low - extent.begin);
    if (b.kind == Machine::Kind::kReadOnly || !moved || low < 0 ||
        low + extent.end - extent.begin > b.bytes || all.size() >= kMaxCandidates) {
      return;
    }
    for (const Destination& d : all) {
      if (d.buffer == buffer && d.view == *moved) return;
    }
    for (size_t r = 0; r < k; ++r) {
      if (step.results[r].buffer == buffer && MayOverlap(step.results[r].view, *moved)) return;
    }
    for (size_t q = 0; q < node.operands.size(); ++q) {
      const Spot& s = step.operands[q];
      if (!node.operands[q].read || s.buffer != buffer || !MayOverlap(s.view, *moved)) continue;
      if (!MayOverlay(node, q, k, s, {buffer, *moved})) return;
    }
    all.push_back({buffer, *moved, b.family});
  };
  for (const Alias& a : flow_.aliases_of(result.content)) {
    if (a.view.dtype != result.view.dtype || a.view.sizes != result.view.sizes) continue;
    if (OverlapsItself(a.view)) continue;
    if (mode_ == Mode::kAsWritten && a.put == Alias::Put::kCopied) continue;
    const std::vector<int>& family = machine_.BuffersOf(a.family);
    const int64_t bytes = flow_.families[static_cast<size_t>(a.family)].bytes;
    const size_t first = family.size() - std::min<size_t>(family.size(), kMaxFamilyBuffers);
    for (size_t i = first; i < family.size(); ++i) {
      if (machine_.buffer(family[i]).bytes == bytes) {
        add(family[i], a.view, ExtentOf(a.view).begin);
      }
    }
    if (a.around.empty()) continue;
    // Beside the rest of its base, wherever that lies.
    Content around{a.around, 0};
    const std::vector<Found> found = Matches(around, false, true);
    for (size_t i = 0; i < found.size() && i < 2; ++i) add(found[i].buffer, a.view, found[i].low);
  }
  // Where the program puts it, in a new buffer in which the rest can be made later.
  for (const Alias& a : flow_.aliases_of(result.content)) {
    if ((!searching_ && !IsPut(a)) || a.view.dtype != result.view.dtype ||
        a.view.sizes != result.view.sizes ||
        flow_.families[static_cast<size_t>(a.family)].storage >= 0 || OverlapsItself(a.view)) {
      continue;
    }
    all.push_back({-1, a.view, a.family});
    if (!searching_) break;
  }
  return all;
}

// As written, an operator computes in place where the program says so, and nowhere else.
bool Planner::IsPut(const Alias& alias) const {
  return mode_ == Mode::kAsWritten ? alias.put == Alias::Put::kComputed
                                   : alias.put != Alias::Put::kNo;
}

// Is this where the program puts the value in the end?
bool Planner::IsWantedPlace(const FlowResult& result, const Destination& d) const {
  for (const Alias& a : flow_.aliases_of(result.content)) {
    if (IsPut(a) && d.family == a.family && d.view == a.view) return true;
  }
  return false;
}

bool Planner::PlaceResult(const FlowNode& node, size_t k, PlannedStep& step) {
  const FlowResult& result = node.results[k];
  const std::vector<Destination> all = Destinations(node, k, step);
  const size_t pick = static_cast<size_t>(choices_.Choose(static_cast<int>(all.size()) + 1));
  bool wanted = false;
  for (const Alias& a : flow_.aliases_of(result.content)) wanted = wanted || IsPut(a);
  if (wanted && !node.opaque && (pick == all.size() || !IsWantedPlace(result, all[pick]))) {
    debt_ += debt_weight_ * result.view.numel() * result.view.item_size();
  }
  if (pick == all.size()) {
    step.results[k] = {NewBuffer(result.family), result.view};
    return true;
  }
  if (all[pick].buffer < 0) {
    step.results[k] = {NewBuffer(all[pick].family), all[pick].view};
    return true;
  }
  const std::vector<Interval> doomed = IntervalsOrExtent(all[pick].view);
  step.results[k] = {all[pick].buffer, all[pick].view};
  const int buffer = all[pick].buffer;
  if (!Save(buffer, Lost(buffer, doomed, {{buffer, doomed}}, true), doomed)) return false;
  return Intact(node, step);
}

bool Planner::PlaceResults(const FlowNode& node, PlannedStep& step) {
  for (size_t k = 0; k < node.results.size(); ++k) {
    if (!PlaceResult(node, k, step)) return false;
  }
  return true;
}

void Planner::Apply(const FlowNode& node, const PlannedStep& step) {
  for (size_t k = 0; k < node.operands.size(); ++k) {
    const FlowOperand& o = node.operands[k];
    if (!o.written || o.after < 0) continue;
    const Spot& s = step.operands[k];
    machine_.Place(s.buffer, ExtentOf(s.view).begin, flow_.content(o.after).pieces);
  }
  for (size_t k = 0; k < node.results.size(); ++k) {
    const FlowResult& r = node.results[k];
    const Spot& s = step.results[k];
    const Content* content = &flow_.content(r.content);
    if (s.view.strides != r.view.strides) {
      for (const Alias& a : flow_.aliases_of(r.content)) {
        if (a.view.strides == s.view.strides && a.view.sizes == s.view.sizes &&
            a.view.dtype == s.view.dtype) {
          content = &flow_.content(a.content);
          break;
        }
      }
    }
    machine_.Place(s.buffer, ExtentOf(s.view).begin, content->pieces);
  }
}

bool Planner::TryNode(int index) {
  const FlowNode& node = flow_.nodes[static_cast<size_t>(index)];
  PlannedStep step;
  step.node = index;
  step.operands.resize(node.operands.size());
  step.results.resize(node.results.size());
  for (const FlowOperand& o : node.operands) {
    if (!o.read || o.soft) continue;
    machine_.AddReaders(flow_.content(o.content).pieces, -1);
    machine_.AddCurrent(flow_.content(o.content).pieces, 1);
  }
  if (!PlaceGroups(node, step) || !PlaceReads(node, step) || !SaveOverwritten(node, step) ||
      !PlaceResults(node, step)) {
    return false;
  }
  if (node.is_copy) {
    const View& to = node.groups.empty() ? node.results[0].view : node.copy_to;
    machine_.AddCost(to.numel() * to.item_size());
  }
  Apply(node, step);
  machine_.Emit(std::move(step));
  for (const FlowOperand& o : node.operands) {
    if (o.read && !o.soft) machine_.AddCurrent(flow_.content(o.content).pieces, -1);
  }
  return true;
}

bool Planner::PlanNode(int index) {
  current_node_ = index;
  return Best([&] { return TryNode(index); });
}

// ---- the end

bool Planner::FinishOutputs() {
  outputs_.assign(flow_.outputs.size(), {});
  Rules rules;
  rules.homes = false;
  for (size_t i = 0; i < flow_.outputs.size(); ++i) {
    const FlowOutputStorage& s = flow_.outputs[i];
    if (s.input_storage >= 0) {
      outputs_[i] = {s.input_storage, s.low};
      continue;
    }
    rules.aligned.clear();
    for (const FlowOutput& o : s.outputs) {
      if (o.view.numel() > 0) rules.aligned.push_back(&o.view);
    }
    if (rules.aligned.empty()) {
      outputs_[i] = {NewBuffer(s.family), s.low};
    } else if (!Place({&s.whole, s.low, s.family, "output"}, rules, {}, &outputs_[i].buffer,
                      &outputs_[i].low)) {
      return false;
    }
    rules.banned.push_back(outputs_[i].buffer);
  }
  for (size_t i = 0; i < flow_.outputs.size(); ++i) {
    const FlowOutputStorage& s = flow_.outputs[i];
    if (s.input_storage < 0 &&
        machine_.MissingBytes(outputs_[i].buffer, outputs_[i].low, s.whole.pieces) > 0) {
      return false;
    }
  }
  return true;
}

bool Planner::FinishHomes() {
  std::vector<size_t> order;
  for (size_t i = 0; i < flow_.inputs.size(); ++i) {
    if (flow_.inputs[i].written) order.push_back(i);
  }
  if (searching_ && order.size() > 1) {
    for (int turn = choices_.Choose(6); turn > 0; --turn) {
      std::next_permutation(order.begin(), order.end());
    }
  }
  for (size_t i : order) {
    const FlowInput& input = flow_.inputs[i];
    const int home = static_cast<int>(i);
    const Pieces missing = machine_.MissingPieces(home, 0, input.last.pieces);
    const std::vector<Interval> doomed = AbsoluteIntervals(missing, 0);
    const Pieces elsewhere = WithoutNumbers(Lost(home, doomed, {{home, doomed}}, true), missing);
    if (!elsewhere.empty()) {
      if (!Copy(NewBuffer(input.family), elsewhere, "save", input.family)) return false;
    }
    if (!Copy(home, missing, "home", input.family)) return false;
  }
  for (size_t i = 0; i < flow_.inputs.size(); ++i) {
    const FlowInput& input = flow_.inputs[i];
    if (input.written && machine_.MissingBytes(static_cast<int>(i), 0, input.last.pieces) > 0) {
      return false;
    }
  }
  return true;
}

bool Planner::TryFinish() { return FinishOutputs() && FinishHomes(); }

}  // namespace palimpsest::reinplace
