// Before and after of each pass as text, and the runner.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "kernels/builtin.h"
#include "passes/all_passes.h"
#include "passes/dead_code.h"
#include "passes/expand_composites.h"

namespace palimpsest::passes {
namespace {

const op::OpTable& Table() {
  static const op::OpTable* table = [] {
    auto* t = new op::OpTable;
    EXPECT_TRUE(kernels::RegisterBuiltins(*t).ok());
    return t;
  }();
  return *table;
}

ir::Graph Parse(const std::string& text) {
  Result<ir::Graph> graph = ir::ParseText(text, Table());
  EXPECT_TRUE(graph.ok()) << graph.error().ToString();
  return graph.ok() ? *graph : ir::Graph();
}

// The body of the graph: one line a node, without types and the first line.
std::string Body(const ir::Graph& graph) {
  std::string lines;
  for (size_t i = graph.num_inputs(); i < graph.nodes.size(); ++i) {
    ir::Node node = graph.nodes[i];
    node.type = {};
    std::string line = ir::PrintNode(graph, node);
    lines += line.substr(line.find_first_not_of(' ')) + "\n";
  }
  return lines;
}

constexpr char kX[] = "def forward(self, x: \"f32[4][1]cpu\", y: \"f32[2][1]cpu\"):\n";

struct Row {
  const char* what;
  const char* body;
  const char* after;
};

void Check(const Row& row, Result<int> (*pass)(ir::Graph&, RemarkSink&), ir::Phase phase) {
  std::string text = row.body;
  if (!text.starts_with("#") && !text.starts_with("def")) text = kX + text;
  ir::Graph graph = Parse(text);
  graph.phase = phase;
  RemarkSink remarks;
  Result<int> done = pass(graph, remarks);
  ASSERT_TRUE(done.ok()) << row.what << ": " << done.error().message;
  EXPECT_EQ(Body(graph), row.after) << row.what;
}

TEST(ExpandComposites, Rows) {
  const Row rows[] = {
      {"unchanged", "    neg = torch.ops.aten.neg.default(x)\n    return (neg,)\n",
       "neg = torch.ops.aten.neg.default(x)\n"},
      {"a scatter",
       "    s = torch.ops.aten.slice_scatter.default(x, y, 0, 1, 3)\n    return (s,)\n",
       "s = torch.ops.palimpsest.clone_strides.default(x)\n"
       "slice_1 = torch.ops.aten.slice.Tensor(s, 0, 1, 3)\n"
       "copy_ = torch.ops.aten.copy_.default(slice_1, y)\n"},
      {"foreach with an explicit list",
       "    f = torch.ops.aten._foreach_mul_.Scalar([x, y], 2)\n    return ()\n",
       "mul_ = torch.ops.aten.mul_.Scalar(x, 2)\n"
       "mul__1 = torch.ops.aten.mul_.Scalar(y, 2)\n"},
      {"version 2",
       "# schema: my::foo(Tensor(a!) x, Tensor? y, int n=1) -> ()\n"
       "def forward(self, x: \"f32[4][1]cpu\"):\n"
       "    f = torch.ops.higher_order.auto_functionalized_v2(torch.ops.my.foo.default, y = x, "
       "n = 2, _x_base_index = 0, _x_slice_dim = 0, _x_slice_start = 1, _x_slice_end = 3, "
       "_all_bases = [x])\n"
       "    getitem = f[1]\n"
       "    return (getitem,)\n",
       "clone_strides = torch.ops.palimpsest.clone_strides.default(x)\n"
       "slice_1 = torch.ops.aten.slice.Tensor(clone_strides, 0, 1, 3)\n"
       "foo = torch.ops.my.foo.default(slice_1, x, 2)\n"},
      {"version 1 with a list and a hole",
       "# schema: my::foo(Tensor(a!)?[] xs) -> Tensor\n"
       "def forward(self, x: \"f32[4][1]cpu\"):\n"
       "    f = torch.ops.higher_order.auto_functionalized(torch.ops.my.foo.default, "
       "xs = [x, None])\n"
       "    a = f[0]\n"
       "    b = f[1]\n"
       "    c = b[0]\n"
       "    add = torch.ops.aten.add.Tensor(a, c)\n"
       "    return (add,)\n",
       "clone_strides = torch.ops.palimpsest.clone_strides.default(x)\n"
       "foo = torch.ops.my.foo.default([clone_strides, None])\n"
       "add = torch.ops.aten.add.Tensor(foo, clone_strides)\n"},
  };
  for (const Row& row : rows) Check(row, ExpandComposites, ir::Phase::kProgram);
}

TEST(ExpandComposites, WriteBacksThatMaySwapAreReadFirst) {
  ir::Graph graph = Parse(
      "# phase: functional\n"
      "# write-back: x = y\n"
      "# write-back: y = neg\n"
      "def forward(self, x: \"f32[4][1]cpu\", y: \"f32[4][1]cpu\"):\n"
      "    neg = torch.ops.aten.neg.default(x)\n"
      "    return (neg,)\n");
  RemarkSink remarks;
  ASSERT_TRUE(ExpandComposites(graph, remarks).ok());
  EXPECT_EQ(Body(graph),
            "neg = torch.ops.aten.neg.default(x)\n"
            "clone = torch.ops.aten.clone.default(y)\n"
            "copy_ = torch.ops.aten.copy_.default(x, clone)\n"
            "copy__1 = torch.ops.aten.copy_.default(y, neg)\n");
  EXPECT_TRUE(graph.write_backs.empty());
  EXPECT_EQ(graph.phase, ir::Phase::kProgram);
}

TEST(RemoveDeadCode, Rows) {
  const Row rows[] = {
      {"unchanged", "    neg = torch.ops.aten.neg.default(x)\n    return (neg,)\n",
       "neg = torch.ops.aten.neg.default(x)\n"},
      {"a chain",
       "    a = torch.ops.aten.neg.default(x)\n    b = torch.ops.aten.neg.default(a)\n"
       "    return (x,)\n",
       ""},
      {"random operators advance the generator",
       "    r = torch.ops.aten.rand_like.default(x)\n    return (x,)\n",
       "r = torch.ops.aten.rand_like.default(x)\n"},
      {"what a write-back wants",
       "# phase: functional\n# write-back: x = neg\n"
       "def forward(self, x: \"f32[4][1]cpu\"):\n"
       "    neg = torch.ops.aten.neg.default(x)\n    return ()\n",
       "neg = torch.ops.aten.neg.default(x)\n"},
      {"a custom operator whose writes nobody wants",
       "# schema: my::foo(Tensor(a!) x) -> ()\n"
       "def forward(self, x: \"f32[4][1]cpu\"):\n"
       "    f = torch.ops.higher_order.auto_functionalized_v2(torch.ops.my.foo.default, "
       "_x_base_index = 0, _all_bases = [x])\n"
       "    getitem = f[1]\n"
       "    return ()\n",
       ""},
  };
  for (const Row& row : rows) Check(row, RemoveDeadCode, ir::Phase::kFunctional);
}

// Note [Only the check] in dead_code.h.
TEST(RemoveDeadCode, DeadIndexedWritesKeepTheirCheck) {
  ir::Graph graph = Parse(
      "def forward(self, x: \"f32[4][1]cpu\", i: \"i64[2][1]cpu\", y: \"f32[2][1]cpu\"):\n"
      "    p = torch.ops.aten.index_put.default(x, [i], y)\n"
      "    return (x,)\n");
  graph.phase = ir::Phase::kFunctional;
  RemarkSink remarks;
  ASSERT_TRUE(RemoveDeadCode(graph, remarks).ok());
  EXPECT_EQ(Body(graph), "p = torch.ops.aten.index.Tensor(x, [i])\n");
}

TEST(RunPasses, DisablesReportsAndChecksPhases) {
  ir::Graph graph =
      Parse(std::string(kX) + "    neg = torch.ops.aten.neg.default(x)\n    return (x,)\n");
  RemarkSink remarks;
  EXPECT_EQ(RunPasses(graph, OptimizationPasses(), {}, remarks).error().kind,
            ErrorKind::kUsage);  // a program is not functional
  graph.phase = ir::Phase::kFunctional;
  int seen = 0;
  RunOptions off;
  off.disabled = {"dead-code"};
  off.after = [&](const PassRun& run, const ir::Graph&) { seen += run.disabled ? 1 : 100; };
  ir::Graph copy = graph;
  ASSERT_TRUE(RunPasses(copy, OptimizationPasses(), off, remarks).ok());
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(copy.nodes.size(), graph.nodes.size());
  EXPECT_EQ(copy.phase, ir::Phase::kOptimized);
  auto runs = RunPasses(graph, OptimizationPasses(), {}, remarks);
  ASSERT_TRUE(runs.ok());
  EXPECT_EQ((*runs)[0].changes, 1);
  for (const char* name : {"no-such-pass", "expand-composites"}) {
    EXPECT_EQ(RunPasses(graph, OptimizationPasses(), {{name}, {}}, remarks).error().kind,
              ErrorKind::kUsage);
  }
  EXPECT_EQ(AllPasses().size(), PreparationPasses().size() + OptimizationPasses().size());
}

}  // namespace
}  // namespace palimpsest::passes
