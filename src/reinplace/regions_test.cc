#include "reinplace/regions.h"

#include <gtest/gtest.h>

#include "reinplace/run_map.h"

namespace palimpsest::reinplace {
namespace {

View F32(Dims sizes, Dims strides, int64_t offset = 0) {
  return {DType::kF32, std::move(sizes), std::move(strides), offset};
}
using Intervals = std::vector<Interval>;

TEST(Regions, IntervalsAreSortedDisjointAndMerged) {
  struct Row {
    const char* name;
    View view;
    Intervals expected;
  };
  const Row rows[] = {
      {"dense", F32({4, 2}, {2, 1}), {{0, 32}}},
      {"transposed", F32({2, 4}, {1, 2}), {{0, 32}}},
      {"one number", F32({}, {}, 3), {{12, 16}}},
      {"row", F32({2}, {1}, 2), {{8, 16}}},
      {"column", F32({3}, {2}, 1), {{4, 8}, {12, 16}, {20, 24}}},
      {"window", F32({2, 2}, {4, 1}, 1), {{4, 12}, {20, 28}}},
      {"expanded", F32({5, 2}, {0, 1}), {{0, 8}}},
      {"overlapping windows", F32({3, 2}, {1, 1}), {{0, 16}}},
      {"backwards", F32({3}, {-2}, 4), {{0, 4}, {8, 12}, {16, 20}}},
      {"empty", F32({0, 2}, {2, 1}), {}},
  };
  for (const Row& row : rows) {
    const std::optional<Intervals> got = IntervalsOf(row.view);
    ASSERT_TRUE(got.has_value()) << row.name;
    EXPECT_EQ(*got, row.expected) << row.name;
  }
}

TEST(Regions, TooManyIntervalsStandForTheExtent) {
  const View fine = F32({kMaxRuns + 1}, {2});
  EXPECT_FALSE(IntervalsOf(fine).has_value());
  EXPECT_EQ(IntervalsOrExtent(fine), (Intervals{{0, 8 * kMaxRuns + 4}}));
}

TEST(Regions, Intersections) {
  const Intervals set = {{0, 4}, {8, 12}, {20, 24}};
  EXPECT_TRUE(Intersects(set, {3, 9}));
  EXPECT_FALSE(Intersects(set, {4, 8}));
  EXPECT_FALSE(Intersects(set, {24, 30}));
  EXPECT_EQ(Intersection(set, {2, 22}), (Intervals{{2, 4}, {8, 12}, {20, 22}}));
}

// Row-major element i goes to element i; as few chunks as both layouts allow.
TEST(Regions, ChunksOfACopy) {
  struct Row {
    const char* name;
    View from, to;
    size_t chunks;
  };
  const Row rows[] = {
      {"dense to dense", F32({4, 2}, {2, 1}), F32({4, 2}, {2, 1}, 8), 1},
      {"both transposed", F32({2, 4}, {1, 2}), F32({2, 4}, {1, 2}), 1},
      {"rows of a wider base", F32({3, 2}, {2, 1}), F32({3, 2}, {4, 1}), 3},
      {"transposing", F32({2, 4}, {1, 2}), F32({2, 4}, {4, 1}), 8},
      {"another shape", F32({8}, {1}), F32({4, 2}, {2, 1}), 1},
      {"another shape, rows apart", F32({6}, {1}), F32({3, 2}, {4, 1}), 3},
      {"nothing", F32({0}, {1}), F32({0}, {1}), 0},
  };
  for (const Row& row : rows) {
    const std::optional<std::vector<Chunk>> got = CopyChunks(row.from, row.to);
    ASSERT_TRUE(got.has_value()) << row.name;
    EXPECT_EQ(got->size(), row.chunks) << row.name;
    int64_t bytes = 0;
    for (const Chunk& c : *got) bytes += c.bytes;
    EXPECT_EQ(bytes, row.from.numel() * 4) << row.name;
  }
}

Pieces All(const RunMap& map) {
  Pieces pieces;
  map.ForEach(0, 1000, [&](const Piece& p) { pieces.push_back(p); });
  return pieces;
}

TEST(RunMap, NeighboursWithConsecutiveNumbersAreOneRun) {
  RunMap map;
  map.Assign(0, 8, 100);
  map.Assign(16, 8, 116);
  EXPECT_EQ(map.size(), 2u);
  map.Assign(8, 8, 108);
  EXPECT_EQ(All(map), (Pieces{{0, 24, 100}}));
  map.Assign(8, 8, 300);
  EXPECT_EQ(All(map), (Pieces{{0, 8, 100}, {8, 8, 300}, {16, 8, 116}}));
  map.Assign(8, 8, 108);
  EXPECT_EQ(map.size(), 1u);
}

TEST(RunMap, EraseCutsRuns) {
  RunMap map;
  map.Assign(0, 24, 100);
  map.Erase(4, 8);
  EXPECT_EQ(All(map), (Pieces{{0, 4, 100}, {12, 12, 112}}));
  map.Erase(0, 1000);
  EXPECT_TRUE(map.empty());
}

TEST(RunMap, NeighboursOfAnAddress) {
  RunMap map;
  map.Assign(0, 4, 100);
  map.Assign(8, 4, 200);
  map.Assign(16, 4, 300);
  EXPECT_EQ(map.Before(16, 1), (Pieces{{8, 4, 200}}));
  EXPECT_EQ(map.Before(16, 9), (Pieces{{8, 4, 200}, {0, 4, 100}}));
  EXPECT_EQ(map.After(5, 9), (Pieces{{8, 4, 200}, {16, 4, 300}}));
}

}  // namespace
}  // namespace palimpsest::reinplace
