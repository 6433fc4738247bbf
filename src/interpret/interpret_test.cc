// The walker on a few operators made here: objects, metadata-only writes, data,
// auto_functionalized, write-backs, regions.
#include "interpret/interpret.h"

#include <gtest/gtest.h>

#include "interpret/bind.h"
#include "ir/text.h"
#include "op/op.h"

namespace palimpsest::interpret {
namespace {

using op::MetaCall;
using op::ResultSpec;

const Tensor& T(const Value& v) { return v.tensor(); }

template <typename F>
void ForEachElement(const Tensor& t, F&& f) {  // f32, at most two dims
  int64_t rows = t.dim() > 0 ? t.sizes[0] : 1, columns = t.dim() > 1 ? t.sizes[1] : 1;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < columns; ++k) {
      int64_t at = (t.dim() > 0 ? i * t.strides[0] : 0) + (t.dim() > 1 ? k * t.strides[1] : 0);
      f(t.data_as<float>()[at]);
    }
  }
}

void Register(op::OpTable& table, const char* schema, op::MetaFn meta, op::KernelFn kernel) {
  op::Op o;
  o.schema = *op::ParseSchema(schema);
  o.meta = std::move(meta);
  o.kernel = std::move(kernel);
  o.traits.custom = true;
  Status status = table.Register(std::move(o));
  ASSERT_TRUE(status.ok()) << status.error().message;
}

Status IncKernel(op::KernelCall& call) {
  if (call.args[0].IsTensor()) ForEachElement(T(call.args[0]), [](float& v) { v += 1; });
  return {};
}

// x[i] of a matrix.
Status RowMeta(MetaCall& call) {
  View v = T(call.args[0]).view();
  int64_t i = call.args[1].ToInt();
  if (i >= v.sizes[0]) return Refused("index_out_of_range", "no such row");
  v.offset += i * v.strides[0];
  call.results = {ResultSpec::ViewOf(0, {v.dtype, {v.sizes[1]}, {v.strides[1]}, v.offset})};
  return {};
}

Status TransposeMeta(MetaCall& call) {
  View v = T(call.args[0]).view();
  std::swap(v.sizes[0], v.sizes[1]);
  std::swap(v.strides[0], v.strides[1]);
  call.relayouts.push_back({0, v});
  call.results = {ResultSpec::Same(0)};
  return {};
}

const op::OpTable& Table() {
  static const op::OpTable* table = [] {
    auto* t = new op::OpTable;
    Register(
        *t, "my::inc_(Tensor(a!) x) -> Tensor(a!)",
        [](MetaCall& call) -> Status {
          call.results = {ResultSpec::Same(0)};
          return {};
        },
        IncKernel);
    Register(
        *t, "my::inc_some(Tensor(a!)?[] xs, Tensor(b!)? y=None) -> ()",
        [](MetaCall&) -> Status { return {}; },
        [](op::KernelCall& call) -> Status {
          ForEachTensor(call.args[0],
                        [](const Tensor& x) { ForEachElement(x, [](float& v) { v += 1; }); });
          return {};
        });
    Register(*t, "my::row(Tensor(a) x, int i) -> Tensor(a)", RowMeta, nullptr);
    Register(*t, "my::t_(Tensor(a!) x) -> Tensor(a!)", TransposeMeta, nullptr);
    Register(
        *t, "my::first(Tensor x) -> Scalar",
        [](MetaCall& call) -> Status {
          call.results = {ResultSpec::Data()};
          return {};
        },
        [](op::KernelCall& call) -> Status {
          call.numbers = {Value(static_cast<int64_t>(*T(call.args[0]).data_as<float>()))};
          return {};
        });
    return t;
  }();
  return *table;
}

ir::Graph Parse(const std::string& body, const std::string& params = "x: \"f32[2, 3][3, 1]cpu\"") {
  std::string text = "def forward(self, " + params + "):\n" + body;
  Result<ir::Graph> graph = ir::ParseText(text, Table());
  EXPECT_TRUE(graph.ok()) << graph.error().ToString();
  return graph.ok() ? *graph : ir::Graph();
}

Tensor Matrix(float first = 0) {
  Tensor t = *EmptyTensor(DType::kF32, Dims{2, 3});
  for (int i = 0; i < 6; ++i) t.data_as<float>()[i] = first + static_cast<float>(i);
  return t;
}

std::vector<float> Elements(const Tensor& t) {
  std::vector<float> v;
  ForEachElement(t, [&](float& x) { v.push_back(x); });
  return v;
}

TEST(Interpret, ViewsAliasAndWritesReturnTheirArgument) {
  ir::Graph g = Parse(
      "    row = torch.ops.my.row.default(x, 1)\n"
      "    inc = torch.ops.my.inc_.default(row)\n"
      "    return (inc, x)\n");
  Tensor x = Matrix();
  Trace trace = *Interpret(g, std::vector<Value>{x});
  EXPECT_EQ(Elements(x), (std::vector<float>{0, 1, 2, 4, 5, 6}));
  EXPECT_EQ(T(trace.outputs[0]).storage, x.storage);
  EXPECT_EQ(T(trace.values[1]).object, T(trace.values[2]).object);
  EXPECT_EQ(T(trace.values[0]).object, T(trace.outputs[1]).object);
}

