#include "ir/text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>

#include "ir/compare.h"
#include "ir/verify.h"

namespace palimpsest::ir {
namespace {

// A few operators with the real schemas; kernels play no part in texts.
const op::OpTable& Table() {
  static const op::OpTable& table = *[] {
    auto* t = new op::OpTable;
    for (const char* text : {
             "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
             "aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
             "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, "
             "SymInt step=1) -> Tensor(a)",
             "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
             "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
             "dtype=None) -> Tensor",
             "aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? "
             "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
             "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
             "Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
             "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
             "_operator::ge(Scalar a, Scalar b) -> Scalar",
             "_operator::neg(Scalar a) -> Scalar",
         }) {
      op::Op op;
      op.schema = *op::ParseSchema(text);
      EXPECT_TRUE(t->Register(std::move(op)).ok());
    }
    return t;
  }();
  return table;
}

// Reads, verifies, prints, reads again: the same graph, the same text. Returns the text.
std::string RoundTrip(std::string_view text) {
  Result<Graph> graph = ParseText(text, Table());
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().ToString()) << "\n" << text;
  if (!graph.ok()) return "";
  EXPECT_TRUE(Verify(*graph).ok()) << Verify(*graph).error().message;
  std::string printed = Print(*graph);
  Result<Graph> again = ParseText(printed, Table());
  EXPECT_TRUE(again.ok()) << (again.ok() ? "" : again.error().ToString()) << "\n" << printed;
  if (!again.ok()) return "";
  EXPECT_EQ(Difference(*graph, *again), "") << printed;
  EXPECT_EQ(Print(*again), printed);
  return printed;
}

// Texts that are printed as they are read.
TEST(Text, PrintsWhatItReads) {
  const char* rows[] = {
      R"g(def forward(self, x: "f32[4, 3][3, 1]cpu", y: "f32[3][1]"):
    select: "f32[3][1]cpu" = torch.ops.aten.select.int(x, 0, -1)
    split = torch.ops.aten.split.Tensor(x, 2)
    getitem: "f32[2, 3][3, 1]cpu" = split[0]
    add = torch.ops.aten.add.Tensor(x, y, alpha = 2)
    slice_1 = torch.ops.aten.slice.Tensor(x, 0, 1, 9223372036854775807)
    return (add, getitem, None, 3, x)
)g",
      R"g(def forward(self):
    full = torch.ops.aten.full.default([2, 0], nan, dtype = torch.float32, layout = torch.strided, device = device(type='cuda', index=0), pin_memory = False)
    unknown = torch.ops.my.op.default((1+2j), -inf, [1, [None, 'it'], {'k': True, 'l': []}], s = "it's", t = 1e-05, f = torch.preserve_format)
    neg_zero = torch.ops.my.op.default(-0.0, 2j, (nan+infj), -9223372036854775808)
    return (full,)
)g",
      R"g(def forward(self, s0: "Sym(s0)", x: "f32[2*s0 + 1, Max(2, s0)][Max(2, s0), 1]", n: "None"):
    ge: "Sym(s0 >= 2)" = s0 >= 2
    neg: "Sym(-s0)" = -s0
    mod: "Sym(Mod(s0, 2))" = s0 % 2
    mul: "Sym(-3*s0)" = -3 * s0
    sym_max: "Sym(Max(2, s0))" = torch.sym_max(s0, 2)
    return (ge, neg)
)g",
      R"g(# schema: my::foo(Tensor(a!) x, int n=1) -> ()
