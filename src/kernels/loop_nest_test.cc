// Random layouts, sizes and types: the nest against element by element.
#include "kernels/loop_nest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "kernels/copy_cast.h"
#include "kernels/loop_levels.h"
#include "kernels/pointwise_run.h"
#include "kernels/stream_policy.h"
#include "palimpsest/threads.h"

namespace palimpsest::kernels {
namespace {

class Layouts {
 public:
  explicit Layouts(uint32_t seed) : random_(seed) {}
  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  template <typename T, size_t n>
  T OneOf(const T (&from)[n]) {
    return from[Below(n)];
  }

  Dims Shape() {
    Dims sizes;
    int64_t dims = Below(5), elements = 1;
    for (int64_t d = 0; d < dims; ++d) {
      int64_t size = OneOf<int64_t>({1, 2, 3, 7, 16, 33, 64, 70, 150});
      if (elements * size > 40000) size = 2;
      elements *= size;
      sizes.push_back(size);
    }
    return sizes;
  }
  // A tensor of these sizes: dims in any order in memory, with gaps, some of stride 0.
  Tensor Make(DType dtype, const Dims& sizes, bool may_expand) {
    std::vector<size_t> order(sizes.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = d;
    std::shuffle(order.begin(), order.end(), random_);
    View view{dtype, sizes, Dims(sizes.size(), 0), Below(3)};
    int64_t stride = Below(8) == 0 ? 2 : 1;
    for (size_t d : order) {
      if (may_expand && Below(6) == 0) continue;
      view.strides[d] = stride;
      stride *= sizes[d] + (Below(8) == 0 ? 1 : 0);
    }
    StorageRef storage = *AllocateStorage((view.offset + stride + 1) * ItemSize(dtype));
    Tensor t(view, storage);
    for (int64_t at = 0; at < stride; ++at) {
      StoreNumber(Scalar::Int(Below(dtype == DType::kB8 ? 2 : 50)), dtype,
                  t.data() + at * ItemSize(dtype));
    }
    return t;
  }

 private:
  std::mt19937 random_;
};

Scalar At(const Tensor& t, const Dims& index) {
  int64_t at = 0;
  for (size_t d = 0; d < index.size(); ++d) at += index[d] * t.strides[d];
  return LoadNumber(t.dtype, t.data() + at * t.item_size());
}

template <typename F>
void ForEachIndex(const Dims& sizes, F f) {
  for (int64_t s : sizes)
    if (s == 0) return;
  Dims index(sizes.size(), 0);
  for (;;) {
    f(index);
    size_t d = sizes.size();
    while (d > 0 && ++index[d - 1] == sizes[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

void CheckAdd(Layouts& layouts, int round) {
  constexpr DType kTypes[] = {DType::kF32, DType::kF64,  DType::kI32, DType::kI64,
                              DType::kI16, DType::kBF16, DType::kF16, DType::kU8};
  Dims sizes = layouts.Shape();
  DType common = layouts.OneOf(kTypes);
  auto pick = [&] { return layouts.Below(3) == 0 ? layouts.OneOf(kTypes) : common; };
  Tensor out = layouts.Make(pick(), sizes, false);
  Tensor x = layouts.Make(pick(), sizes, true), y = layouts.Make(pick(), sizes, true);
  Scalar alpha = Scalar::Int(2);
  PointwiseInput inputs[] = {{&x, {}}, {&y, {}}};
  ASSERT_TRUE(RunPointwise(LoopId::kAdd, common, out, inputs, {&alpha, 1}).ok());
  int bad = 0;
  ForEachIndex(sizes, [&](const Dims& index) {
    double expected = At(x, index).AsDouble() + 2 * At(y, index).AsDouble();
    if (At(out, index).AsDouble() != expected) ++bad;
  });
  EXPECT_EQ(bad, 0) << "round " << round << ": " << ToString(out.view()) << " = "
                    << ToString(x.view()) << " + 2 * " << ToString(y.view()) << " in "
                    << DTypeName(common);
}

TEST(LoopNest, AnyLayoutAndType) {
  Layouts layouts(1);
  for (int round = 0; round < 1500; ++round) CheckAdd(layouts, round);
}

TEST(LoopNest, StreamedResults) {
  SetStreamFrom(1);
  Layouts layouts(2);
  for (int round = 0; round < 600; ++round) CheckAdd(layouts, round);
  SetStreamFrom(-1);
}

TEST(LoopNest, SeveralThreads) {
  SetNumThreads(3);
  for (bool streams : {false, true}) {
    SetStreamFrom(streams ? 1 : -1);
    for (bool transposed : {false, true}) {
      Layouts layouts(3);
      Tensor x = *EmptyTensor(DType::kF32, Dims{700, 500});
      for (int64_t i = 0; i < x.numel(); ++i) x.data_as<float>()[i] = static_cast<float>(i);
      Tensor y = x;
      if (transposed) {
        y.strides = {1, 700};
      }
      Tensor out = *EmptyTensor(DType::kF32, Dims{700, 500});
      Scalar alpha = Scalar::Int(1);
      PointwiseInput inputs[] = {{&x, {}}, {&y, {}}};
      ASSERT_TRUE(RunPointwise(LoopId::kAdd, DType::kF32, out, inputs, {&alpha, 1}).ok());
      ForEachIndex(x.sizes, [&](const Dims& index) {
        ASSERT_EQ(At(out, index).AsDouble(), At(x, index).AsDouble() + At(y, index).AsDouble());
      });
    }
  }
  SetStreamFrom(-1);
}

// An input that meets the result elsewhere than element on element is read in the order of the
// walk: here every element sees what was written before it.
TEST(LoopNest, MeetingOperandsInOrder) {
  Tensor base = *EmptyTensor(DType::kI64, Dims{100});
  for (int64_t i = 0; i < 100; ++i) base.data_as<int64_t>()[i] = 1;
  Tensor out = base, x = base;
  out.sizes = x.sizes = {99};
  out.offset = 1;
  Scalar alpha = Scalar::Int(1);
  PointwiseInput inputs[] = {{&x, {}}, {nullptr, Scalar::Int(1)}};
  ASSERT_TRUE(RunPointwise(LoopId::kAdd, DType::kI64, out, inputs, {&alpha, 1}).ok());
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(base.data_as<int64_t>()[i], i + 1);
}

// A division by zero is found wherever it is; the padding of the last register is none.
TEST(LoopNest, DivisionByZero) {
  for (int64_t n : {1, 5, 16, 17, 100}) {
    Tensor x = *EmptyTensor(DType::kI32, Dims{n}), y = *EmptyTensor(DType::kI32, Dims{n});
    for (int64_t i = 0; i < n; ++i) {
      x.data_as<int32_t>()[i] = 12;
      y.data_as<int32_t>()[i] = 5;
    }
    PointwiseInput inputs[] = {{&x, {}}, {&y, {}}};
    Tensor out = *EmptyTensor(DType::kI32, Dims{n});
    EXPECT_TRUE(RunPointwise(LoopId::kDivFloor, DType::kI32, out, inputs, {}).ok());
    EXPECT_EQ(out.data_as<int32_t>()[n - 1], 2);
    y.data_as<int32_t>()[n - 1] = 0;
    EXPECT_FALSE(RunPointwise(LoopId::kDivFloor, DType::kI32, out, inputs, {}).ok());
  }
}

// Every level has a loop for every function that the others have.
TEST(LoopLevels, TablesAreFull) {
  const LoopTables& tables = AllLoops();
  for (size_t i = 1; i < tables.size(); ++i) {
    bool any = std::any_of(std::begin(tables[i].rows), std::end(tables[i].rows),
                           [](RowFn row) { return row != nullptr; });
    EXPECT_TRUE(any) << "LoopId " << i;
  }
}

}  // namespace
}  // namespace palimpsest::kernels
