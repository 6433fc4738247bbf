// Views: sizes, strides and offsets as PyTorch 2.13 gives them, and what it refuses.
#include "kernels/views.h"

#include <gtest/gtest.h>

#include "kernels/builtin.h"
#include "op/schema.h"

namespace palimpsest::kernels {
namespace {

struct Case {
  const char* key;
  View self;
  std::vector<Value> rest;
  const char* expected;  // "[sizes][strides] offset", "fresh", or the reason of the refusal
};

View Of(Dims sizes, Dims strides, int64_t offset = 0, DType dtype = DType::kF32) {
  return View{dtype, std::move(sizes), std::move(strides), offset};
}
Value Ints(std::initializer_list<int64_t> values) {
  return Value::Ints(std::vector<int64_t>(values));
}

std::string Describe(const Result<op::CallResult>& result, const Tensor& self) {
  if (!result.ok()) return result.error().reason;
  const Tensor& t = result->returns[0].tensor();
  if (t.storage != self.storage) return "fresh";
  return ToString(t.sizes) + ToString(t.strides) + " " + std::to_string(t.offset);
}

constexpr int64_t kEnd = 9223372036854775807;

const Case kCases[] = {
    {"aten::select.int", Of({3, 4}, {4, 1}), {0, -1}, "[4][1] 8"},
    {"aten::select.int", Of({3, 4}, {4, 1}), {1, 4}, "index_out_of_range"},
    {"aten::select.int", Of({}, {}), {0, 0}, "dim_out_of_range"},
    {"aten::slice.Tensor", Of({5}, {2}, 1), {0, 1, kEnd, 2}, "[2][4] 3"},
    {"aten::slice.Tensor", Of({5}, {1}), {0, -2, kEnd}, "[2][1] 3"},
    {"aten::slice.Tensor", Of({5}, {1}), {0, 4, 2}, "[0][1] 4"},
    {"aten::slice.Tensor", Of({5}, {1}), {0, Value(), Value(), kEnd}, "[1][9223372036854775807] 0"},
    {"aten::slice.Tensor", Of({5}, {1}), {0, 0, 5, 0}, "bad_step"},
    {"aten::view", Of({2, 6}, {6, 1}), {Ints({3, -1})}, "[3, 4][4, 1] 0"},
    {"aten::view", Of({4, 3}, {1, 4}), {Ints({12})}, "view_incompatible"},
    {"aten::view", Of({4, 3}, {1, 4}), {Ints({2, 2, 3})}, "[2, 2, 3][2, 1, 4] 0"},
    {"aten::view", Of({2, 6}, {6, 1}), {Ints({5, -1})}, "size_mismatch"},
    {"aten::view", Of({0, 3}, {3, 1}), {Ints({-1, 0})}, "size_mismatch"},
    {"aten::view", Of({2}, {1}), {Ints({1 << 30, 1 << 30, 1 << 30})}, "size_mismatch"},
    {"aten::reshape", Of({4, 3}, {1, 4}), {Ints({12})}, "fresh"},
    {"aten::reshape", Of({4, 3}, {3, 1}), {Ints({12})}, "[12][1] 0"},
    {"aten::flatten.using_ints", Of({2, 3, 4}, {12, 4, 1}), {1, -1}, "[2, 12][12, 1] 0"},
    {"aten::flatten.using_ints", Of({2, 3}, {1, 2}), {0, -1}, "fresh"},
    {"aten::permute", Of({2, 3}, {3, 1}), {Ints({1, 1})}, "dim_repeated"},
    {"aten::expand", Of({3, 1}, {1, 7}), {Ints({2, -1, 4})}, "[2, 3, 4][0, 1, 0] 0"},
    {"aten::expand", Of({3}, {1}), {Ints({1, 3})}, "[1, 3][3, 1] 0"},
    {"aten::expand", Of({3}, {1}), {Ints({4})}, "broadcast_mismatch"},
    {"aten::unsqueeze", Of({3, 4}, {4, 1}), {1}, "[3, 1, 4][4, 4, 1] 0"},
    {"aten::unsqueeze", Of({3, 4}, {4, 1}), {4}, "dim_out_of_range"},
    {"aten::squeeze.dim", Of({1, 3}, {3, 1}), {0}, "[3][1] 0"},
    {"aten::squeeze.dim", Of({1, 3}, {3, 1}), {1}, "[1, 3][3, 1] 0"},
    {"aten::diagonal", Of({3, 4}, {4, 1}), {1, 0, 1}, "[3][5] 1"},
    {"aten::diagonal", Of({3, 4}, {4, 1}), {-9, 0, 1}, "[0][5] 0"},
    {"aten::unfold", Of({5}, {1}), {0, 3, 2}, "[2, 3][2, 1] 0"},
    {"aten::unfold", Of({5}, {1}), {0, 6, 1}, "window_too_large"},
    {"aten::as_strided", Of({5}, {1}), {Ints({2, 2}), Ints({1, 1}), 2}, "[2, 2][1, 1] 2"},
    {"aten::as_strided", Of({5}, {1}), {Ints({2}), Ints({4}), 1}, "out_of_storage"},
    {"aten::as_strided", Of({5}, {1}), {Ints({kEnd}), Ints({kEnd}), 1}, ""},
    {"aten::narrow", Of({5}, {1}), {0, -3, 2}, "[2][1] 2"},
    {"aten::narrow", Of({5}, {1}), {0, 3, 3}, "index_out_of_range"},
    {"aten::view.dtype", Of({4}, {1}, 2), {DType::kI64}, "[2][1] 1"},
    {"aten::view.dtype", Of({4}, {1}, 1), {DType::kI64}, "dtype_view_impossible"},
    {"aten::view.dtype", Of({4, 2}, {3, 1}), {DType::kI16}, "[4, 4][6, 1] 0"},
    {"aten::movedim.int", Of({2, 3, 4}, {12, 4, 1}), {0, -1}, "[3, 4, 2][4, 1, 12] 0"},
    {"aten::mT", Of({3}, {1}), {}, "dim_out_of_range"},
    {"aten::ravel", Of({2, 3}, {1, 2}), {}, "fresh"},
};

TEST(Views, GeometryAndRefusals) {
  op::OpTable table;
  ASSERT_TRUE(RegisterBuiltins(table).ok());
  for (const Case& c : kCases) {
    const op::Op* op = table.Find(c.key);
    ASSERT_NE(op, nullptr) << c.key;
    Tensor self = ShapeOnlyTensor(c.self);
    std::vector<Value> args = {self};
    args.insert(args.end(), c.rest.begin(), c.rest.end());
    for (size_t i = args.size(); i < op->schema.args.size(); ++i) {
      args.push_back(*op->schema.args[i].default_value);
    }
    EXPECT_EQ(Describe(op::InferOp(*op, args), self), c.expected)
        << c.key << " of " << ToString(c.self);
  }
}

// t_ changes the layout of the object itself.
TEST(Views, InPlaceFormsRelayout) {
  op::OpTable table;
  ASSERT_TRUE(RegisterBuiltins(table).ok());
  std::vector<Value> args = {ShapeOnlyTensor(Of({2, 3}, {3, 1}))};
  Result<op::CallResult> result = op::InferOp(*table.Find("aten::t_"), args);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->relayouts.size(), 1u);
  EXPECT_EQ(result->relayouts[0].view, Of({3, 2}, {1, 3}));
  EXPECT_EQ(result->returns[0].tensor().sizes, (Dims{3, 2}));
}

TEST(Views, SplitsShareOneStorage) {
  op::OpTable table;
  ASSERT_TRUE(RegisterBuiltins(table).ok());
  Tensor self = ShapeOnlyTensor(Of({5, 2}, {2, 1}));
  std::vector<Value> args = {self, 2, 0};
  Result<op::CallResult> result = op::InferOp(*table.Find("aten::split.Tensor"), args);
  ASSERT_TRUE(result.ok());
  const Value::List& parts = result->returns[0].list();
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[2].tensor().view(), Of({1, 2}, {2, 1}, 8));
  EXPECT_EQ(parts[2].tensor().storage, self.storage);
  args[1] = -1;
  EXPECT_EQ(op::InferOp(*table.Find("aten::split.Tensor"), args).error().reason, "bad_split");
}

}  // namespace
}  // namespace palimpsest::kernels
