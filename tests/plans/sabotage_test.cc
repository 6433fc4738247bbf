// The checker against broken plans: every plan that it lets pass gives the interpreter's results,
// in the order given and in other orders that its edges allow.
//
// Broken plans are made from the plans of all program cases, one small change each (sabotage.h).
// Those that the checker refuses are run as well: most must give other results, else the changes
// are no test.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "compiled_case.h"
#include "reinplace/checker_replay.h"
#include "sabotage.h"

namespace palimpsest::plans {
namespace {

using reinplace::BufferPlan;
using reinplace::CheckFlowPlan;

// A random order that the edges allow.
std::vector<int> AnotherOrder(const BufferPlan& plan, std::mt19937& random) {
  std::vector<int> waiting, ready, order;
  std::vector<std::vector<int>> users(plan.steps.size());
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    waiting.push_back(static_cast<int>(plan.steps[i].after.size()));
    for (int before : plan.steps[i].after) {
      users[static_cast<size_t>(before)].push_back(static_cast<int>(i));
    }
    if (waiting.back() == 0) ready.push_back(static_cast<int>(i));
  }
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    const int next = ready.back();
    ready.pop_back();
    order.push_back(next);
    for (int user : users[static_cast<size_t>(next)]) {
      if (--waiting[static_cast<size_t>(user)] == 0) ready.push_back(user);
    }
  }
  return order;
}

bool HasOrder(const BufferPlan& plan) {
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    for (int before : plan.steps[i].after) {
      if (before < 0 || before >= static_cast<int>(i)) return false;
    }
  }
  return true;
}

// Right in the order given, and in two others?
bool IsRight(const CompiledCase& c, const BufferPlan& plan, const Outcome& expected,
             std::mt19937& random) {
  if (Executed(c, plan) != expected) return false;
  for (int i = 0; i < 2 && HasOrder(plan); ++i) {
    if (Executed(c, InOrder(plan, AnotherOrder(plan, random))) != expected) return false;
  }
  return true;
}

struct Counts {
  int made = 0, refused = 0, refused_and_wrong = 0, passed_and_right = 0;
};

class Sabotages : public testing::Test {
 protected:
  void SetUp() override { SetPoisonNewMemory(true); }
  void TearDown() override { SetPoisonNewMemory(false); }

  // Calls f(case, expected) for all cases that compile and run.
  template <typename F>
  int ForEachCase(F&& f) {
    auto all = cases::LoadJsonLines(PAL_SOURCE_DIR "/tests/cases/programs-open.jsonl");
    EXPECT_TRUE(all.ok());
    int count = 0;
    for (const cases::Json& json : *all) {
      Result<CompiledCase> c = CompileCase(json);
      if (!c.ok()) continue;
      const Outcome expected = Interpreted(*c);
      if (!expected.error.empty()) continue;
      ++count;
      f(*c, expected);
    }
    return count;
  }
};

TEST_F(Sabotages, EveryOrderThatTheEdgesAllowIsRight) {
  std::mt19937 random(7);
  int orders = 0, others = 0;
  const int count = ForEachCase([&](const CompiledCase& c, const Outcome& expected) {
    EXPECT_EQ(Executed(c, c.plan), expected) << c.id;
    for (int i = 0; i < 3; ++i) {
      const std::vector<int> order = AnotherOrder(c.plan, random);
      ASSERT_EQ(order.size(), c.plan.steps.size()) << c.id;
      others += !std::is_sorted(order.begin(), order.end());
      ++orders;
      EXPECT_EQ(Executed(c, InOrder(c.plan, order)), expected) << c.id;
    }
  });
  fmt::print("{} programs in {} orders, {} of them not the plan's own\n", count, orders, others);
  EXPECT_GT(count, 1000);
}

TEST_F(Sabotages, AreRefusedOrHarmless) {
  std::mt19937 random(11);
  std::map<std::string, Counts> counts;
  ForEachCase([&](const CompiledCase& c, const Outcome& expected) {
    for (const Sabotage& s : SabotagesOf(c.plan, 3, random)) {
      Counts& n = counts[s.kind];
      ++n.made;
      const bool refused = !CheckFlowPlan(c.flow, s.plan).ok();
      const bool right = IsRight(c, s.plan, expected, random);
      n.refused += refused;
      n.refused_and_wrong += refused && !right;
      n.passed_and_right += !refused && right;
      EXPECT_TRUE(refused || right) << c.id << ": " << s.kind << " passes the checker";
    }
  });
  Counts all;
  for (const auto& [kind, n] : counts) {
    fmt::print(
        "{:<18} {:>6} made, {:>6} refused ({:>6} of them give wrong results), {:>5} harmless\n",
        kind, n.made, n.refused, n.refused_and_wrong, n.passed_and_right);
    all.made += n.made;
    all.refused_and_wrong += n.refused_and_wrong;
    EXPECT_GT(n.refused_and_wrong, 0) << kind << " never did harm";
  }
  EXPECT_GT(all.refused_and_wrong, all.made / 2);
}

}  // namespace
}  // namespace palimpsest::plans