TEST(Interpret, MetadataWritesChangeEveryNameOfTheObject) {
  ir::Graph g = Parse(
      "    a = torch.ops.my.inc_.default(x)\n"
      "    b = torch.ops.my.t_.default(a)\n"
      "    row = torch.ops.my.row.default(x, 2)\n"
      "    return (row, y)\n",
      "x: \"f32[2, 3][3, 1]cpu\", y: \"f32[2, 3][3, 1]cpu\"");
  Tensor x = Matrix();
  x.object = 7;
  Trace same = *Interpret(g, std::vector<Value>{x, x});
  EXPECT_EQ(Elements(T(same.outputs[0])), (std::vector<float>{3, 6}));
  EXPECT_EQ(T(same.outputs[1]).sizes, (Dims{3, 2}));  // y is the very object
  EXPECT_EQ(same.relayouts.size(), 2u);
  Tensor other = x;
  other.object = 8;
  Trace apart = *Interpret(g, std::vector<Value>{x, other});
  EXPECT_EQ(T(apart.outputs[1]).sizes, (Dims{2, 3}));
  EXPECT_EQ(apart.relayouts.size(), 1u);
}

TEST(InferMeta, TouchesNoMemoryAndShowsTheSharing) {
  ir::Graph g = Parse(
      "    row = torch.ops.my.row.default(x, 1)\n"
      "    return (row,)\n");
  std::vector<Value> inputs = {ShapeOnlyTensor(ContiguousView(DType::kF32, Dims{2, 3}))};
  Trace trace = *InferMeta(g, inputs);
  EXPECT_EQ(T(trace.outputs[0]).storage, T(inputs[0]).storage);
  EXPECT_EQ(T(trace.outputs[0]).offset, 3);
}

TEST(InferMeta, NumbersFromDataMustBeKnown) {
  ir::Graph g = Parse(
      "    n = torch.ops.my.first.default(x)\n"
      "    row = torch.ops.my.row.default(x, n)\n"
      "    return (row,)\n");
  std::vector<Value> inputs = {ShapeOnlyTensor(ContiguousView(DType::kF32, Dims{2, 3}))};
  Result<Trace> unknown = InferMeta(g, inputs);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().kind, ErrorKind::kUnsupported);
  WalkOptions options;
  options.known_data[ir::NodeId(1)] = Value(1);
  EXPECT_EQ(T(InferMeta(g, inputs, options)->outputs[0]).offset, 3);
  Trace run = *Interpret(g, std::vector<Value>{Matrix(1)});
  EXPECT_EQ(Elements(T(run.outputs[0])), (std::vector<float>{4, 5, 6}));
}

TEST(Interpret, ErrorsNameOperatorAndPlace) {
  ir::Graph g = Parse(
      "    row = torch.ops.my.row.default(x, 5)\n"
      "    return (row,)\n");
  Result<Trace> trace = Interpret(g, std::vector<Value>{Matrix()});
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().reason, "index_out_of_range");
  EXPECT_EQ(trace.error().message, "my::row (row): no such row");
  EXPECT_NE(trace.error().place, "");
}

