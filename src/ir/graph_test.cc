#include "ir/graph.h"

#include <gtest/gtest.h>

#include "ir/bind.h"
#include "ir/compare.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace palimpsest::ir {
namespace {

const op::OpTable& NoOperators() {
  static const op::OpTable table;
  return table;
}

Graph Read(std::string_view text, const op::OpTable& ops = NoOperators()) {
  Result<Graph> graph = ParseText(text, ops);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().ToString());
  return graph.ok() ? *std::move(graph) : Graph();
}

TEST(Graph, FreshNames) {
  Graph graph =
      Read("def forward(self, add, x):\n    add_1 = torch.ops.my.f.default(x)\n    return ()\n");
  EXPECT_EQ(graph.FreshName("add"), "add_2");
  EXPECT_EQ(graph.FreshName("add"), "add_3");
  EXPECT_EQ(graph.FreshName("mul"), "mul");
  Node node;
  node.name = "mul_1";
  graph.nodes.push_back(node);  // behind the graph's back
  EXPECT_EQ(graph.FreshName("mul"), "mul_2");
  node.name.clear();
  node.target = "torch.ops.aten.add_.Tensor";
  EXPECT_EQ(graph.node(graph.Append(node)).name, "add_");
  node.kind = Node::Kind::kGetItem;
  EXPECT_EQ(graph.node(graph.Append(node)).name, "getitem");
}

TEST(Graph, CompactRenumbersEverything) {
  Graph graph = Read(
      "# input: b = buffer 'b'\n"
      "# storage: a+0 b+1 c+2\n"
      "# write-back: b = z\n"
      "# order: x < z\n"
      "# order: y < z\n"
      "# place: z = arena+64\n"
      "def forward(self, a, b, c):\n"
      "    x = torch.ops.my.f.default(a, [b, {'k': c}])\n"
      "    y = torch.ops.my.f.default(x)\n"
      "    z = torch.ops.my.f.default(b, n = [c])\n"
      "    return (z, b)\n");
  Compact(graph, {false, true, true, false, false, true});
  EXPECT_TRUE(Verify(graph).ok());
  EXPECT_EQ(Print(graph),
            "# input: b = buffer 'b'\n"
            "# storage: b+1 c+2\n"
            "# write-back: b = z\n"
            "# place: z = arena+64\n"
            "def forward(self, b, c):\n"
            "    z = torch.ops.my.f.default(b, n = [c])\n"
            "    return (z, b)\n");
}

TEST(Graph, PlaceOfANode) {
  Graph graph = Read(
      "def forward(self, x):\n"
      "    # File: m.py:12 in forward, code: y = x + 1\n"
      "    y = torch.ops.my.f.default(x)\n"
      "    # No stacktrace found for following nodes\n"
      "    z = torch.ops.my.f.default(y)\n"
      "    return (z,)\n");
  graph.file = "g.pal";
  EXPECT_EQ(graph.PlaceOf(graph.nodes[1]), "m.py:12 in forward: y = x + 1");
  EXPECT_EQ(graph.PlaceOf(graph.nodes[2]), "g.pal:5");
  EXPECT_EQ(graph.PlaceOf(Node()), "");
}

TEST(Compare, FindsTheFirstDifference) {
  const char* base =
      "def forward(self, x: \"f32[2]\"):\n"
      "    y = torch.ops.my.f.default(x, 1, k = None)\n"
      "    return (y,)\n";
  struct Row {
    const char* from;
    const char* to;
    const char* difference;
  };
  const Row rows[] = {
      {"", "", ""},
      {"x, 1", "x, 1.0", "arguments"},
      {"x, 1", "x, True", "arguments"},
      {"k = None", "j = None", "keyword arguments"},
      {"k = None", "k = 0", "keyword arguments"},
      {"f32[2]", "f32[3]", "type"},
      {"f32[2]", "f32[2][1]", "type"},
      {"my.f", "my.g", "target"},
      {"(y,)", "(y, y)", "results"},
      {"(y,)", "y", "results"},
      {"def", "# phase: optimized\ndef", "phase"},
  };
  op::OpTable ops;
  Graph graph = Read(base, ops);
  for (const Row& row : rows) {
    std::string text = base;
    std::string_view from = row.from;
    if (!from.empty()) text.replace(text.find(from), from.size(), row.to);
    std::string difference = Difference(graph, Read(text, ops));
    if (row.difference[0] == '\0') {
      EXPECT_EQ(difference, "");
    } else {
      EXPECT_NE(difference.find(row.difference), std::string::npos) << text << difference;
    }
  }
}

TEST(Verify, NamesTheBrokenNode) {
  const char* text =
      "# schema: my::w(Tensor(a!) x) -> ()\n"
      "def forward(self, x):\n"
      "    w = torch.ops.my.w.default(x)\n"
      "    l = torch.ops.my.l.default(x)\n"
      "    i = l[0]\n"
      "    return (i,)\n";
  op::OpTable ops;
  struct Row {
    void (*breakit)(Graph&);
    const char* message;
  };
  const Row rows[] = {
      {[](Graph&) {}, ""},
      {[](Graph& g) { g.nodes[2].name = "w"; }, "a second node of this name"},
      {[](Graph& g) { g.nodes[2].name = ""; }, "has no name"},
      {[](Graph& g) { g.nodes[1].args[0] = NodeId(1); }, "names a node that does not come before"},
      {[](Graph& g) { g.nodes[1].args[0] = NodeId(); }, "names a node that does not come before"},
      {[](Graph& g) { g.nodes[1].args.clear(); }, "0 arguments for"},
      {[](Graph& g) { g.nodes[1].kwargs.push_back({"n", 1}); }, "arguments for"},
      {[](Graph& g) { g.phase = Phase::kFunctional; }, "writes, but the graph is functional"},
      {[](Graph& g) { g.nodes[3].args.clear(); }, "an element without a list"},
      {[](Graph& g) { g.outputs[0] = NodeId(9); }, "a result names a node"},
      {[](Graph& g) { g.write_backs.push_back({NodeId(1), NodeId(2)}); }, "a write-back"},
      {[](Graph& g) { g.nodes[2].args[0] = SubgraphRef{0}; }, "a subgraph that does not exist"},
      {[](Graph& g) { g.nodes[2].kind = Node::Kind::kInput; }, "an input after a call"},
      {[](Graph& g) { g.nodes[2].place = 3; }, "its source place"},
      {[](Graph& g) { g.order.push_back({NodeId(1), NodeId(7)}); }, "an order edge"},
      {[](Graph& g) { g.place_of[NodeId(8)] = "fresh"; }, "a place in memory"},
      {[](Graph& g) { g.inputs.resize(2); }, "more input specs than inputs"},
  };
  for (const Row& row : rows) {
    Graph graph = Read(text, ops);
    row.breakit(graph);
    Status status = Verify(graph);
    EXPECT_EQ(status.ok(), row.message[0] == '\0') << row.message;
    if (status.ok()) continue;
    EXPECT_EQ(status.error().kind, ErrorKind::kInternal);
    EXPECT_NE(status.error().message.find(row.message), std::string::npos)
        << status.error().message << "\n"
        << row.message;
  }
}

}  // namespace
}  // namespace palimpsest::ir
