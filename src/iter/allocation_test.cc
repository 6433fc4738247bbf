// Counts what goes to the heap: every operator new of this test program goes through here.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "palimpsest/iterator.h"

namespace {
int64_t allocations = 0;
}  // namespace

void* operator new(size_t bytes) {
  ++allocations;
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) std::abort();
  return memory;
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace palimpsest {
namespace {

int64_t AllocationsOf(const IteratorConfig& config) {
  int64_t before = allocations;
  Result<Iteration> it = Iteration::Build(config);
  EXPECT_TRUE(it.ok());
  return allocations - before;
}

TEST(Allocation, PlanningTakesNothingFromTheHeap) {
  const View contiguous = ContiguousView(DType::kF32, Dims{2, 3, 4, 5, 6, 7});
  View permuted = contiguous;
  std::swap(permuted.strides[0], permuted.strides[5]);
  std::swap(permuted.sizes[0], permuted.sizes[5]);
  const View column = ContiguousView(DType::kF32, Dims{8, 1}),
             row = ContiguousView(DType::kI64, Dims{8});
  IteratorConfig alike = IteratorConfig::Binary(), broadcast = IteratorConfig::Binary(),
                 four = IteratorConfig::Ternary();
  alike.AddOutput().AddInput(contiguous).AddInput(contiguous);
  broadcast.AddOutput().AddInput(column).AddInput(row);
  four.AddOutput(permuted).AddInput(permuted).AddInput(permuted).AddInput(permuted);
  EXPECT_EQ(AllocationsOf(alike), 0);
  EXPECT_EQ(AllocationsOf(broadcast), 0);
  EXPECT_EQ(AllocationsOf(four), 0);
}

TEST(Allocation, IsCounted) {
  const View wide = ContiguousView(DType::kF32, Dims{1, 2, 1, 2, 1, 2, 1, 2});
  View other = wide;
  other.strides[0] = 0;
  IteratorConfig config = IteratorConfig::Binary();
  config.AddOutput().AddInput(wide).AddInput(other);
  EXPECT_GT(AllocationsOf(config), 0);  // more than 6 dims
}

}  // namespace
}  // namespace palimpsest
