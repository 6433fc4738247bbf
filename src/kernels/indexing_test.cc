// Indexed reads and writes: results, and that a call with a bad index has written nothing.
#include "kernels/indexing.h"

#include <gtest/gtest.h>

#include "kernels/builtin.h"
#include "kernels/copy.h"

namespace palimpsest::kernels {
namespace {

const op::OpTable& Table() {
  static const op::OpTable* table = [] {
    auto* t = new op::OpTable;
    EXPECT_TRUE(RegisterBuiltins(*t).ok());
    return t;
  }();
  return *table;
}

Tensor Make(DType dtype, Dims sizes, std::vector<double> values) {
  Tensor packed = *EmptyTensor(DType::kF64, sizes);
  std::copy(values.begin(), values.end(), packed.data_as<double>());
  Tensor t = *EmptyTensor(dtype, sizes);
  EXPECT_TRUE(CopyTo(packed, t).ok());
  return t;
}
Tensor Floats(Dims sizes, std::vector<double> v) {
  return Make(DType::kF32, std::move(sizes), std::move(v));
}
Tensor Indices(Dims sizes, std::vector<double> v) {
  return Make(DType::kI64, std::move(sizes), std::move(v));
}
// 0, 1, .. as f32[3, 4].
Tensor Grid() { return Floats({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}); }

std::vector<double> Elements(const Tensor& t) {
  Tensor packed = *EmptyTensor(DType::kF64, t.sizes);
  EXPECT_TRUE(CopyTo(t, packed).ok());
  return {packed.data_as<double>(), packed.data_as<double>() + packed.numel()};
}

Result<op::CallResult> Call(std::string_view key, std::vector<Value> args) {
  const op::Op* op = Table().Find(key);
  EXPECT_NE(op, nullptr) << key;
  for (size_t i = args.size(); i < op->schema.args.size(); ++i) {
    args.push_back(op->schema.args[i].default_value.value_or(Value()));
  }
  return op::CallOp(*op, args, nullptr);
}

struct Case {
  const char* key;
  std::vector<Value> args;
  std::vector<double> expected;  // of result 0
};

TEST(Indexing, Results) {
  Tensor i02 = Indices({2}, {0, 2}), mask = Make(DType::kB8, {3}, {1, 0, 1});
  Tensor two = Floats({}, {2});
  const Case cases[] = {
      {"aten::index_select", {Grid(), 0, Indices({2}, {2, 0})}, {8, 9, 10, 11, 0, 1, 2, 3}},
      {"aten::index.Tensor", {Grid(), Value::List{i02, Indices({2}, {-1, 1})}}, {3, 9}},
      {"aten::index.Tensor", {Grid(), Value::List{Value(), Indices({1}, {3})}}, {3, 7, 11}},
      {"aten::index.Tensor", {Grid(), Value::List{mask}}, {0, 1, 2, 3, 8, 9, 10, 11}},
      {"aten::gather", {Grid(), 1, Indices({2, 1}, {3, 0})}, {3, 4}},
      {"aten::take", {Grid(), Indices({2}, {-1, 4})}, {11, 4}},
      {"aten::embedding", {Grid(), Indices({1, 1}, {1})}, {4, 5, 6, 7}},
      {"aten::index_put", {Grid(), Value::List{i02}, two}, {2, 2, 2, 2, 4, 5, 6, 7, 2, 2, 2, 2}},
      {"aten::index_put",
       {Grid(), Value::List{Indices({2}, {1, 1}), Indices({2}, {1, 1})}, two, true},
       {0, 1, 2, 3, 4, 9, 6, 7, 8, 9, 10, 11}},
      {"aten::index_fill.int_Scalar",
       {Grid(), 1, Indices({1}, {-1}), 5.5},
       {0, 1, 2, 5.5, 4, 5, 6, 5.5, 8, 9, 10, 5.5}},
      {"aten::index_add",
       {Floats({2}, {1, 2}), 0, Indices({3}, {0, 0, 1}), Floats({3}, {1, 2, 3}), 2},
       {7, 8}},
      {"aten::scatter_reduce.two",
       {Floats({2}, {1, 2}), 0, Indices({3}, {0, 0, 1}), Floats({3}, {3, 5, 6}), "mean", false},
       {4, 6}},
      {"aten::scatter_reduce.two",
       {Floats({2}, {1, 9}), 0, Indices({3}, {0, 0, 1}), Floats({3}, {3, 5, 6}), "amax", true},
       {5, 9}},
      {"aten::masked_scatter", {Floats({3}, {1, 2, 3}), mask, Floats({2}, {8, 9})}, {8, 2, 9}},
      {"aten::topk", {Floats({4}, {3, 9, 1, 7}), 2}, {9, 7}},
      {"aten::kthvalue", {Floats({4}, {3, 9, 1, 7}), 3}, {7}},
      {"aten::nonzero", {mask}, {0, 2}},
  };
  for (const Case& c : cases) {
    Result<op::CallResult> result = Call(c.key, c.args);
    ASSERT_TRUE(result.ok()) << c.key << ": " << result.error().message;
    EXPECT_EQ(Elements(result->returns[0].tensor()), c.expected) << c.key;
  }
}

// Every index is checked before the first element is written.
TEST(Indexing, ABadIndexWritesNothing) {
  Tensor bad = Indices({2}, {0, 7});
  const Case cases[] = {
      {"aten::index_put_", {Grid(), Value::List{bad}, Floats({}, {-1})}, {}},
      {"aten::index_copy_", {Grid(), 0, bad, Floats({2, 4}, std::vector<double>(8, -1))}, {}},
      {"aten::index_fill_.int_Scalar", {Grid(), 0, bad, -1}, {}},
      {"aten::scatter_.value", {Grid(), 1, Indices({1, 2}, {0, 7}), -1}, {}},
      {"aten::put_", {Grid(), Indices({2}, {0, 70}), Floats({2}, {-1, -1})}, {}},
  };
  for (const Case& c : cases) {
    Result<op::CallResult> result = Call(c.key, c.args);
    ASSERT_FALSE(result.ok()) << c.key;
    EXPECT_EQ(result.error().reason, "index_out_of_range") << c.key;
    EXPECT_EQ(Elements(c.args[0].tensor()), Elements(Grid())) << c.key;
  }
}

// The layout is the iterator's: index dims stand where the indexed dims stood, by their strides.
TEST(Indexing, LayoutOfAnIndexedResult) {
  Tensor x = ShapeOnlyTensor(View{DType::kF32, {5, 3, 2, 4}, {1, 20, 60, 5}, 0});
  Value i = ShapeOnlyTensor(ContiguousView(DType::kI64, Dims{2}));
  std::vector<Value> args = {x, Value::List{Value(), i, i}};
  Result<op::CallResult> result = op::InferOp(*Table().Find("aten::index.Tensor"), args);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->returns[0].tensor().sizes, (Dims{5, 2, 4}));
  EXPECT_EQ(result->returns[0].tensor().strides, (Dims{1, 5, 10}));
}

TEST(Indexing, SizesThatHangOnDataAreUnsupported) {
  Value mask = ShapeOnlyTensor(ContiguousView(DType::kB8, Dims{3}));
  std::vector<Value> args = {ShapeOnlyTensor(ContiguousView(DType::kF32, Dims{3})),
                             Value::List{mask}};
  Result<op::CallResult> result = op::InferOp(*Table().Find("aten::index.Tensor"), args);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace palimpsest::kernels
