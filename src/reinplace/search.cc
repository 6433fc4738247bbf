// The search: all orders of the nodes and all choices in them, by rising cost.
//
// Note [Search]. A state is which nodes have run and what the buffers hold of what is still wanted.
// Depth first, with a limit on the copied bytes that rises to the least cost that lay above it
// (iterative deepening): the first plan found is the cheapest, and when every state below a limit
// was seen, no plan copies fewer bytes. A state that was reached before at no higher cost is left.
// The budget counts attempts to run a node and the pieces that they look at, not seconds. When it
// is used up, the limit is a lower bound all the same.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "reinplace/planner.h"

namespace palimpsest::reinplace {
namespace {

constexpr int kMaxSearchNodes = 48;
// In attempts, each counted with the pieces that it looks at: they are dearer in larger programs.
constexpr int64_t kSearchWork = 250000, kSmallProgram = 8;

uint64_t Mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 29);
}

struct StateKey {
  uint64_t done, first, second;
  friend bool operator==(const StateKey&, const StateKey&) = default;
};
struct StateKeyHash {
  size_t operator()(const StateKey& k) const { return Mix(Mix(k.done, k.first), k.second); }
};

// What a buffer holds of the numbers that are still wanted.
uint64_t HashOf(const Machine& machine, const Machine::Buffer& buffer, uint64_t seed, bool* any) {
  uint64_t h =
      Mix(seed, static_cast<uint64_t>(buffer.family) * 4 + static_cast<uint64_t>(buffer.kind));
  buffer.map.ForEach(0, buffer.bytes, [&](const Piece& p) {
    machine.ForEachCell(p.number, p.bytes,
                        [&](int64_t number, int64_t bytes, const Machine::Cell& cell, int64_t) {
                          if (cell.readers <= 0) return;
                          *any = true;
                          // Cells of one run are split by history: byte ranges must not show it.
                          h = Mix(h, static_cast<uint64_t>(p.address + number - p.number));
                          h = Mix(h, static_cast<uint64_t>(number));
                          h = Mix(h, static_cast<uint64_t>(bytes));
                        });
  });
  return h;
}

StateKey KeyOf(const Machine& machine, uint64_t done) {
  StateKey key{done, 1, 2};
  for (size_t i = 0; i < machine.buffers().size(); ++i) {
    const Machine::Buffer& b = machine.buffer(static_cast<int>(i));
    if (b.kind == Machine::Kind::kReadOnly) continue;
    bool any = false;
    const bool home = b.kind == Machine::Kind::kHome;
    const uint64_t first = HashOf(machine, b, home ? i + 17 : 3, &any);
    bool again = false;
    const uint64_t second = HashOf(machine, b, home ? i + 101 : 5, &again);
    if (!any && !home) continue;
    key.first += first;  // the order of temporary buffers does not matter
    key.second += second;
  }
  return key;
}

}  // namespace

// One level of the depth-first walk: the nodes that may run next, and the choices in the one that
// is tried.
struct Planner::SearchLevel {
  Machine::Mark mark;
  std::vector<int> ready;  // -1: the end
  size_t at = 0;
  Choices choices = {};
  bool only_first = false;  // no other alternative can be better
};

class Planner::Searcher {
 public:
  Searcher(Planner& planner, int64_t below)
      : p_(planner), below_(below), before_(planner.Dependencies()) {
    for (size_t i = 0; i < p_.flow_.nodes.size(); ++i) {
      if (p_.flow_.nodes[i].live) live_.push_back(static_cast<int>(i));
    }
    work_left_ = kSearchWork / std::max(kSmallProgram, static_cast<int64_t>(live_.size()));
  }

  SearchResult Run() {
    if (live_.size() > kMaxSearchNodes) return {};
    SearchResult result;
    int64_t limit = p_.machine_.cost();
    while (limit < below_) {
      next_limit_ = below_;
      seen_.clear();
      const Outcome outcome = Walk(limit);
      if (outcome == Outcome::kFound) return {true, limit};
      result.lower_bound = limit;
      if (outcome == Outcome::kGaveUp) return result;
      limit = next_limit_;
    }
    result.lower_bound = below_;
    return result;
  }

 private:
  enum class Outcome : uint8_t { kFound, kNone, kGaveUp };

