#include "op/op.h"

#include <gtest/gtest.h>

#include "op/call.h"

namespace palimpsest::op {
namespace {

Op Make(const char* schema, MetaFn meta = nullptr, KernelFn kernel = nullptr) {
  Op op;
  op.schema = *ParseSchema(schema);
  op.meta = std::move(meta);
  op.kernel = std::move(kernel);
  return op;
}

Status FreshLikeFirst(MetaCall& call) {
  const Tensor& t = call.args[0].tensor();
  call.results.push_back(ResultSpec::Fresh(t.dtype, t.sizes));
  return {};
}

// result[i] = self[i] + 1 for contiguous f32; reads through `self`.
Status PlusOne(KernelCall& call) {
  const Tensor &self = call.args[0].tensor(), &out = call.results[0];
  for (int64_t i = 0; i < self.numel(); ++i) {
    out.data_as<float>()[i * (out.dim() ? out.strides[0] : 1)] =
        self.data_as<float>()[i * (self.dim() ? self.strides[0] : 1)] + 1;
  }
  return {};
}

Tensor Vector(std::initializer_list<float> values) {
  Dims sizes{static_cast<int64_t>(values.size())};
  Tensor t = *EmptyTensor(DType::kF32, sizes);
  std::copy(values.begin(), values.end(), t.data_as<float>());
  return t;
}

std::vector<float> Elements(const Tensor& t) {
  Tensor copy = *EmptyTensor(t.dtype, t.sizes);
  CopyElements(t, copy);
  return {copy.data_as<float>(), copy.data_as<float>() + copy.numel()};
}

TEST(OpTable, KeysAndTargets) {
  const std::pair<const char*, const char*> rows[] = {
      {"torch.ops.aten.add.Tensor", "aten::add.Tensor"},
      {"torch.ops.aten.relu.default", "aten::relu"},
      {"torch.ops.higher_order.cond", "higher_order::cond"},
      {"_operator.add", "_operator::add"},
      {"operator.add", "_operator::add"},
      {"torch.sym_max", "torch::sym_max"},
      {"math.trunc", "math::trunc"},
      {"", ""},
      {"torch.ops.", ""},
      {"nothing", "nothing"},
  };
  for (const auto& [target, key] : rows) EXPECT_EQ(KeyOfTarget(target), key) << target;
}

TEST(OpTable, FindsInParentsAndByLikeness) {
  OpTable parent;
  ASSERT_TRUE(parent.Register(Make("aten::add.Tensor(Tensor self, Tensor other) -> Tensor")).ok());
  OpTable child(&parent);
  ASSERT_TRUE(child.Register(Make("my::bump_(Tensor(a!) x) -> ()")).ok());
  EXPECT_NE(child.Find("aten::add.Tensor"), nullptr);
  EXPECT_NE(child.FindTarget("torch.ops.my.bump_.default"), nullptr);
  EXPECT_EQ(parent.Find("my::bump_"), nullptr);
  EXPECT_EQ(child.All().size(), 2u);
  EXPECT_EQ(child.Nearest("aten::ad.Tensor"), "aten::add.Tensor");
  EXPECT_EQ(child.Nearest("other::thing"), "");
}

TEST(OpTable, RefusesWhatDoesNotFit) {
  OpTable table;
  ASSERT_TRUE(table.Register(Make("my::a(Tensor(a!) x) -> ()")).ok());
  KernelFn kernel = [](KernelCall&) -> Status { return {}; };
  Op tied = Make("my::d(Tensor x) -> Tensor", FreshLikeFirst, kernel);
  tied.traits.tied = 1;
  Op functional = Make("my::e(Tensor x) -> Tensor", FreshLikeFirst, kernel);
  functional.functional = "my::a";
  Op bad[] = {Make("my::a(Tensor x) -> ()"), Make("b(Tensor x) -> ()"),
              Make("my::c(Tensor x) -> Tensor", nullptr, kernel), std::move(tied),
              std::move(functional)};
  for (Op& op : bad) {
    std::string schema = op.schema.ToString();
    Status status = table.Register(std::move(op));
    ASSERT_FALSE(status.ok()) << schema;
    EXPECT_EQ(status.error().kind, ErrorKind::kUsage);
  }
}

TEST(CallOp, ReturnsWrittenArgumentsWithoutMeta) {
  OpTable table;
  KernelFn kernel = [](KernelCall& call) -> Status {
    call.args[0].tensor().data_as<float>()[0] = 7;
    return {};
  };
  Op op = Make(
      "my::v(Tensor(a!) x, Tensor(b!)? y=None, *, Tensor(c!)[] z) -> "
      "(Tensor(a!), Tensor(b!)?, Tensor(c!)[])",
      nullptr, kernel);
  ASSERT_TRUE(table.Register(std::move(op)).ok());
  Tensor x = Vector({1, 2}), z = Vector({3});
  x.object = 5;
  std::vector<Value> args = {x, Value(), Value::List{Value(z)}};
  Result<CallResult> result = CallOp(*table.Find("my::v"), args, nullptr);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->returns[0].tensor().storage, x.storage);
  EXPECT_EQ(result->returns[0].tensor().object, 5);
  EXPECT_TRUE(result->returns[1].IsNone());
  EXPECT_EQ(result->returns[2].list()[0].tensor().storage, z.storage);
  EXPECT_EQ(Elements(x), (std::vector<float>{7, 2}));
}

TEST(CallOp, InplaceFromFunctionalTwin) {
  for (bool pointwise : {true, false}) {  // onto the operand, or through a temporary
    OpTable table;
    Op twin = Make("my::plus(Tensor self) -> Tensor", FreshLikeFirst, PlusOne);
    twin.traits.pointwise = pointwise;
    Op op = Make("my::plus_(Tensor(a!) self) -> Tensor(a!)");
    op.functional = "my::plus";
    ASSERT_TRUE(table.Register(std::move(op)).ok());  // before its twin
    ASSERT_TRUE(table.Register(std::move(twin)).ok());
    Tensor x = Vector({1, 2, 3, 4});
    Tensor every_second = x;
    every_second.sizes = Dims{2};
    every_second.strides = Dims{2};
    std::vector<Value> args = {every_second};
    Result<CallResult> result = CallOp(*table.Find("my::plus_"), args, nullptr);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(Elements(x), (std::vector<float>{2, 2, 4, 4}));
    Result<CallResult> shapes = InferOp(*table.Find("my::plus_"), args);
    ASSERT_TRUE(shapes.ok());
    EXPECT_EQ(shapes->returns[0].tensor().storage, x.storage);
  }
}

TEST(CallOp, InplaceRefusals) {
  struct Row {
    DType result;
    int64_t size;
    const char* reason;
  };
  for (const Row& row : {Row{DType::kF32, 2, ""}, Row{DType::kF32, 3, "output_shape_mismatch"},
                         Row{DType::kC64, 2, "cannot_cast"}, Row{DType::kI64, 2, ""}}) {
    OpTable table;
    MetaFn meta = [row](MetaCall& call) -> Status {
      call.results.push_back(ResultSpec::Fresh(row.result, Dims{row.size}));
      return {};
    };
    Op twin = Make("my::f(Tensor self) -> Tensor", meta, PlusOne);
    twin.traits.pointwise = true;
    Op op = Make("my::f_(Tensor(a!) self) -> Tensor(a!)");
    op.functional = "my::f";
    ASSERT_TRUE(table.Register(std::move(twin)).ok() && table.Register(std::move(op)).ok());
    std::vector<Value> args = {Vector({1, 2})};
    Result<CallResult> result = InferOp(*table.Find("my::f_"), args);
    EXPECT_EQ(result.ok(), row.reason[0] == '\0');
    if (!result.ok()) {
      EXPECT_EQ(result.error().reason, row.reason);
    }
  }
}

TEST(CallOp, TiedResultHoldsTheOldContents) {
  OpTable table;
  KernelFn kernel = [](KernelCall& call) -> Status {
    call.results[0].data_as<float>()[1] = 9;
    return {};
  };
  Op op = Make("my::put(Tensor self) -> Tensor", FreshLikeFirst, kernel);
  op.traits.tied = 0;
  Op inplace = Make("my::put_(Tensor(a!) self) -> Tensor(a!)");
  inplace.functional = "my::put";
  ASSERT_TRUE(table.Register(std::move(op)).ok() && table.Register(std::move(inplace)).ok());
  Tensor x = Vector({1, 2, 3});
  std::vector<Value> args = {x};
  Result<CallResult> result = CallOp(*table.Find("my::put"), args, nullptr);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(Elements(result->returns[0].tensor()), (std::vector<float>{1, 9, 3}));
  EXPECT_EQ(Elements(x), (std::vector<float>{1, 2, 3}));
  ASSERT_TRUE(CallOp(*table.Find("my::put_"), args, nullptr).ok());
  EXPECT_EQ(Elements(x), (std::vector<float>{1, 9, 3}));
}

TEST(CallOp, NumbersViewsAndLayouts) {
  OpTable table;
  MetaFn item = [](MetaCall& call) -> Status {
    call.results.push_back(ResultSpec::Data());
    return {};
  };
  KernelFn read = [](KernelCall& call) -> Status {
    call.numbers.emplace_back(static_cast<double>(call.args[0].tensor().data_as<float>()[0]));
    return {};
  };
  ASSERT_TRUE(table.Register(Make("my::item(Tensor x) -> Scalar", item, read)).ok());
  MetaFn half = [](MetaCall& call) -> Status {
    View v = call.args[0].tensor().view();
    v.sizes[0] /= 2;
    call.relayouts.push_back({0, v});
    call.results.push_back(ResultSpec::Same(0));
    v.offset = 1;
    call.results.push_back(ResultSpec::List({ResultSpec::ViewOf(0, v), ResultSpec::None()}));
    return {};
  };
  ASSERT_TRUE(
      table.Register(Make("my::half_(Tensor(a!) x) -> (Tensor(a!), Tensor(a)[])", half)).ok());
  Tensor x = Vector({4, 5, 6, 7});
  std::vector<Value> args = {x};
  Result<CallResult> number = CallOp(*table.Find("my::item"), args, nullptr);
  ASSERT_TRUE(number.ok());
  EXPECT_EQ(number->returns[0].As<double>(), 4.0);
  Result<CallResult> views = CallOp(*table.Find("my::half_"), args, nullptr);
  ASSERT_TRUE(views.ok()) << views.error().message;
  EXPECT_EQ(Elements(views->returns[0].tensor()), (std::vector<float>{4, 5}));
  EXPECT_EQ(Elements(views->returns[1].list()[0].tensor()), (std::vector<float>{5, 6}));
  ASSERT_EQ(views->relayouts.size(), 1u);
}

TEST(CallOp, ArgumentsAreCheckedAgainstTheSchema) {
  OpTable table;
  MetaFn nothing = [](MetaCall&) -> Status { return {}; };
  const char* schema =
      "my::all(Tensor a, Tensor? b, int[2] c, float d, str e, Tensor?[] f, ScalarType? g=None) -> "
      "()";
  ASSERT_TRUE(table.Register(Make(schema, nothing)).ok());
  Tensor t = Vector({1});
  const std::vector<Value> good = {
      t, Value(), Value::List{1, 2}, 1.5, "s", Value::List{t, Value()}, DType::kF32};
  EXPECT_TRUE(InferOp(*table.Find("my::all"), good).ok());
  struct Row {
    size_t arg;
    Value value;
    bool ok;
  };
  const Row rows[] = {{0, 1, true},        {0, Value(), false},
                      {0, "x", false},     {0, Value(Value::List{}), false},
                      {1, t, true},        {1, DType::kF32, false},
                      {2, 3, true},        {2, Value::List{1.5}, false},
                      {2, Value(), false}, {2, Value::List{t}, false},
                      {3, 2, true},        {3, "1", false},
                      {4, 1, false},       {5, t, false},
                      {5, Value(), false}, {6, Value(), true},
                      {6, 6, false},       {0, Value(Tensor()), false}};
  for (const Row& row : rows) {
    std::vector<Value> args = good;
    args[row.arg] = row.value;
    EXPECT_EQ(InferOp(*table.Find("my::all"), args).ok(), row.ok) << row.arg;
  }
}

TEST(CallOp, EmptyTensorsHaveAnAddress) {
  OpTable table;
  MetaFn meta = [](MetaCall& call) -> Status {
    call.results.push_back(ResultSpec::Fresh(DType::kF32, Dims{0, 3}));
    return {};
  };
  KernelFn kernel = [](KernelCall& call) -> Status {
    return call.results[0].data() != nullptr ? Status() : InternalError("no address");
  };
  ASSERT_TRUE(table.Register(Make("my::none() -> Tensor", meta, kernel)).ok());
  EXPECT_TRUE(CallOp(*table.Find("my::none"), {}, nullptr).ok());
}

TEST(CallOp, OnlyASchemaIsNoKernel) {
  OpTable table;
  ASSERT_TRUE(table.Register(Make("my::f(Tensor x) -> Tensor")).ok());
  std::vector<Value> args = {Vector({1})};
  Result<CallResult> result = CallOp(*table.Find("my::f"), args, nullptr);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::kUnknownOperator);
}

}  // namespace
}  // namespace palimpsest::op
