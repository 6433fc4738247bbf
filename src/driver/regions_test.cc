// Programs with regions: interpreted and compiled sessions against the same program written with
// loops in C++. Bodies may write what they capture.

#include <gtest/gtest.h>

#include <numeric>

#include "palimpsest/program.h"

namespace palimpsest {
namespace {

Tensor Vector(std::vector<float> values) {
  Tensor t = EmptyTensor(DType::kF32, Dims{static_cast<int64_t>(values.size())}).value();
  std::copy(values.begin(), values.end(), t.data_as<float>());
  return t;
}
Tensor Integer(int64_t value) {
  Tensor t = EmptyTensor(DType::kI64, Dims{}).value();
  *t.data_as<int64_t>() = value;
  return t;
}
std::vector<float> Elements(const Value& v) {
  const Tensor& t = v.tensor();
  EXPECT_EQ(t.dim(), 1u);
  std::vector<float> values;
  for (int64_t i = 0; i < t.sizes[0]; ++i) values.push_back(t.data_as<float>()[i * t.strides[0]]);
  return values;
}

// The interpreter and the compiler.
std::vector<Session> Sessions(const char* text) {
  Operators ops;
  Result<Program> program = Program::FromText(text, ops);
  EXPECT_TRUE(program.ok()) << program.error().ToString();
  std::vector<Session> sessions;
  sessions.push_back(program->Interpret().value());
  sessions.push_back(program->Compile({})->NewSession().value());
  return sessions;
}

// i counts to n; each turn adds i to one element of a captured tensor and doubles the carried one.
constexpr char kWhile[] = R"(
class GraphModule(torch.nn.Module):
    def forward(self, i: "i64[]", x: "f32[2]", n: "i64[]", log: "f32[4]"):
        while_loop = torch.ops.higher_order.while_loop(self.cond_graph_0, self.body_graph_0, [i, x], [n, log])
        getitem: "i64[]" = while_loop[0]
        getitem_1: "f32[2]" = while_loop[1]
        return (getitem_1,)

    class cond_graph_0(torch.nn.Module):
        def forward(self, i: "i64[]", x: "f32[2]", n: "i64[]", log: "f32[4]"):
            lt: "b8[]" = torch.ops.aten.lt.Tensor(i, n)
            return lt

    class body_graph_0(torch.nn.Module):
        def forward(self, i: "i64[]", x: "f32[2]", n: "i64[]", log: "f32[4]"):
            view: "i64[1]" = torch.ops.aten.view.default(i, [1])
            part: "f32[1]" = torch.ops.aten.slice.Tensor(x, 0, 0, 1)
            index_add_: "f32[4]" = torch.ops.aten.index_add_.default(log, 0, view, part)
            mul: "f32[2]" = torch.ops.aten.mul.Tensor(x, 2)
            add: "i64[]" = torch.ops.aten.add.Tensor(i, 1)
            return (add, mul)
)";

TEST(Regions, AWhileLoopWritesWhatItCaptures) {
  for (Session& session : Sessions(kWhile)) {
    for (int64_t turns : {3, 0, 4, 3}) {
      std::vector<float> x = {1, 5}, log = {0, 0, 0, 0};
      for (int64_t i = 0; i < turns; ++i) {
        log[static_cast<size_t>(i)] += x[0];
        for (float& v : x) v *= 2;
      }
      Value log_given = Vector({0, 0, 0, 0}), x_given = Vector({1, 5});
      Result<std::vector<Value>> results =
          session.Run(std::vector<Value>{Integer(0), x_given, Integer(turns), log_given});
      ASSERT_TRUE(results.ok()) << results.error().ToString();
      EXPECT_EQ(Elements((*results)[0]), x) << turns;
      EXPECT_EQ(Elements(log_given), log) << turns;
      EXPECT_EQ(Elements(x_given), (std::vector<float>{1, 5}));
      EXPECT_NE((*results)[0].tensor().storage, x_given.tensor().storage);
    }
  }
}

constexpr char kEndless[] = R"(
class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[1]"):
        while_loop = torch.ops.higher_order.while_loop(self.cond_graph_0, self.body_graph_0, [x], [])
        getitem: "f32[1]" = while_loop[0]
        return (getitem,)

    class cond_graph_0(torch.nn.Module):
        def forward(self, x: "f32[1]"):
            all_1: "b8[]" = torch.ops.aten.all.default(x)
            return (all_1,)

    class body_graph_0(torch.nn.Module):
        def forward(self, x: "f32[1]"):
            mul: "f32[1]" = torch.ops.aten.mul.Tensor(x, 1)
            return (mul,)
)";