  uint64_t Bit(int node) const {
    auto it = std::lower_bound(live_.begin(), live_.end(), node);
    return uint64_t{1} << (it - live_.begin());
  }
  std::vector<int> Ready() const {
    std::vector<int> ready;
    for (int node : live_) {
      if ((done_ & Bit(node)) != 0) continue;
      const std::vector<int>& before = before_[static_cast<size_t>(node)];
      const bool is_ready =
          std::all_of(before.begin(), before.end(), [&](int b) { return (done_ & Bit(b)) != 0; });
      if (is_ready) ready.push_back(node);
    }
    if (ready.empty()) ready.push_back(-1);
    return ready;
  }

  bool Attempt(int node, int64_t limit) {
    work_left_ -= p_.AttemptWeight(node);
    p_.choices_.Restart();
    p_.debt_ = 0;
    p_.limit_ = limit + 1;
    p_.current_node_ = node;
    const bool ok = node < 0 ? p_.TryFinish() : p_.TryNode(node);
    const int64_t cost = p_.machine_.cost();
    if (cost > limit) next_limit_ = std::min(next_limit_, cost);
    return ok && cost <= limit;
  }

  // An operator that writes nothing and whose results are buffers of their own runs as soon as it
  // costs nothing: later it can only find less.
  bool RunsAtOnce(int node, int64_t limit) {
    if (node < 0) return false;
    const FlowNode& n = p_.flow_.nodes[static_cast<size_t>(node)];
    if (!n.opaque || !n.written.empty()) return false;
    const Machine::Mark mark = p_.machine_.Now();
    p_.choices_.Play({});
    const int64_t cost = p_.machine_.cost();
    const bool free = Attempt(node, limit) && p_.machine_.cost() == cost;
    p_.machine_.Undo(mark);
    return free;
  }

  SearchLevel NewLevel(int64_t limit) {
    SearchLevel level{p_.machine_.Now(), Ready()};
    for (int node : level.ready) {
      if (!RunsAtOnce(node, limit)) continue;
      level.ready = {node};
      level.only_first = true;
      break;
    }
    return level;
  }

  // The next alternative of the level: other choices in the node, then another node.
  static void Advance(SearchLevel& level) {
    if (level.only_first) {
      level.at = level.ready.size();
    } else if (!level.choices.Advance()) {
      ++level.at;
      level.choices = {};
    }
  }

  bool IsNew() {
    auto [it, added] = seen_.try_emplace(KeyOf(p_.machine_, done_), p_.machine_.cost());
    if (added) return true;
    if (it->second <= p_.machine_.cost()) return false;
    it->second = p_.machine_.cost();
    return true;
  }

  Outcome Walk(int64_t limit) {
    const Machine::Mark start = p_.machine_.Now();
    done_ = 0;
    std::vector<SearchLevel> levels = {NewLevel(limit)};
    while (!levels.empty()) {
      SearchLevel& level = levels.back();
      if (level.at == level.ready.size()) {
        levels.pop_back();
        if (levels.empty()) break;
        SearchLevel& parent = levels.back();
        p_.machine_.Undo(parent.mark);
        done_ &= ~Bit(parent.ready[parent.at]);
        Advance(parent);
        continue;
      }
      if (work_left_ <= 0) {
        p_.machine_.Undo(start);
        return Outcome::kGaveUp;
      }
      const int node = level.ready[level.at];
      p_.choices_ = level.choices;
      const bool ok = Attempt(node, limit);
      level.choices = p_.choices_;
      if (ok && node < 0) return Outcome::kFound;
      if (ok) done_ |= Bit(node);
      if (ok && IsNew()) {
        levels.push_back(NewLevel(limit));
        continue;
      }
      if (ok) done_ &= ~Bit(node);
      p_.machine_.Undo(level.mark);
      Advance(level);
    }
    p_.machine_.Undo(start);
    return Outcome::kNone;
  }

  Planner& p_;
  int64_t below_;
  std::vector<std::vector<int>> before_;
  std::vector<int> live_;
  uint64_t done_ = 0;
  int64_t work_left_ = 0;
  int64_t next_limit_ = 0;
  std::unordered_map<StateKey, int64_t, StateKeyHash> seen_;
};

SearchResult Planner::RunSearched(int64_t below) {
  searching_ = true;
  return Searcher(*this, below).Run();
}

}  // namespace palimpsest::reinplace
