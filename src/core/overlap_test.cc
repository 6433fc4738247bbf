#include "core/overlap.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace palimpsest {
namespace {

// Brute force: every byte, or every element, by its address.
void Visit(const View& v, size_t k, int64_t element, std::multiset<int64_t>& elements) {
  if (k == v.dim()) {
    elements.insert(element);
    return;
  }
  for (int64_t i = 0; i < v.sizes[k]; ++i) Visit(v, k + 1, element + i * v.strides[k], elements);
}
std::multiset<int64_t> Elements(const View& v) {
  std::multiset<int64_t> elements;
  Visit(v, 0, v.offset, elements);
  return elements;
}
std::set<int64_t> ByteSet(const View& v) {
  std::set<int64_t> bytes;
  for (int64_t e : Elements(v)) {
    for (int64_t b = 0; b < v.item_size(); ++b) bytes.insert(e * v.item_size() + b);
  }
  return bytes;
}
bool Meet(const View& a, const View& b) {
  const std::set<int64_t> of_a = ByteSet(a);
  for (int64_t byte : ByteSet(b)) {
    if (of_a.contains(byte)) return true;
  }
  return false;
}
bool MeetsItself(const View& v) {
  const std::multiset<int64_t> elements = Elements(v);
  return std::set<int64_t>(elements.begin(), elements.end()).size() != elements.size();
}

View RandomView(std::mt19937& random) {
  auto below = [&](int n) { return static_cast<int64_t>(random() % static_cast<unsigned>(n)); };
  const DType dtypes[] = {DType::kU8, DType::kI16, DType::kF32, DType::kF64};
  View v;
  v.dtype = dtypes[below(4)];
  const int64_t dims = below(5);
  for (int64_t k = 0; k < dims; ++k) {
    v.sizes.push_back(below(12) == 0 ? 0 : 1 + below(4));
    v.strides.push_back(below(13));
  }
  v.offset = below(30);
  return v;
}

TEST(Overlap, EqualsBruteForceOnRandomViews) {
  std::mt19937 random(7);
  int meets = 0, self = 0;
  for (int i = 0; i < 20000; ++i) {
    const View a = RandomView(random), b = RandomView(random);
    ASSERT_EQ(MayOverlap(a, b), Meet(a, b))
        << ToString(a) << "+" << a.offset << " " << ToString(b) << "+" << b.offset;
    ASSERT_EQ(OverlapsItself(a), MeetsItself(a)) << ToString(a);
    meets += MayOverlap(a, b) ? 1 : 0;
    self += OverlapsItself(a) ? 1 : 0;
  }
  EXPECT_GT(meets, 2000);
  EXPECT_GT(self, 2000);
}

struct Pair {
  const char* what;
  View a, b;
  bool meet;
};

TEST(Overlap, KnownPairs) {
  const Pair pairs[] = {
      {"two slices of the sequence axis of a cache",
       {DType::kF32, {2, 3, 4, 4}, {96, 32, 4, 1}, 0},
       {DType::kF32, {2, 3, 4, 4}, {96, 32, 4, 1}, 16},
       false},
      {"rows 2-3 of a 4x4 window of a 6x9 matrix, and the window",
       {DType::kF32, {2, 4}, {9, 1}, 18},
       {DType::kF32, {4, 4}, {9, 1}, 0},
       true},
      {"even and odd columns",
       {DType::kF32, {1000, 500}, {1000, 2}, 0},
       {DType::kF32, {1000, 500}, {1000, 2}, 1},
       false},
      {"the two halves of a double, seen as ints",
       {DType::kF64, {4}, {2}, 0},
       {DType::kI32, {4}, {4}, 2},
       false},
      {"the upper half of a double, seen as ints",
       {DType::kF64, {4}, {2}, 0},
       {DType::kI32, {4}, {4}, 1},
       true},
      {"an empty view meets nothing",
       {DType::kF32, {0}, {1}, 0},
       {DType::kF32, {8}, {1}, 0},
       false},
      {"large extents, coprime strides",
       {DType::kU8, {1000000}, {999983}, 0},
       {DType::kU8, {1000000}, {1000003}, 1},
       true},
  };
  for (const Pair& p : pairs) {
    EXPECT_EQ(MayOverlap(p.a, p.b), p.meet) << p.what;
    EXPECT_EQ(MayOverlap(p.b, p.a), p.meet) << p.what;
  }
}

TEST(Overlap, SizeOneDimsDoNotOverlapThemselves) {
  EXPECT_FALSE(OverlapsItself({DType::kF32, {1, 3}, {0, 1}, 0}));
  EXPECT_TRUE(OverlapsItself({DType::kF32, {2, 3}, {0, 1}, 0}));
  EXPECT_TRUE(OverlapsItself({DType::kF32, {4, 3}, {2, 1}, 0}));  // sliding windows
  EXPECT_FALSE(OverlapsItself({DType::kF32, {0, 3}, {0, 1}, 0}));
  EXPECT_FALSE(OverlapsItself({DType::kF32, {3, 2}, {2, 3}, 0}));  // 0 3 2 5 4 7
}

TEST(Overlap, SameElements) {
  const View v{DType::kF32, {2, 1, 3}, {3, 3, 1}, 4};
  EXPECT_TRUE(SameElements(v, {DType::kF32, {2, 1, 3}, {3, 99, 1}, 4}));
  EXPECT_FALSE(SameElements(v, {DType::kF32, {2, 1, 3}, {3, 3, 1}, 5}));
  EXPECT_FALSE(SameElements(v, {DType::kI32, {2, 1, 3}, {3, 3, 1}, 4}));
  EXPECT_FALSE(SameElements(v, {DType::kF32, {2, 1, 3}, {1, 3, 2}, 4}));
}

}  // namespace
}  // namespace palimpsest