# phase: functional
# range: s0 = [2, 9]
# range: u0 = [0, ]
# guard: L['x'].size()[0] == 3
# input: k = buffer 'k' not persistent
# input: w = parameter 'lin.weight'
# input: c = constant 2.5 named 'c'
# input: t = tensor 'lifted'
# storage: x+0 k+4
# storage: t+7
# write-back: k = add
# order: a < add
# place: add = arena+128
def forward(self, x: "f32[4][1]", k: "f32[4][1]", w: "f32[4][1]", c: "Number", t: "f32[4][1]"):
    a = torch.ops.aten.add.Tensor(x, w)
    add = torch.ops.aten.add.Tensor(k, 1)
    v2 = torch.ops.higher_order.auto_functionalized_v2(torch.ops.my.foo.default, n = 1, _x_base_index = 0, _x_size = [4], _all_bases = [k])
    getitem_1 = v2[1]
    return (a, getitem_1)
)g",
      R"g(class <lambda>(torch.nn.Module):
    def forward(self, p: "b8[][]", x: "f32[4][1]"):
        # File: a b.py:12 in <lambda>, code: y = f(x), code: 3
        const: "f32[4][1]" = self.const.weight
        cond = torch.ops.higher_order.cond(p, self.true_graph_0, self.false_graph_0, [x, const])

        # No stacktrace found for following nodes
        getitem = cond[0]
        return getitem

    class true_graph_0(torch.nn.Module):
        def forward(self, x: "f32[4][1]", c):
            cond = torch.ops.higher_order.cond(x, self.inner, self.inner, [])
            return (x,)

        class inner(torch.nn.Module):
            def forward(self):
                return ()

    class false_graph_0(torch.nn.Module):
        def forward(self, x: "f32[4][1]", c):
            return (c,)
)g",
  };
  for (const char* text : rows) EXPECT_EQ(RoundTrip(text), text);
}

// Other spellings of PyTorch's, and how they are printed.
TEST(Text, ReadsOtherSpellings) {
  struct Row {
    const char* statement;
    const char* printed;
  };
  const Row rows[] = {
      {"a = torch.ops.aten.add.Tensor(other = x, self = x, alpha = 1);  b = x = None",
       "a = torch.ops.aten.add.Tensor(x, x)"},
      {"a = torch.ops.aten.mean.dim(x, 1, True)", "a = torch.ops.aten.mean.dim(x, [1], True)"},
      {"a = torch.ops.aten.layer_norm.default(x, (4,), None, None, 1)",
       "a = torch.ops.aten.layer_norm.default(x, [4], None, None, 1.0)"},
      {"a = torch.ops.my.op.default((4,), (), (x), float('-inf'), torch.device('cpu'))",
       "a = torch.ops.my.op.default([4], [], x, -inf, device(type='cpu'))"},
      {"a = _operator.ge(x, 0)", "a = x >= 0"},
      {"a = operator.ge(x, 0)", "a = x >= 0"},
      {"a = operator.neg(x)", "a = -x"},
      {"a : torch.Tensor = torch.ops.my.op.default(x)", "a = torch.ops.my.op.default(x)"},
      {"a: \"f32[4]cuda:0\" = torch.ops.my.op.default(x,\n      x,  # more\n\n    n = 1)",
       "a: \"f32[4]cpu\" = torch.ops.my.op.default(x, x, n = 1)"},
      {"a = torch.ops.my.op.default(\"\\u00e9\\n\\x41\")",
       "a = torch.ops.my.op.default('\u00e9\\nA')"},
      {"a = torch.ops.my.op.default(torch.long, torch.half, 1000)",
       "a = torch.ops.my.op.default(torch.int64, torch.float16, 1000)"},
  };
  for (const Row& row : rows) {
    std::string printed =
        RoundTrip(fmt::format("def forward(self, x):\n    {}\n    return (a,)\n", row.statement));
    EXPECT_EQ(printed,
              fmt::format("def forward(self, x):\n    {}\n    return (a,)\n", row.printed));
  }
}