TEST(Regions, ALoopThatDoesNotEnd) {
  for (Session& session : Sessions(kEndless)) {
    Result<std::vector<Value>> results = session.Run(std::vector<Value>{Vector({1})});
    ASSERT_FALSE(results.ok());
    EXPECT_EQ(results.error().kind, ErrorKind::kRuntime) << results.error().ToString();
    EXPECT_NE(results.error().message.find("does the loop end?"), std::string::npos);
  }
}

// A cond inside a loop: which branch runs is read from what the loop has computed.
constexpr char kNested[] = R"(
class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[1]", count: "f32[2]"):
        while_loop = torch.ops.higher_order.while_loop(self.cond_graph_0, self.body_graph_0, [x], [count])
        getitem: "f32[1]" = while_loop[0]
        return (getitem,)

    class cond_graph_0(torch.nn.Module):
        def forward(self, x: "f32[1]", count: "f32[2]"):
            gt: "b8[1]" = torch.ops.aten.gt.Scalar(x, 1)
            view: "b8[]" = torch.ops.aten.view.default(gt, [])
            return (view,)

    class body_graph_0(torch.nn.Module):
        def forward(self, x: "f32[1]", count: "f32[2]"):
            remainder: "f32[1]" = torch.ops.aten.remainder.Scalar(x, 2)
            eq: "b8[1]" = torch.ops.aten.eq.Scalar(remainder, 0)
            view: "b8[]" = torch.ops.aten.view.default(eq, [])
            cond = torch.ops.higher_order.cond(view, self.true_graph_0, self.false_graph_0, [x, count])
            getitem: "f32[1]" = cond[0]
            return (getitem,)

        class true_graph_0(torch.nn.Module):
            def forward(self, x: "f32[1]", count: "f32[2]"):
                select: "f32[]" = torch.ops.aten.select.int(count, 0, 0)
                add_: "f32[]" = torch.ops.aten.add_.Tensor(select, 1)
                div: "f32[1]" = torch.ops.aten.div.Tensor(x, 2)
                return (div,)

        class false_graph_0(torch.nn.Module):
            def forward(self, x: "f32[1]", count: "f32[2]"):
                select: "f32[]" = torch.ops.aten.select.int(count, 0, 1)
                add_: "f32[]" = torch.ops.aten.add_.Tensor(select, 1)
                mul: "f32[1]" = torch.ops.aten.mul.Tensor(x, 3)
                add: "f32[1]" = torch.ops.aten.add.Tensor(mul, 1)
                return (add,)
)";

TEST(Regions, ABranchInsideALoop) {
  for (Session& session : Sessions(kNested)) {
    for (float start : {7.f, 1.f, 12.f}) {
      float x = start;
      std::vector<float> count = {0, 0};
      while (x > 1) {
        const bool even = static_cast<int>(x) % 2 == 0;
        ++count[even ? 0 : 1];
        x = even ? x / 2 : 3 * x + 1;
      }
      Value counted = Vector({0, 0});
      Result<std::vector<Value>> results =
          session.Run(std::vector<Value>{Vector({start}), counted});
      ASSERT_TRUE(results.ok()) << results.error().ToString();
      EXPECT_EQ(Elements((*results)[0]), std::vector<float>{x});
      EXPECT_EQ(Elements(counted), count) << start;
    }
  }
}

// Running sums: the carried value and the stacked ones.
constexpr char kScan[] = R"(
class GraphModule(torch.nn.Module):
    def forward(self, first: "f32[1]", xs: "f32[3, 1]"):
        scan = torch.ops.higher_order.scan(self.graph_0, [first], [xs], [])
        getitem: "f32[1]" = scan[0]
        getitem_1: "f32[3, 1]" = scan[1]
        view: "f32[3]" = torch.ops.aten.view.default(getitem_1, [3])
        return (getitem, view)

    class graph_0(torch.nn.Module):
        def forward(self, sum: "f32[1]", x: "f32[1]"):
            add: "f32[1]" = torch.ops.aten.add.Tensor(sum, x)
            mul: "f32[1]" = torch.ops.aten.mul.Tensor(add, 10)
            return (add, mul)
)";

TEST(Regions, AScan) {
  for (Session& session : Sessions(kScan)) {
    Tensor xs = Vector({1, 2, 3});
    xs.sizes = {3, 1};
    xs.strides = {1, 1};
    Result<std::vector<Value>> results = session.Run(std::vector<Value>{Vector({100}), xs});
    ASSERT_TRUE(results.ok()) << results.error().ToString();
    EXPECT_EQ(Elements((*results)[0]), std::vector<float>{106});
    EXPECT_EQ(Elements((*results)[1]), (std::vector<float>{1010, 1030, 1060}));
  }
}

}  // namespace
}  // namespace palimpsest
