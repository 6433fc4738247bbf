#include "reinplace/planner.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "core/overlap.h"
#include "reinplace/pieces.h"

namespace palimpsest::reinplace {
namespace {

constexpr int kAttemptsPerNode = 300;  // scripts of choices tried for one node
// All attempts together, so that a very large graph is planned in linear time; when they are used
// up, a node gets few.
constexpr int64_t kAttempts = 30000, kAttemptsForEachNode = 8;
constexpr int kFewAttempts = 6;

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
