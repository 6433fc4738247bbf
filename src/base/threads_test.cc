#include "base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace palimpsest {
namespace {

std::vector<int> Count(int64_t tasks) {
  std::vector<std::atomic<int>> counts(static_cast<size_t>(tasks));
  ParallelFor(tasks, [&](int64_t i) { counts[static_cast<size_t>(i)].fetch_add(1); });
  return {counts.begin(), counts.end()};
}

TEST(Threads, EveryTaskRunsOnce) {
  SetNumThreads(4);
  for (int round = 0; round < 200; ++round) {
    for (int64_t tasks : {0, 1, 2, 3, 17}) {
      EXPECT_EQ(Count(tasks), std::vector<int>(static_cast<size_t>(tasks), 1));
    }
  }
}

TEST(Threads, NestedAndConcurrentCallsRunOnTheCaller) {
  SetNumThreads(3);
  std::atomic<int> sum{0};
  auto nested = [&] {
    ParallelFor(4, [&](int64_t) { ParallelFor(5, [&](int64_t) { sum.fetch_add(1); }); });
  };
  std::thread other([&] {
    for (int i = 0; i < 50; ++i) nested();
  });
  for (int i = 0; i < 50; ++i) nested();
  other.join();
  EXPECT_EQ(sum.load(), 2 * 50 * 4 * 5);
}

}  // namespace
}  // namespace palimpsest