TEST(Interpret, AutoFunctionalizedV2RunsOnCopies) {
  ir::Graph g = Parse(
      "    f = torch.ops.higher_order.auto_functionalized_v2(torch.ops.my.inc_some.default, "
      "_xs_length = 3, _xs_0_base_index = 0, _xs_0_slice_dim = 0, _xs_0_slice_start = 1, "
      "_xs_0_slice_end = 2, _xs_1_base_index = None, _xs_2_base_index = 0, _xs_2_size = [2], "
      "_xs_2_stride = [1], _xs_2_storage_offset = 0, _y_base_index = None, _all_bases = [x])\n"
      "    getitem = f[1]\n"
      "    return (getitem, x)\n");
  Tensor x = Matrix();
  Trace trace = *Interpret(g, std::vector<Value>{x});
  EXPECT_EQ(Elements(T(trace.outputs[0])), (std::vector<float>{1, 2, 2, 4, 5, 6}));
  EXPECT_EQ(Elements(x), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  ASSERT_EQ(trace.inner_calls.size(), 1u);
  EXPECT_EQ(trace.inner_calls.begin()->second.args.size(), 2u);
}

TEST(Interpret, AutoFunctionalizedV1GivesOneValuePerWrittenArgument) {
  ir::Graph g = Parse(
      "    f = torch.ops.higher_order.auto_functionalized(torch.ops.my.inc_.default, x = x)\n"
      "    a = f[1]\n"
      "    h = torch.ops.higher_order.auto_functionalized(torch.ops.my.inc_some.default, "
      "xs = [a, None], y = None)\n"
      "    list = h[1]\n"
      "    b = list[0]\n"
      "    return (a, b)\n");
  Trace trace = *Interpret(g, std::vector<Value>{Matrix()});
  EXPECT_EQ(Elements(T(trace.outputs[0]))[0], 1);
  EXPECT_EQ(Elements(T(trace.outputs[1]))[0], 2);
}

TEST(Interpret, MissingKeysAreNamed) {
  ir::Graph g = Parse(
      "    f = torch.ops.higher_order.auto_functionalized_v2(torch.ops.my.inc_.default, "
      "_x_base_index = 0, _x_storage_offset = 1, _all_bases = [x])\n"
      "    return (x,)\n");
  Result<Trace> trace = Interpret(g, std::vector<Value>{Matrix()});
  ASSERT_FALSE(trace.ok());
  EXPECT_NE(trace.error().message.find("lacks '_x_size'"), std::string::npos);
}

TEST(Interpret, WriteBacksSwapAndOutputsBecomeTheInput) {
  ir::Graph g = Parse(
      "    f = torch.ops.higher_order.auto_functionalized(torch.ops.my.inc_.default, x = x)\n"
      "    a = f[1]\n"
      "    return (a, x)\n",
      "x: \"f32[2, 3][3, 1]cpu\", y: \"f32[2, 3][3, 1]cpu\"");
  g.phase = ir::Phase::kFunctional;
  g.write_backs = {{ir::NodeId(0), ir::NodeId(1)}, {ir::NodeId(1), ir::NodeId(3)}};
  Tensor x = Matrix(), y = Matrix(10);
  Trace trace = *Interpret(g, std::vector<Value>{x, y});
  EXPECT_EQ(Elements(x)[0], 10);
  EXPECT_EQ(Elements(y)[0], 1);
  EXPECT_EQ(T(trace.outputs[0]).storage, y.storage);
}

TEST(Interpret, CondRunsTheBranchThatThePredicateSays) {
  std::string text =
      "class <lambda>(torch.nn.Module):\n"
      "    def forward(self, x: \"f32[2, 3][3, 1]cpu\", p: \"b8[][]cpu\"):\n"
      "        true_graph_0 = self.true_graph_0\n"
      "        false_graph_0 = self.false_graph_0\n"
      "        cond = torch.ops.higher_order.cond(p, true_graph_0, false_graph_0, (x,))\n"
      "        getitem = cond[0]\n"
      "        return (getitem,)\n"
      "\n"
      "    class true_graph_0(torch.nn.Module):\n"
      "        def forward(self, arg0_1: \"f32[2, 3][3, 1]cpu\"):\n"
      "            row = torch.ops.my.row.default(arg0_1, 1)\n"
      "            return (row,)\n"
      "\n"
      "    class false_graph_0(torch.nn.Module):\n"
      "        def forward(self, arg0_1: \"f32[2, 3][3, 1]cpu\"):\n"
      "            row = torch.ops.my.row.default(arg0_1, 0)\n"
      "            return (row,)\n";
  Result<ir::Graph> g = ir::ParseText(text, Table());
  ASSERT_TRUE(g.ok()) << g.error().ToString();
  Tensor p = *EmptyTensor(DType::kB8, Dims{});
  *p.data_as<uint8_t>() = 1;
  Result<Trace> trace = Interpret(*g, std::vector<Value>{Matrix(), p});
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(T(trace->outputs[0]).offset, 3);
  *p.data_as<uint8_t>() = 0;
  EXPECT_EQ(T(Interpret(*g, std::vector<Value>{Matrix(), p})->outputs[0]).offset, 0);
}

TEST(BindSymbols, BindsAndChecks) {
  ir::Graph g = Parse("    return (x,)\n", "x: \"f32[s0, 3]\", y: \"f32[2*s0]\", n: \"Sym(s1)\"");
  g.ranges["s0"] = {2, 10};
  auto bind = [&](Dims x, Dims y) {
    return BindSymbols(
        g, std::vector<Value>{ShapeOnlyTensor(ContiguousView(DType::kF32, x)),
                              ShapeOnlyTensor(ContiguousView(DType::kF32, y)), Value(5)});
  };
  Result<SymBindings> bound = bind({4, 3}, {8});
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  EXPECT_EQ(bound->find("s0")->second.i, 4);
  EXPECT_EQ(bound->find("s1")->second.i, 5);
  struct Row {
    Dims x, y;
    const char* message;
  };
  const Row rows[] = {
      {{4, 5}, {8}, "dim 1 of input 'x' is 5, 3 is expected"},
      {{4, 3}, {9}, "dim 0 of input 'y' is 9, 8 = 2*s0 is expected"},
      {{1, 3}, {2}, "dim 0 of input 'x' is 1, but the program was exported for at least 2 (s0)"},
      {{4}, {8}, "input 'x' has 1 dims, 2 are expected"},
  };
  for (const Row& row : rows) {
    Result<SymBindings> result = bind(row.x, row.y);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message, row.message);
    EXPECT_EQ(result.error().kind, ErrorKind::kBadInput);
  }
}

}  // namespace
}  // namespace palimpsest::interpret
