// The orders in which a Planner runs the nodes. Each is a complete plan; Reinplace takes the
// cheapest.

#include <algorithm>
#include <set>

#include "reinplace/planner.h"

namespace palimpsest::reinplace {
namespace {

constexpr size_t kMaxReady = 8;  // ready nodes compared when reordering

}  // namespace

bool Planner::Finish() {
  current_node_ = -1;
  return Best([&] { return TryFinish(); });
}

bool Planner::RunInOrder() {
  for (size_t i = 0; i < flow_.nodes.size(); ++i) {
    if (flow_.nodes[i].live && !PlanNode(static_cast<int>(i))) return false;
    machine_.ForgetJournal();
  }
  return Finish();
}

// Per node: the nodes whose numbers it reads, and its predecessor among the ordered ones.
std::vector<std::vector<int>> Planner::Dependencies() const {
  std::vector<std::pair<int64_t, int>> makers;  // first number -> node, ascending
  std::vector<std::vector<int>> result(flow_.nodes.size());
  int last_ordered = -1;
  for (size_t i = 0; i < flow_.nodes.size(); ++i) {
    const FlowNode& node = flow_.nodes[i];
    if (!node.live) continue;
    std::vector<int>& before = result[i];
    for (const FlowOperand& o : node.operands) {
      if (!o.read || o.soft) continue;
      for (const Piece& p : flow_.content(o.content).pieces) {
        auto it = std::upper_bound(makers.begin(), makers.end(),
                                   std::make_pair(p.number, static_cast<int>(flow_.nodes.size())));
        if (it != makers.begin()) --it;
        for (; it != makers.end() && it->first < p.number + p.bytes; ++it) {
          const FlowNode& maker = flow_.nodes[static_cast<size_t>(it->second)];
          if (maker.end_number > p.number) before.push_back(it->second);
        }
      }
    }
    if (node.ordered) {
      if (last_ordered >= 0) before.push_back(last_ordered);
      last_ordered = static_cast<int>(i);
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    if (node.end_number > node.first_number) {
      makers.emplace_back(node.first_number, static_cast<int>(i));
    }
  }
  return result;
}

bool Planner::RunReordered() {
  const std::vector<std::vector<int>> before = Dependencies();
  std::vector<int> waiting(flow_.nodes.size(), 0);
  std::vector<std::vector<int>> users(flow_.nodes.size());
  std::set<int> ready;
  for (size_t i = 0; i < flow_.nodes.size(); ++i) {
    if (!flow_.nodes[i].live) continue;
    waiting[i] = static_cast<int>(before[i].size());
    for (int b : before[i]) users[static_cast<size_t>(b)].push_back(static_cast<int>(i));
    if (waiting[i] == 0) ready.insert(static_cast<int>(i));
  }
  while (!ready.empty()) {
    const int64_t floor = machine_.cost();
    const Machine::Mark mark = machine_.Now();
    int best = -1;
    int64_t best_cost = 0;
    size_t looked = 0;
    bool done = false;
    for (int i : ready) {
      if (looked++ == (is_hurried() ? 2 : kMaxReady)) break;
      const bool ok = PlanNode(i);
      const int64_t cost = machine_.cost();
      if (ok && cost == floor) {
        best = i;
        done = true;
        break;
      }
      machine_.Undo(mark);
      if (ok && (best < 0 || cost < best_cost)) {
        best = i;
        best_cost = cost;
      }
    }
    if (best < 0) return false;
    if (!done && !PlanNode(best)) return false;
    machine_.ForgetJournal();
    ready.erase(best);
    for (int u : users[static_cast<size_t>(best)]) {
      if (--waiting[static_cast<size_t>(u)] == 0) ready.insert(u);
    }
  }
  return Finish();
}

// The buffer that stands for a family's storage in the program as written.
void Planner::MakeProgramBuffer(int family) {
  auto [it, added] = program_buffers_.try_emplace(family, -1);
  if (!added) return;
  const int storage = flow_.families[static_cast<size_t>(family)].storage;
  const bool home = storage >= 0 && machine_.buffer(storage).kind == Machine::Kind::kHome;
  it->second = home ? storage : NewBuffer(family);
}

// A family's storage in the program as written must hold what the program has written there.
bool Planner::Ensure(const FlowEvent& event) {
  const Content& content = flow_.content(event.content);
  const int buffer = program_buffers_.at(event.family);
  const int64_t low = ExtentOf(event.view).begin;
  Pieces missing;
  for (Piece p : machine_.MissingPieces(buffer, low, content.pieces)) {
    machine_.ForEachCell(p.number, p.bytes,
                         [&](int64_t number, int64_t bytes, const Machine::Cell& cell, int64_t) {
                           if (cell.readers <= 0) return;
                           missing.push_back({low + p.address + number - p.number, bytes, number});
                         });
  }
  std::vector<Interval> doomed;
  for (const Piece& p : missing) doomed.push_back({p.address, p.address + p.bytes});
  const Pieces lost = Lost(buffer, doomed, {{buffer, doomed}}, false);
  if (!Save(buffer, lost, doomed)) return false;
  return Copy(buffer, missing, "place", event.family);
}

bool Planner::RunAsWritten() {
  mode_ = Mode::kAsWritten;
  for (const FlowEvent& event : flow_.events) {
    if (event.only == FlowEvent::For::kFunctional) continue;
    if (event.node < 0) {
      current_node_ = -1;
      MakeProgramBuffer(event.family);
      if (!Best([&] { return Ensure(event); })) return false;
    } else if (flow_.nodes[static_cast<size_t>(event.node)].live) {
      if (!PlanNode(event.node)) return false;
      AdoptResults(flow_.nodes[static_cast<size_t>(event.node)]);
    }
    machine_.ForgetJournal();
  }
  return Finish();
}

// A result in memory of its own is the storage of its family.
void Planner::AdoptResults(const FlowNode& node) {
  const PlannedStep& step = machine_.steps().back();
  for (size_t k = 0; k < node.results.size(); ++k) {
    if (machine_.buffer(step.results[k].buffer).family == node.results[k].family) {
      program_buffers_.try_emplace(node.results[k].family, step.results[k].buffer);
    }
  }
}

bool Planner::EnsureFresh(const FlowEvent& event) {
  const Content& content = flow_.content(event.content);
  const int buffer = NewBuffer(event.family);
  program_buffers_[event.family] = buffer;  // the next node may write this copy
  const int64_t low = ExtentOf(event.view).begin;
  Pieces pieces;
  for (const Piece& p : content.pieces) {
    machine_.ForEachCell(p.number, p.bytes,
                         [&](int64_t number, int64_t bytes, const Machine::Cell& cell, int64_t) {
                           // What only a dead operator would make is not there.
                           if (cell.holders.empty()) return;
                           pieces.push_back({low + p.address + number - p.number, bytes, number});
                         });
  }
  return Copy(buffer, pieces, "place", event.family);
}

bool Planner::RunFunctional() {
  mode_ = Mode::kFunctional;
  for (const FlowEvent& event : flow_.events) {
    if (event.only == FlowEvent::For::kAsWritten) continue;
    if (event.node < 0) {
      current_node_ = -1;
      MakeProgramBuffer(event.family);
      if (!Best([&] { return EnsureFresh(event); })) return false;
    } else {
      const FlowNode& node = flow_.nodes[static_cast<size_t>(event.node)];
      if (node.live && !PlanNode(event.node)) return false;
      for (const FlowGroup& g : node.groups) program_buffers_.erase(g.family);
    }
    machine_.ForgetJournal();
  }
  mode_ = Mode::kBest;
  return Finish();
}

}  // namespace palimpsest::reinplace
