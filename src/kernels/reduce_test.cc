#include "kernels/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/copy.h"
#include "kernels/copy_cast.h"

namespace palimpsest::kernels {
namespace {

const op::OpTable& Table() {
  static const op::OpTable* table = [] {
    auto* t = new op::OpTable;
    EXPECT_TRUE(RegisterReductions(*t).ok());
    EXPECT_TRUE(RegisterCopies(*t).ok());
    return t;
  }();
  return *table;
}

// 0, 1, 2, ... in memory order.
Tensor Counting(DType dtype, Dims sizes, Dims strides) {
  Result<Tensor> t = EmptyTensor(View{dtype, std::move(sizes), std::move(strides), 0});
  EXPECT_TRUE(t.ok());
  for (int64_t i = 0; i < t->storage->bytes() / ItemSize(dtype); ++i) {
    StoreNumber(Scalar::Int(i), dtype, t->data() + i * ItemSize(dtype));
  }
  return *t;
}
std::vector<double> Values(const Tensor& t) {
  EXPECT_TRUE(IsContiguous(t.view()));
  std::vector<double> values;
  for (int64_t i = 0; i < t.numel(); ++i) {
    values.push_back(LoadNumber(t.dtype, t.data() + i * t.item_size()).AsDouble());
  }
  return values;
}
Result<op::CallResult> Call(std::string_view key, std::vector<Value> args) {
  const op::Op* op = Table().Find(key);
  EXPECT_NE(op, nullptr) << key;
  while (args.size() < op->schema.args.size()) {
    args.push_back(op->schema.args[args.size()].default_value.value_or(Value()));
  }
  return op::CallOp(*op, args, nullptr);
}
Value Ints(std::vector<int64_t> values) { return Value::Ints(values); }

TEST(Reduce, Values) {
  Tensor x = Counting(DType::kF32, {2, 3}, {1, 2});  // rows 0 2 4 and 1 3 5
  struct Case {
    const char* key;
    std::vector<Value> args;
    std::vector<double> expected;
  };
  const Case cases[] = {
      {"aten::sum.dim_IntList", {x, Ints({1})}, {6, 9}},
      {"aten::sum.dim_IntList", {x, Ints({-2})}, {1, 5, 9}},
      {"aten::sum.dim_IntList", {x, Ints({})}, {15}},
      {"aten::mean.dim", {x, Ints({0}), true}, {0.5, 2.5, 4.5}},
      {"aten::amax", {x, Ints({1})}, {4, 5}},
      {"aten::argmax", {x}, {5}},
      {"aten::argmin", {x, 1}, {0, 0}},
      {"aten::var.correction", {x, Ints({1}), 0}, {8.0f / 3.0f, 8.0f / 3.0f}},
      {"aten::prod", {x}, {0}},
      {"aten::all", {x}, {0}},
      {"aten::any", {x}, {1}},
      {"aten::cumsum", {x, 1}, {0, 2, 6, 1, 4, 9}},
      {"aten::cumprod", {x, 0}, {0, 2, 4, 0, 6, 20}},
      {"aten::linalg_vector_norm", {x, 1}, {15}},
  };
  for (const Case& c : cases) {
    Result<op::CallResult> r = Call(c.key, c.args);
    ASSERT_TRUE(r.ok()) << c.key << ": " << r.error().message;
    std::vector<double> values = Values(r->returns[0].tensor());
    ASSERT_EQ(values.size(), c.expected.size()) << c.key;
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_FLOAT_EQ(static_cast<float>(values[i]), static_cast<float>(c.expected[i])) << c.key;
    }
  }
}

TEST(Reduce, LongSumsStayAccurate) {
  Result<Tensor> x = EmptyTensor(DType::kF32, Dims{1 << 20});
  ASSERT_TRUE(x.ok());
  ASSERT_TRUE(FillWith(Scalar::Float(0.1), *x).ok());
  Result<op::CallResult> r = Call("aten::sum", {*x});
  ASSERT_TRUE(r.ok());
  // One running sum would be off by more than 1e-3.
  double exact = static_cast<double>(0.1f) * (1 << 20);
  EXPECT_NEAR(Values(r->returns[0].tensor())[0] / exact, 1, 1e-6);
}

TEST(Reduce, ExtremesOfNanAndOfNothing) {
  Tensor x = Counting(DType::kF32, {3}, {1});
  StoreNumber(Scalar::Float(std::nan("")), DType::kF32, x.data() + 4);
  Result<op::CallResult> r = Call("aten::max.dim", {x, 0});
  ASSERT_TRUE(r.ok());
  EXPECT_TRUE(std::isnan(Values(r->returns[0].tensor())[0]));
  EXPECT_EQ(Values(r->returns[1].tensor())[0], 1);
  Tensor none = Counting(DType::kF32, {0, 3}, {3, 1});
  EXPECT_EQ(Call("aten::amax", {none}).error().reason, "empty_reduction");
  EXPECT_EQ(Call("aten::amax", {none, Ints({0})}).error().reason, "empty_reduction");
  EXPECT_TRUE(Call("aten::amax", {none, Ints({1})}).ok());
}

TEST(Reduce, Refusals) {
  Tensor x = Counting(DType::kI32, {2, 3}, {3, 1});
  EXPECT_EQ(Call("aten::mean", {x}).error().reason, "unsupported_dtype");
  EXPECT_EQ(Call("aten::sum.dim_IntList", {x, Ints({2})}).error().reason, "dim_out_of_range");
  EXPECT_EQ(Call("aten::sum.dim_IntList", {x, Ints({1, -1})}).error().reason, "dim_repeated");
}

TEST(Copy, WhatIsTheArgumentItselfAndWhatIsNew) {
  Tensor x = Counting(DType::kF32, {2, 3}, {1, 2});
  x.object = 7;
  struct Case {
    const char* key;
    std::vector<Value> args;
    bool same;
    const char* view;
  };
  const Case cases[] = {
      {"aten::clone", {x}, false, "f32[2, 3][1, 2]"},
      {"aten::clone", {x, MemoryFormat::kContiguous}, false, "f32[2, 3][3, 1]"},
      {"aten::contiguous", {x, MemoryFormat::kContiguous}, false, "f32[2, 3][3, 1]"},
      {"aten::to.dtype", {x, DType::kF32}, true, "f32[2, 3][1, 2]"},
      {"aten::to.dtype", {x, DType::kI8}, false, "i8[2, 3][1, 2]"},
      {"aten::to.dtype", {x, DType::kF32, false, true}, false, "f32[2, 3][1, 2]"},
      {"aten::_to_copy", {x, DType::kF64}, false, "f64[2, 3][1, 2]"},
      {"aten::copy_", {x, x}, true, "f32[2, 3][1, 2]"},
      {"aten::zeros_like", {x}, false, "f32[2, 3][1, 2]"},
  };
  for (const Case& c : cases) {
    Result<op::CallResult> r = Call(c.key, c.args);
    ASSERT_TRUE(r.ok()) << c.key << ": " << r.error().message;
    const Tensor& result = r->returns[0].tensor();
    EXPECT_EQ(ToString(result.view()), c.view) << c.key;
    EXPECT_EQ(result.object == 7, c.same) << c.key;
    EXPECT_EQ(result.storage == x.storage, c.same) << c.key;
  }
}

TEST(Copy, CloneStridesKeepsGapsAndWindowsButNotExpansion) {
  Tensor gapped = Counting(DType::kF32, {2, 2}, {8, 2});
  Result<op::CallResult> r = Call("palimpsest::clone_strides", {gapped});
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(ToString(r->returns[0].tensor().view()), "f32[2, 2][8, 2]");
  Tensor windows = Counting(DType::kF32, {2, 2}, {1, 1});
  r = Call("palimpsest::clone_strides", {windows});
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(ToString(r->returns[0].tensor().view()), "f32[2, 2][1, 1]");
  Tensor expanded = Counting(DType::kF32, {2, 2}, {0, 1});
  r = Call("palimpsest::clone_strides", {expanded});
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(ToString(r->returns[0].tensor().view()), "f32[2, 2][2, 1]");
}

TEST(Cast, EdgesOfConversion) {
  struct Case {
    DType from;
    double value;
    DType to;
    double expected;
  };
  const Case cases[] = {
      {DType::kF32, 2.9, DType::kI32, 2},
      {DType::kF32, -2.9, DType::kI8, -2},
      {DType::kI64, 300, DType::kU8, 44},
      {DType::kF64, std::nan(""), DType::kI64, -0x1p63},
      {DType::kF32, 0.5, DType::kB8, 1},
      {DType::kF64, 1.0009765625, DType::kBF16, 1},
      {DType::kF32, 65520, DType::kF16, INFINITY},
  };
  for (const Case& c : cases) {
    alignas(16) std::byte from[16], to[16];
    StoreNumber(Scalar::Float(c.value), c.from, from);
    FindCast(c.to, c.from)(to, 0, from, 0, 1);
    EXPECT_EQ(LoadNumber(c.to, to).AsDouble(), c.expected) << c.value;
  }
}

}  // namespace
}  // namespace palimpsest::kernels