TEST(Text, ReadsLogs) {
  const char* text =
      R"g(V1201 04:36:18.391000 11906 torch/x.py:321] [0/0] [__aot_graphs] aot_config id: 0, fw_metadata=ViewAndMutationMeta(input_info=[])
I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs] TRACED GRAPH
I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs]  ===== Forward graph 0 =====
I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs]  /opt/lib/torch/fx/_lazy.py class <lambda>(torch.nn.Module):
I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs]     def forward(self, p: "b8[][]cpu", x: "f32[s77][1]cpu"):
I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs]         # File: /tmp/g.py:7 in f, code: y = x + 1
I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs]         add: "f32[s77][1]cpu" = torch.ops.aten.add.Tensor(x, 1);  x = None
I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs] 
/opt/lib/torch/w.py:2633: UserWarning: something in between
  warnings.warn(
I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs]         true_graph_0 = self.true_graph_0
I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs]         cond = torch.ops.higher_order.cond(p, true_graph_0, true_graph_0, (add,));  true_graph_0 = None
I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs]         return (cond,)
I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs] 
I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs]     class true_graph_0(torch.nn.Module):
I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs]         def forward(self, x):
I1201 04:36:18.617000 11906 torch/x.py:411] [0/0] [__aot_graphs]             return (x,)
)g";
  EXPECT_EQ(RoundTrip(text), R"g(class <lambda>(torch.nn.Module):
    def forward(self, p: "b8[][]cpu", x: "f32[s77][1]cpu"):
        # File: /tmp/g.py:7 in f, code: y = x + 1
        add: "f32[s77][1]cpu" = torch.ops.aten.add.Tensor(x, 1)
        cond = torch.ops.higher_order.cond(p, self.true_graph_0, self.true_graph_0, [add])
        return (cond,)

    class true_graph_0(torch.nn.Module):
        def forward(self, x):
            return (x,)
)g");
  std::string two = std::string(text) + text;
  Result<Graph> one = ParseText(two, Table(), "a.log");
  ASSERT_FALSE(one.ok());
  EXPECT_EQ(one.error().message,
            "a.log holds 2 graphs, which begin in the lines 4, 21; keep one of them");
  Result<std::vector<Graph>> all = ParseAllTexts(two, Table());
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ(Difference((*all)[0], (*all)[1]), "");
}

TEST(Text, KeepsWhatTheCallSays) {
  Result<Graph> graph = ParseText(
      "# schema: my::foo(Tensor(a!) x, *, float s=2.0) -> ()\n"
      "def forward(self, x):\n"
      "    a = torch.ops.my.foo.default(x, s = 3)\n"
      "    b = torch.ops.my.bar.default(a)\n"
      "    return (b,)\n",
      Table(), "g.py");
  ASSERT_TRUE(graph.ok()) << graph.error().ToString();
  const Node& foo = graph->nodes[1];
  ASSERT_NE(foo.op, nullptr);
  EXPECT_TRUE(foo.op->traits.custom);
  ASSERT_EQ(foo.args.size(), 2u);
  EXPECT_EQ(foo.args[1].As<double>(), 3.0);
  EXPECT_EQ(graph->nodes[2].op, nullptr);
  EXPECT_EQ(graph->PlaceOf(foo), "g.py:3");
  EXPECT_EQ(graph->table(), graph->own_ops.get());
}

TEST(Text, HostileTextsAreRefused) {
  std::string deep = "def forward(self, x):\n    a = torch.ops.my.op.default(" +
                     std::string(1000000, '[') + ")\n    return (a,)\n";
  EXPECT_FALSE(ParseText(deep, Table()).ok());
  std::string returns = "def forward(self, x):\n    return " + std::string(1000000, '(');
  EXPECT_FALSE(ParseText(returns, Table()).ok());
  std::string classes;
  for (int i = 0; i < 1000; ++i) {
    std::string indent(static_cast<size_t>(i) * 4, ' ');
    classes += indent + "class a(torch.nn.Module):\n" + indent + "    def forward(self):\n" +
               indent + "        return ()\n";
  }
  EXPECT_FALSE(ParseText(classes, Table()).ok());
  std::string type =
      "def forward(self, x: \"f32[" + std::string(100000, '(') + "\"):\n    return ()\n";
  EXPECT_FALSE(ParseText(type, Table()).ok());
  EXPECT_FALSE(ParseText(std::string_view("\0\xff\x01", 3), Table()).ok());
  EXPECT_FALSE(ParseText("", Table()).ok());
}

TEST(Text, LongTextsAreReadInLinearTime) {
  std::string text = "def forward(self, x: \"f32[4, 3][3, 1]cpu\"):\n";
  std::string last = "x";
  for (int i = 0; i < 100000; ++i) {
    std::string name = fmt::format("add_{}", i);
    text += fmt::format(
        "    {}: \"f32[4, 3][3, 1]cpu\" = torch.ops.aten.add.Tensor({}, x);  {} = None\n", name,
        last, last);
    last = name;
  }
  text += "    return (" + last + ",)\n";
  auto begin = std::chrono::steady_clock::now();
  Result<Graph> graph = ParseText(text, Table());
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->nodes.size(), 100001u);
  RecordProperty("seconds", fmt::format("{:.3f}", seconds.count()));
  fmt::print("100,000 lines: {:.0f} ms\n", seconds.count() * 1000);
}

}  // namespace
}  // namespace palimpsest::ir
