// Greedy by size: the largest value first, each at the lowest offset that is free all its life.
//
// The values already placed that live at the same time are found through a segment tree over steps.
// Equal sizes go by first use, so that the result is deterministic.

#include "plan/arena.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace palimpsest::plan {
namespace {

constexpr int64_t kAlignment = 64;

int64_t AlignUp(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

int64_t LargestSum(std::span<const Lifetime> lifetimes) {
  // (step, change): what begins at a step is alive together with what ends there.
  std::vector<std::pair<int, int64_t>> changes;
  for (const Lifetime& l : lifetimes) {
    changes.emplace_back(l.first, l.bytes);
    changes.emplace_back(l.last + 1, -l.bytes);
  }
  std::sort(changes.begin(), changes.end());
  int64_t alive = 0, most = 0;
  for (const auto& [step, change] : changes) {
    alive += change;
    most = std::max(most, alive);
  }
  return most;
}

// The placed values, bucketed by the steps they live in: a segment tree over steps whose nodes hold
// the values that cover them, so that a query meets only values alive at the same time.
class PlacedValues {
 public:
  PlacedValues(std::span<const Lifetime> lifetimes, int steps) : lifetimes_(lifetimes) {
    while (leaves_ < std::max(steps, 1)) leaves_ *= 2;
    covering_.resize(static_cast<size_t>(2 * leaves_));
    below_.resize(static_cast<size_t>(2 * leaves_));
    seen_.assign(lifetimes.size(), -1);
  }
  void Add(int value) { Insert(1, 0, leaves_ - 1, value); }
  // Calls f(value) once for each placed value that lives together with `value`.
  template <typename F>
  void ForEachLiveWith(int value, F&& f) {
    Visit(1, 0, leaves_ - 1, value, f);
  }

 private:
  const Lifetime& At(int value) const { return lifetimes_[static_cast<size_t>(value)]; }
  void Insert(int node, int low, int high, int value) {
    const Lifetime& l = At(value);
    if (l.last < low || high < l.first) return;
    below_[static_cast<size_t>(node)].push_back(value);
    if (l.first <= low && high <= l.last) {
      covering_[static_cast<size_t>(node)].push_back(value);
      return;
    }
    const int middle = (low + high) / 2;
    Insert(2 * node, low, middle, value);
    Insert(2 * node + 1, middle + 1, high, value);
  }
  template <typename F>
  void Visit(int node, int low, int high, int value, F&& f) {
    const Lifetime& l = At(value);
    if (l.last < low || high < l.first) return;
    const bool inside = l.first <= low && high <= l.last;
    for (int other :
         inside ? below_[static_cast<size_t>(node)] : covering_[static_cast<size_t>(node)]) {
      if (std::exchange(seen_[static_cast<size_t>(other)], value) != value) f(other);
    }
    if (inside) return;
    const int middle = (low + high) / 2;
    Visit(2 * node, low, middle, value, f);
    Visit(2 * node + 1, middle + 1, high, value, f);
  }

  std::span<const Lifetime> lifetimes_;
  int leaves_ = 1;
  std::vector<std::vector<int>> covering_, below_;
  std::vector<int> seen_;
};

}  // namespace

ArenaPlan PlanArena(std::span<const Lifetime> lifetimes) {
  ArenaPlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
  plan.lower_bound = LargestSum(lifetimes);
  std::vector<int> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  auto at = [&](int i) -> const Lifetime& { return lifetimes[static_cast<size_t>(i)]; };
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    if (at(a).bytes != at(b).bytes) return at(a).bytes > at(b).bytes;
    if (at(a).first != at(b).first) return at(a).first < at(b).first;
    return a < b;
  });
  int steps = 0;
  for (const Lifetime& l : lifetimes) steps = std::max(steps, l.last + 1);
  PlacedValues placed(lifetimes, steps);
  std::vector<std::pair<int64_t, int64_t>> taken;  // [begin, end) of values alive at the same time
  for (int value : order) {
    if (at(value).bytes == 0) break;
    taken.clear();
    placed.ForEachLiveWith(value, [&](int other) {
      const int64_t begin = plan.offsets[static_cast<size_t>(other)];
      taken.emplace_back(begin, begin + AlignUp(at(other).bytes));
    });
    std::sort(taken.begin(), taken.end());
    int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (begin - offset >= at(value).bytes) break;
      offset = std::max(offset, end);
    }
    plan.offsets[static_cast<size_t>(value)] = offset;
    plan.bytes = std::max(plan.bytes, offset + at(value).bytes);
    placed.Add(value);
  }
  return plan;
}

}  // namespace palimpsest::plan
