#include "palimpsest/iterator.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace palimpsest {
namespace {

View F32(Dims sizes, Dims strides) {
  return {DType::kF32, std::move(sizes), std::move(strides), 0};
}

std::string Text(const Dims& dims) { return ToString(std::span<const int64_t>(dims)); }

Result<Iteration> Combine(IteratorConfig config, const std::vector<View>& inputs) {
  config.AddOutput();
  for (const View& input : inputs) config.AddInput(input);
  return Iteration::Build(config);
}

TEST(Layout, OfOneInput) {
  struct Case {
    Dims sizes, strides, expected;
    const char* why;
  };
  const Case cases[] = {
      {{4, 2, 3}, {2, 24, 8}, {1, 12, 4}, "a gapped permutation is kept, dense"},
      {{4, 2, 3}, {1, 12, 4}, {1, 12, 4}, "a dense permutation is kept"},
      {{2, 3, 1, 1}, {3, 1, 3, 3}, {3, 1, 1, 1}, "NC11 is contiguous, trivial strides become so"},
      {{1, 3, 4}, {99, 1, 3}, {99, 1, 3}, "dense, not contiguous: verbatim, trivial dims too"},
      {{1, 3, 4}, {99, 4, 1}, {12, 4, 1}, "contiguous but for a trivial dim"},
      {{2, 0, 3}, {1, 2, 2}, {3, 3, 1}, "no elements: contiguous"},
      {{3, 1}, {0, 0}, {1, 1}, "expanded"},
      {{6, 5, 4, 3, 2}, {6, 0, 120, 0, 1}, {6, 36, 180, 2, 1}, "what 0 leaves open"},
  };
  for (const Case& c : cases) {
    View input = F32(c.sizes, c.strides);
    Result<Iteration> it = Combine(IteratorConfig::UnaryFloat(), {input});
    ASSERT_TRUE(it.ok()) << c.why;
    EXPECT_EQ(Text(it->output(0).sizes), Text(c.sizes)) << c.why;
    EXPECT_EQ(Text(it->output(0).strides), Text(c.expected)) << c.why;
  }
}

TEST(Layout, OfTwoInputs) {
  struct Case {
    View a, b;
    Dims expected;
    const char* why;
  };
  View one = F32({1}, {1});
  const Case cases[] = {
      {F32({3, 1, 1}, {1, 3, 3}), one, {1, 3, 3}, "trivial strides survive on the general path"},
      {F32({2, 3, 1, 1}, {3, 1, 3, 3}), one, {3, 1, 3, 3}, "NC11 stays channels-last"},
      {F32({1, 5}, {3, 3}), one, {1, 1}, "a tie: the larger dim goes outside"},
      {F32({1, 2, 5}, {1, 0, 1}), one, {1, 1, 2}, "positions that are not adjacent are swapped"},
      {F32({2, 1}, {1, 1}), F32({2, 1}, {3, 6}), {1, 2}, "a tie that the second operand decides"},
      {F32({2, 0, 3}, {1, 2, 2}), one, {1, 2, 0}, "running products above an empty dim"},
      {F32({2, 3}, {1, 2}), F32({2, 3}, {3, 1}), {1, 2}, "two full inputs: the first decides"},
      {F32({1, 3}, {3, 1}), F32({2, 3}, {1, 2}), {1, 2}, "what the first leaves open"},
  };
  for (const Case& c : cases) {
    Result<Iteration> it = Combine(IteratorConfig::Binary(), {c.a, c.b});
    ASSERT_TRUE(it.ok()) << c.why;
    EXPECT_EQ(Text(it->output(0).strides), Text(c.expected)) << c.why;
  }
}

TEST(Layout, AConvertedInputCountsAsItsDenseCopy) {
  View expanded{DType::kI32, {3, 4}, {1, 0}, 0};
  View other = F32({3, 4}, {1, 3});
  Result<Iteration> it = Combine(IteratorConfig::Binary(), {expanded, other});
  ASSERT_TRUE(it.ok());
  EXPECT_TRUE(it->is_converted(1));
  EXPECT_EQ(Text(it->operand(1).strides), "[4, 1]");
  EXPECT_EQ(Text(it->output(0).strides), "[4, 1]");
  expanded.dtype = DType::kF32;
  it = Combine(IteratorConfig::Binary(), {expanded, other});
  ASSERT_TRUE(it.ok());
  EXPECT_EQ(Text(it->output(0).strides), "[1, 3]");
}

TEST(Types, OutputsNeverChooseThem) {
  View i8{DType::kI8, {2}, {1}, 0};
  View out{DType::kF64, {2}, {1}, 0};
  IteratorConfig config = IteratorConfig::Binary();
  config.AddOutput(out).AddInput(i8).AddInput(Scalar::Int(300));
  Result<Iteration> it = Iteration::Build(config);
  ASSERT_TRUE(it.ok());
  EXPECT_EQ(it->common_dtype(), DType::kI8);
}

// The order of the steps decides which of two faults is reported.
TEST(Errors, InTheOrderOfTheSteps) {
  Result<StorageRef> storage = AllocateStorage(256);
  ASSERT_TRUE(storage.ok());
  auto tensor = [&](DType dtype, Dims sizes, Dims strides, int64_t offset) {
    return Tensor({dtype, std::move(sizes), std::move(strides), offset}, *storage);
  };
  struct Case {
    Tensor out, a, b;
    int same_as_input;
    const char* reason;
  };
  const Case cases[] = {
      {tensor(DType::kF32, {3}, {0}, 0), tensor(DType::kF32, {2}, {1}, 0),
       tensor(DType::kF32, {3}, {1}, 9), -1, "internal_overlap"},
      {tensor(DType::kF32, {3}, {1}, 1), tensor(DType::kF32, {3}, {1}, 0),
       tensor(DType::kF32, {2}, {1}, 9), -1, "partial_overlap"},
      {tensor(DType::kF32, {2}, {1}, 0), tensor(DType::kF32, {2}, {1}, 0),
       tensor(DType::kF32, {3}, {1}, 9), 0, "broadcast_mismatch"},
      {tensor(DType::kI32, {1}, {1}, 0), tensor(DType::kI32, {1}, {1}, 0),
       tensor(DType::kF32, {3}, {1}, 9), 0, "output_shape_mismatch"},
      {tensor(DType::kI32, {3}, {1}, 0), tensor(DType::kI32, {3}, {1}, 0),
       tensor(DType::kF32, {3}, {1}, 9), 0, "cannot_cast"},
      // Not dense: PyTorch cannot tell, and accepts.
      {tensor(DType::kF32, {3}, {2}, 1), tensor(DType::kF32, {3}, {2}, 0),
       tensor(DType::kF32, {3}, {2}, 2), -1, ""},
      {tensor(DType::kF32, {3, 2}, {1, 1}, 0), tensor(DType::kF32, {3, 2}, {2, 1}, 20),
       tensor(DType::kF32, {2}, {1}, 30), -1, ""},
  };
  for (const Case& c : cases) {
    IteratorConfig config = IteratorConfig::Binary();
    config.AddOutput(c.out, c.same_as_input).AddInput(c.a).AddInput(c.b);
    Result<Iteration> it = Iteration::Build(config);
    EXPECT_EQ(it.ok() ? "" : it.error().reason, c.reason);
  }
}

TEST(Resize, KeepsTheOffsetAndTellsTheUser) {
  View out = F32({5}, {1});
  out.offset = 7;
  View input = F32({4, 2, 3}, {2, 24, 8});
  IteratorConfig config = IteratorConfig::UnaryFloat();
  config.AddOutput(out).AddInput(input);
  Result<Iteration> it = Iteration::Build(config);
  ASSERT_TRUE(it.ok());
  EXPECT_TRUE(it->is_resized(0));
  EXPECT_TRUE(it->warns_resized(0));
  EXPECT_EQ(it->output(0).offset, 7);
  EXPECT_EQ(Text(it->output(0).strides), "[1, 12, 4]");
}

TEST(Hostile, ABroadcastBeyondMemoryIsAnError) {
  View tall = F32({int64_t{1} << 40, 1}, {1, 1}), wide = F32({1, int64_t{1} << 40}, {1, 1});
  EXPECT_FALSE(Combine(IteratorConfig::Binary(), {tall, wide}).ok());
}

// The calls of a range, as "size0 x size1 @ offset of operand 0".
std::string Calls(const Iteration& it, int64_t begin, int64_t end) {
  std::vector<std::byte> memory(4096);
  std::vector<std::byte*> bases(it.num_operands(), memory.data());
  std::string text;
  it.ForRange(bases, begin, end, [&](std::byte* const* p, const int64_t*, int64_t n0, int64_t n1) {
    text +=
        std::to_string(n0) + "x" + std::to_string(n1) + "@" + std::to_string(p[0] - bases[0]) + " ";
  });
  return text;
}

TEST(Walk, PartialRowsThenBlocksOfRows) {
  View input = F32({2, 3, 4}, {24, 8, 2});  // nothing merges but what must not
  View other = F32({2, 3, 4}, {1, 2, 6});
  Result<Iteration> it = Combine(IteratorConfig::Binary(), {input, other});
  ASSERT_TRUE(it.ok());
  EXPECT_EQ(it->dim(), 3u);
  EXPECT_EQ(Calls(*it, 0, 24), "4x3@0 4x3@48 ");
  EXPECT_EQ(Calls(*it, 2, 23), "2x1@8 4x2@16 4x2@48 3x1@80 ");
  EXPECT_EQ(Calls(*it, 5, 5), "");
}

TEST(Walk, DenseOperandsAreOneDim) {
  View a = F32({2, 3, 4}, {12, 4, 1});
  Result<Iteration> it = Combine(IteratorConfig::Binary(), {a, a});
  ASSERT_TRUE(it.ok());
  EXPECT_TRUE(it->IsContiguous());
  EXPECT_EQ(Calls(*it, 3, 24), "21x1@12 ");
}

TEST(Reduce, ReducedDimsComeFirst) {
  View input = F32({4, 5}, {5, 1});
  View result = F32({5}, {1});
  const bool reduced[] = {true, false};
  View seen = ReducedView(result, reduced, false);
  IteratorConfig config = IteratorConfig::Reduce();
  config.AddOutput(seen).AddInput(input);
  Result<Iteration> it = Iteration::Build(config);
  ASSERT_TRUE(it.ok());
  EXPECT_EQ(Text(it->shape()), "[4, 5]");
  EXPECT_TRUE(it->IsReducedDim(0));
  EXPECT_EQ(it->NumReducedDims(), 1u);
  EXPECT_EQ(it->NumOutputElements(), 5);
}

TEST(Policies, ExactOverlapRefusesWhatOverlapsAndNothingElse) {
  Tensor base = ShapeOnlyTensor(ContiguousView(DType::kF32, Dims{16}));
  auto view = [&](Dims sizes, Dims strides, int64_t offset) {
    return Tensor(View{DType::kF32, std::move(sizes), std::move(strides), offset}, base.storage);
  };
  auto refusal = [&](const Tensor& out, const Tensor& in, OverlapPolicy policy) -> std::string {
    IteratorConfig config = IteratorConfig::Unary();
    config.overlap = policy;
    config.AddOutput(out).AddInput(in);
    Result<Iteration> it = Iteration::Build(config);
    return it.ok() ? "" : it.error().reason;
  };
  using enum OverlapPolicy;
  Tensor even = view({4}, {2}, 0), shifted = view({4}, {2}, 2), odd = view({4}, {2}, 1);
  EXPECT_EQ(refusal(even, shifted, kPyTorch), "");  // gaps: PyTorch's test says nothing
  EXPECT_EQ(refusal(even, shifted, kExact), "partial_overlap");
  EXPECT_EQ(refusal(even, odd, kExact), "");
  EXPECT_EQ(refusal(even, even, kExact), "");
  Tensor windows = view({3, 2}, {1, 1}, 0), values = view({3, 2}, {2, 1}, 8);
  EXPECT_EQ(refusal(windows, values, kPyTorch), "");
  EXPECT_EQ(refusal(windows, values, kExact), "internal_overlap");
}

TEST(Policies, AmbiguousLayoutsPropagate) {
  auto strides = [](const View& input, LayoutPolicy policy) {
    IteratorConfig config = IteratorConfig::UnaryFloat();
    config.layout = policy;
    config.AddOutput().AddInput(input);
    return ToString(Iteration::Build(config)->output(0).strides);
  };
  using enum LayoutPolicy;
  View nc11{DType::kF32, {3, 5, 1, 1}, {5, 1, 5, 5}, 0},
      n1h1{DType::kF32, {3, 1, 4, 1}, {4, 1, 1, 1}, 0};
  EXPECT_EQ(strides(nc11, kPyTorch), "[5, 1, 1, 1]");
  EXPECT_EQ(strides(nc11, kPropagateAmbiguous), "[5, 1, 5, 5]");
  EXPECT_EQ(strides(n1h1, kPyTorch), "[4, 4, 1, 1]");
  EXPECT_EQ(strides(n1h1, kPropagateAmbiguous), "[4, 1, 1, 1]");
}

}  // namespace
}  // namespace palimpsest
