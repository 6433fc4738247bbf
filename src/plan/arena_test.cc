#include "plan/arena.h"

#include <gtest/gtest.h>

#include <random>

namespace palimpsest::plan {
namespace {

bool Sound(std::span<const Lifetime> lifetimes, const ArenaPlan& plan) {
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    const Lifetime& a = lifetimes[i];
    if (plan.offsets[i] % 64 != 0 || plan.offsets[i] + a.bytes > plan.bytes) return false;
    for (size_t j = 0; j < i; ++j) {
      const Lifetime& b = lifetimes[j];
      if (a.first > b.last || b.first > a.last) continue;
      if (plan.offsets[i] < plan.offsets[j] + b.bytes &&
          plan.offsets[j] < plan.offsets[i] + a.bytes)
        return false;
    }
  }
  return true;
}

TEST(Arena, ValuesThatDoNotLiveTogetherShare) {
  const std::vector<Lifetime> lifetimes = {{100, 0, 1}, {100, 2, 3}, {64, 1, 2}, {0, 0, 3}};
  const ArenaPlan plan = PlanArena(lifetimes);
  EXPECT_TRUE(Sound(lifetimes, plan));
  EXPECT_EQ(plan.bytes, 128 + 64);
  EXPECT_EQ(plan.lower_bound, 164);
  EXPECT_EQ(plan.offsets[3], 0);
}

TEST(Arena, RandomLifetimesAreSoundAndNearTheBound) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> lifetimes(random() % 60);
    for (Lifetime& l : lifetimes) {
      l.bytes = static_cast<int64_t>(random() % 1000);
      l.first = static_cast<int>(random() % 40);
      l.last = l.first + static_cast<int>(random() % 10);
    }
    const ArenaPlan plan = PlanArena(lifetimes);
    ASSERT_TRUE(Sound(lifetimes, plan)) << round;
    ASSERT_GE(plan.bytes, plan.lower_bound);
    ASSERT_LE(plan.bytes, 2 * plan.lower_bound + 64 * 60);
  }
}

TEST(Arena, Nothing) { EXPECT_EQ(PlanArena({}).bytes, 0); }

}  // namespace
}  // namespace palimpsest::plan
