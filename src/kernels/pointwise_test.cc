#include "kernels/pointwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/copy_cast.h"

namespace palimpsest::kernels {
namespace {

const op::OpTable& Table() {
  static const op::OpTable* table = [] {
    auto* t = new op::OpTable;
    EXPECT_TRUE(RegisterPointwise(*t).ok());
    return t;
  }();
  return *table;
}

Tensor Make(DType dtype, Dims sizes, const std::vector<double>& values) {
  Result<Tensor> t = EmptyTensor(dtype, sizes);
  EXPECT_TRUE(t.ok());
  for (size_t i = 0; i < values.size(); ++i) {
    StoreNumber(Scalar::Float(values[i]), dtype,
                t->data() + static_cast<int64_t>(i) * ItemSize(dtype));
  }
  return *t;
}
std::vector<double> Values(const Tensor& t) {
  std::vector<double> values;
  for (int64_t i = 0; i < t.numel(); ++i) {  // of contiguous results
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

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Pointwise, Values) {
  struct Case {
    const char* key;
    DType dtype;
    std::vector<double> x, y;
    DType result;
    std::vector<double> expected;
  };
  const Case cases[] = {
      {"aten::add.Tensor", DType::kI8, {127, 1}, {1, 2}, DType::kI8, {-128, 3}},
      {"aten::add.Tensor", DType::kB8, {1, 0}, {1, 0}, DType::kB8, {1, 0}},
      {"aten::div.Tensor", DType::kI32, {7, -7}, {2, 2}, DType::kF32, {3.5, -3.5}},
      {"aten::floor_divide", DType::kI32, {7, -7}, {2, 2}, DType::kI32, {3, -4}},
      {"aten::remainder.Tensor", DType::kF32, {5, -5}, {3, 3}, DType::kF32, {2, 1}},
      {"aten::fmod.Tensor", DType::kI64, {5, -5}, {3, 3}, DType::kI64, {2, -2}},
      {"aten::maximum", DType::kF32, {kNan, 1}, {1, kNan}, DType::kF32, {kNan, kNan}},
      {"aten::fmax", DType::kF32, {kNan, 1}, {1, kNan}, DType::kF32, {1, 1}},
      {"aten::pow.Tensor_Tensor", DType::kI32, {2, -1}, {-1, -3}, DType::kI32, {0, -1}},
      {"aten::lt.Tensor", DType::kF32, {1, kNan}, {2, 2}, DType::kB8, {1, 0}},
      {"aten::xlogy.Tensor", DType::kF32, {0, 0}, {0, kNan}, DType::kF32, {0, kNan}},
      {"aten::logaddexp", DType::kF32, {kInf, -kInf}, {kInf, -kInf}, DType::kF32, {kInf, -kInf}},
      {"aten::bitwise_left_shift.Tensor",
       DType::kI32,
       {1, 1},
       {31, 32},
       DType::kI32,
       {-2147483648.0, 0}},
  };
  for (const Case& c : cases) {
    Dims sizes{static_cast<int64_t>(c.x.size())};
    Result<op::CallResult> r = Call(c.key, {Make(c.dtype, sizes, c.x), Make(c.dtype, sizes, c.y)});
    ASSERT_TRUE(r.ok()) << c.key << ": " << r.error().message;
    const Tensor& result = r->returns[0].tensor();
    EXPECT_EQ(result.dtype, c.result) << c.key;
    std::vector<double> values = Values(result);
    for (size_t i = 0; i < values.size(); ++i) {
      bool both_nan = std::isnan(values[i]) && std::isnan(c.expected[i]);
      EXPECT_TRUE(both_nan || values[i] == c.expected[i]) << c.key << " " << values[i];
    }
  }
}

TEST(Pointwise, NumbersConvertToTheCommonType) {
  Tensor u8 = Make(DType::kU8, {1}, {1});
  Result<op::CallResult> wrapped = Call("aten::add.Scalar", {u8, 300});
  ASSERT_TRUE(wrapped.ok());
  EXPECT_EQ(Values(wrapped->returns[0].tensor()), std::vector<double>{45});
  Result<op::CallResult> refused = Call("aten::clamp", {u8, 0, 300});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason, "number_out_of_range");
}

TEST(Pointwise, SixteenBitFloatsRoundOnce) {
  // (1 + 2^-11) is no f16; in float 1 + 2^-11 - 1 would be 2^-11.
  Tensor one = Make(DType::kF16, {1}, {1}), tiny = Make(DType::kF16, {1}, {0.00048828125});
  Result<op::CallResult> sum = Call("aten::add.Tensor", {one, tiny});
  ASSERT_TRUE(sum.ok());
  EXPECT_EQ(Values(sum->returns[0].tensor()), std::vector<double>{1});
}

TEST(Pointwise, RefusalsHaveEagersReasons) {
  Tensor f = Make(DType::kF32, {2}, {1, 2}), i = Make(DType::kI64, {2}, {1, 2});
  Tensor b = Make(DType::kB8, {2}, {1, 0}), three = Make(DType::kF32, {3}, {1, 2, 3});
  struct Case {
    const char* key;
    std::vector<Value> args;
    const char* reason;
  };
  const Case cases[] = {
      {"aten::add.Tensor", {f, three}, "broadcast_mismatch"},
      {"aten::add_.Tensor", {Make(DType::kF32, {1}, {1}), three}, "output_shape_mismatch"},
      {"aten::mul_.Tensor", {i, f}, "cannot_cast"},
      {"aten::add.Tensor", {i, i, 1.5}, "bad_alpha"},
      {"aten::sub.Tensor", {b, b}, "unsupported_dtype"},
      {"aten::neg", {b}, "unsupported_dtype"},
      {"aten::where.self", {f, f, f}, "condition_not_bool"},
      {"aten::lerp.Tensor", {f, Make(DType::kF64, {2}, {1, 2}), f}, "dtype_mismatch"},
      {"aten::addcdiv", {f, i, i}, "unsupported_dtype"},
      {"aten::pow.Tensor_Scalar", {i, -1}, "unsupported_dtype"},
  };
  for (const Case& c : cases) {
    Result<op::CallResult> r = Call(c.key, c.args);
    EXPECT_EQ(r.ok() ? "" : r.error().reason, c.reason) << c.key;
  }
}

TEST(Pointwise, DivisionByZeroFailsWhileRunning) {
  Tensor x = Make(DType::kI32, {1}, {1}), zero = Make(DType::kI32, {1}, {0});
  Result<op::CallResult> r = Call("aten::floor_divide", {x, zero});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().kind, ErrorKind::kRuntime);
}

TEST(Pointwise, OutIsResizedInPlaceOfItsOffset) {
  Tensor x = Make(DType::kF32, {2, 3}, {1, 2, 3, 4, 5, 6}), out = Make(DType::kF32, {2}, {9, 9});
  out.sizes = {1};
  out.offset = 1;
  Result<op::CallResult> r = Call("aten::neg.out", {x, out});
  ASSERT_TRUE(r.ok());
  ASSERT_EQ(r->warnings, std::vector<std::string>{"resized_nonempty_out"});
  const Tensor& result = r->returns[0].tensor();
  EXPECT_EQ(result.offset, 1);
  EXPECT_EQ(result.storage, out.storage);
  EXPECT_EQ(Values(result), (std::vector<double>{-1, -2, -3, -4, -5, -6}));
  EXPECT_EQ(LoadNumber(DType::kF32, out.storage->data()).AsDouble(), 9);
  out.storage->set_resizable(false);
  Tensor more = Make(DType::kF32, {20}, std::vector<double>(20, 1));
  r = Call("aten::neg.out", {more, out});
  EXPECT_EQ(r.ok() ? "" : r.error().reason, "resize_not_allowed");
}

TEST(Pointwise, EveryInPlaceFormNamesATwinThatExists) {
  for (const op::Op* op : Table().All()) {
    if (op->functional.empty()) continue;
    const op::Op* twin = Table().Find(op->functional);
    ASSERT_NE(twin, nullptr) << op->schema.Key();
    EXPECT_EQ(twin->schema.args.size(), op->schema.args.size()) << op->schema.Key();
    EXPECT_TRUE(twin->traits.pointwise) << op->functional;
  }
}

}  // namespace
}  // namespace palimpsest::kernels
