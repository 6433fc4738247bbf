// Programs and their functional graphs as text. Values are compared in tests/functionalize.
#include "functionalize/functionalize.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "interpret/interpret.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "kernels/builtin.h"
#include "passes/all_passes.h"

namespace palimpsest::functionalize {
namespace {

using Version = FunctionalizeOptions::Version;

constexpr char kSchemas[] =
    "# schema: my::foo(Tensor(a!) x) -> ()\n"
    "# schema: my::two(Tensor(a!) x, Tensor y, *, int n=3) -> ()\n"
    "# schema: my::list(Tensor(a!)?[] xs, Tensor[] ys) -> ()\n"
    "# schema: my::same_(Tensor(a!) self) -> Tensor(a!)\n";

const op::OpTable& Table() {
  static const op::OpTable* table = [] {
    auto* t = new op::OpTable;
    EXPECT_TRUE(kernels::RegisterBuiltins(*t).ok());
    return t;
  }();
  return *table;
}

// Tensors of the annotated layouts, each on a storage of its own.
std::vector<Value> InputsOf(const ir::Graph& graph) {
  std::vector<Value> inputs;
  for (size_t i = 0; i < graph.num_inputs(); ++i) {
    const ir::TensorType& type = graph.nodes[i].type.tensor;
    View view{type.dtype, {}, {}, 0};
    for (const SymInt& s : type.sizes) view.sizes.push_back(s.value());
    for (const SymInt& s : *type.strides) view.strides.push_back(s.value());
    Tensor t = ShapeOnlyTensor(view);
    t.object = static_cast<int64_t>(i) + 1;
    inputs.emplace_back(t);
  }
  return inputs;
}

struct Functional {
  std::string text;  // without comment lines
  std::vector<std::string> write_backs;
  RemarkSink remarks;
  Error error;
};

std::string WithoutComments(const std::string& text) {
  std::string kept;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    if (!line.starts_with("#") && !line.empty()) kept += line + "\n";
    at = end + 1;
  }
  return kept;
}

Functional Transform(const std::string& program, Version version = Version::kV2,
                     void (*change)(std::vector<Value>&) = nullptr) {
  Functional result;
  Result<ir::Graph> graph = ir::ParseText(kSchemas + program, Table());
  EXPECT_TRUE(graph.ok()) << graph.error().ToString();
  if (!graph.ok()) return result;
  RemarkSink& remarks = result.remarks;
  EXPECT_TRUE(passes::RunPasses(*graph, passes::PreparationPasses(), {}, remarks).ok());
  std::vector<Value> inputs = InputsOf(*graph);
  if (change != nullptr) change(inputs);
  Result<ir::Graph> functional = Functionalize(*graph, inputs, {}, {version}, remarks);
  if (!functional.ok()) {
    result.error = functional.error();
    return result;
  }
  Status verified = ir::Verify(*functional);
  EXPECT_TRUE(verified.ok()) << verified.error().message;
  EXPECT_TRUE(passes::RunPasses(*functional, passes::OptimizationPasses(), {}, remarks).ok());
  for (const ir::WriteBack& w : functional->write_backs) {
    result.write_backs.push_back(functional->node(w.input).name + " = " +
                                 functional->node(w.value).name);
  }
  result.text = WithoutComments(ir::Print(*functional));
  return result;
}

TEST(Functionalize, TheAnnouncement) {
  const char* program =
      "def forward(self):\n"
      "    f: \"f32[10][1]cpu\" = torch.ops.aten.full.default([10], 0.0)\n"
      "    select: \"f32[][]cpu\" = torch.ops.aten.select.int(f, 0, 0)\n"
      "    foo = torch.ops.my.foo.default(select)\n"
      "    return (f,)\n";
  EXPECT_EQ(Transform(program).text,
            "def forward(self):\n"
            "    f: \"f32[10][1]cpu\" = torch.ops.aten.full.default([10], 0.0)\n"
            "    auto_functionalized_v2 = torch.ops.higher_order.auto_functionalized_v2("
            "torch.ops.my.foo.default, _x_base_index = 0, _x_size = [], _x_stride = [], "
            "_x_storage_offset = 0, _all_bases = [f])\n"
            "    getitem_1: \"f32[10][1]cpu\" = auto_functionalized_v2[1]\n"
            "    return (getitem_1,)\n");
  EXPECT_EQ(Transform(program, Version::kV1).text,
            "def forward(self):\n"
            "    f: \"f32[10][1]cpu\" = torch.ops.aten.full.default([10], 0.0)\n"
            "    select: \"f32[][]cpu\" = torch.ops.aten.select.int(f, 0, 0)\n"
            "    auto_functionalized = torch.ops.higher_order.auto_functionalized("
            "torch.ops.my.foo.default, x = select)\n"
            "    getitem_1: \"f32[][]cpu\" = auto_functionalized[1]\n"
            "    scatter_view: \"f32[10][1]cpu\" = torch.ops.palimpsest.scatter_view.default("
            "f, getitem_1, [], [], 0)\n"
            "    return (scatter_view,)\n");
}

TEST(Functionalize, BuiltInWritesOnWholesAndViews) {
  Functional f = Transform(
      "def forward(self, x: \"f32[4, 3][3, 1]cpu\", y: \"f32[3][1]cpu\"):\n"
      "    add_ = torch.ops.aten.add_.Tensor(x, y)\n"
      "    row = torch.ops.aten.select.int(x, 0, 1)\n"
      "    mul_ = torch.ops.aten.mul_.Tensor(row, 2)\n"
      "    copy_ = torch.ops.aten.copy_.default(row, y)\n"
      "    return (x, mul_, y)\n");
  EXPECT_EQ(
      f.text,
      "def forward(self, x: \"f32[4, 3][3, 1]cpu\", y: \"f32[3][1]cpu\"):\n"
      "    add: \"f32[4, 3][3, 1]cpu\" = torch.ops.aten.add.Tensor(x, y)\n"
      "    select: \"f32[3][1]cpu\" = torch.ops.aten.select.int(add, 0, 1)\n"
      "    mul: \"f32[3][1]cpu\" = torch.ops.aten.mul.Tensor(select, 2)\n"
      "    scatter_view: \"f32[4, 3][3, 1]cpu\" = torch.ops.palimpsest.scatter_view.default("
      "add, mul, [3], [1], 3)\n"
      "    scatter_view_1: \"f32[4, 3][3, 1]cpu\" = torch.ops.palimpsest.scatter_view.default("
      "scatter_view, y, [3], [1], 3)\n"
      "    select_1: \"f32[3][1]cpu\" = torch.ops.aten.select.int(scatter_view_1, 0, 1)\n"
      "    return (scatter_view_1, select_1, y)\n");
  EXPECT_EQ(f.write_backs, std::vector<std::string>{"x = scatter_view_1"});
}

TEST(Functionalize, ReadOperandsThatMeetAWriteLieOnItsBase) {
  Functional f = Transform(
      "def forward(self, x: \"f32[6][1]cpu\"):\n"
      "    a = torch.ops.aten.slice.Tensor(x, 0, 0, 4)\n"
      "    b = torch.ops.aten.slice.Tensor(x, 0, 2, 6)\n"
      "    c = torch.ops.aten.slice.Tensor(x, 0, 0, 2)\n"
      "    two = torch.ops.my.two.default(b, a)\n"
      "    two_1 = torch.ops.my.two.default(b, c)\n"
      "    return ()\n");
  EXPECT_NE(f.text.find("my.two.default, n = 3, _x_base_index = 0, _x_slice_dim = 0, "
                        "_x_slice_start = 2, _x_slice_end = 6, _y_base_index = 0, "
                        "_y_slice_dim = 0, _y_slice_start = 0, _y_slice_end = 4, _all_bases"),
            std::string::npos)
      << f.text;
  EXPECT_NE(f.text.find("my.two.default, y = slice_1, n = 3, _x_base_index = 0, "
                        "_x_slice_dim = 0, _x_slice_start = 2, _x_slice_end = 6, _all_bases"),
            std::string::npos)
      << f.text;
}

TEST(Functionalize, ListsWithHolesAndElementsThatDoNotMeet) {
  Functional f = Transform(
      "def forward(self, x: \"f32[4][1]cpu\", y: \"f32[4][1]cpu\"):\n"
      "    v = torch.ops.aten.view.default(x, [2, 2])\n"
      "    list_1 = torch.ops.my.list.default([v, None, y], [x, y])\n"
      "    list_2 = torch.ops.my.list.default([y], [x, y])\n"
      "    return ()\n");
  EXPECT_NE(f.text.find("my.list.default, _xs_length = 3, _xs_0_base_index = 0, _xs_0_size = [2, "
                        "2], _xs_0_stride = [2, 1], _xs_0_storage_offset = 0, _xs_1_base_index = "
                        "None, _xs_2_base_index = 1, _ys_length = 2, _ys_0_base_index = 0, "
                        "_ys_1_base_index = 1, _all_bases = [x, y])"),
            std::string::npos)
      << f.text;
  EXPECT_NE(f.text.find("_xs_length = 1, _xs_0_base_index = 0, _ys_length = 2, _ys_0 = getitem_1, "
                        "_ys_1_base_index = 0, _all_bases = [getitem_2])"),
            std::string::npos)
      << f.text;
}

TEST(Functionalize, Version1SaysWhatItCannotSay) {
  Functional f = Transform(
      "def forward(self, x: \"f32[6][1]cpu\"):\n"
      "    two = torch.ops.my.two.default(x, x)\n"
      "    return ()\n",
      Version::kV1);
  EXPECT_NE(f.text.find("auto_functionalized_v2"), std::string::npos);
  ASSERT_EQ(f.remarks.remarks().size(), 1u);
  EXPECT_EQ(f.remarks.remarks()[0].kind, "overlap");
}

// The same program under three signatures.
TEST(Functionalize, TheSignatureDecidesWhatIsOneBase) {
  const char* program =
      "def forward(self, x: \"f32[4][1]cpu\", y: \"f32[4][1]cpu\"):\n"
      "    same = torch.ops.my.same_.default(x)\n"
      "    neg = torch.ops.aten.neg.default(y)\n"
      "    return (neg, same)\n";
  EXPECT_EQ(Transform(program).write_backs, std::vector<std::string>{"x = getitem"});
  Functional twice =
      Transform(program, Version::kV2, [](std::vector<Value>& inputs) { inputs[1] = inputs[0]; });
  EXPECT_NE(twice.text.find("neg.default(getitem)"), std::string::npos) << twice.text;
  Functional overlap = Transform(program, Version::kV2, [](std::vector<Value>& inputs) {
    StorageRef storage = ShapeOnlyStorage(24);
    inputs[0] = Value(Tensor({DType::kF32, {4}, {1}, 0}, storage));
    inputs[1] = Value(Tensor({DType::kF32, {4}, {1}, 2}, storage));
  });
  EXPECT_NE(
      overlap.text.find("storage: \"f32[6][1]cpu\" = torch.ops.palimpsest.storage.default(x)"),
      std::string::npos)
      << overlap.text;
  EXPECT_NE(overlap.text.find(
                "slice_1: \"f32[4][1]cpu\" = torch.ops.aten.slice.Tensor(getitem, 0, 2, 6)"),
            std::string::npos)
      << overlap.text;
}

TEST(Functionalize, FillsOfOverlappingViewsWriteEachElementOnce) {
  Functional f = Transform(
      "def forward(self, x: \"f32[3, 1][1, 1]cpu\"):\n"
      "    e = torch.ops.aten.expand.default(x, [3, 5])\n"
      "    fill_ = torch.ops.aten.fill_.Scalar(e, 7)\n"
      "    return ()\n");
  EXPECT_NE(f.text.find("fill: \"f32[3][1]"), std::string::npos) << f.text;
  f = Transform(
      "def forward(self, x: \"f32[8][1]cpu\"):\n"
      "    w = torch.ops.aten.as_strided.default(x, [3, 3], [2, 1], 1)\n"
      "    zero_ = torch.ops.aten.zero_.default(w)\n"
      "    return ()\n");
  EXPECT_NE(f.text.find("zero: \"f32[7][1]"), std::string::npos) << f.text;
}

TEST(Functionalize, AnotherDTypeOfTheBase) {
  Functional f = Transform(
      "def forward(self, x: \"f32[4][1]cpu\"):\n"
      "    i = torch.ops.aten.view.dtype(x, torch.int32)\n"
      "    foo = torch.ops.my.foo.default(i)\n"
      "    add_ = torch.ops.aten.add_.Tensor(i, 1)\n"
      "    return (i,)\n");
  EXPECT_NE(f.text.find("_x_size = [4], _x_stride = [1], _x_storage_offset = 0, _x_dtype = "
                        "torch.int32, _all_bases = [x]"),
            std::string::npos)
      << f.text;
  EXPECT_NE(f.text.find("scatter_view: \"f32[4][1]cpu\""), std::string::npos) << f.text;
}

TEST(Functionalize, MetadataWritesChangeNamesOnly) {
  Functional f = Transform(
      "def forward(self, x: \"f32[2, 3][3, 1]cpu\"):\n"
      "    neg = torch.ops.aten.neg.default(x)\n"
      "    t_ = torch.ops.aten.t_.default(neg)\n"
      "    return (neg,)\n");
  EXPECT_NE(f.text.find("torch.ops.aten.permute.default(neg, [1, 0])"), std::string::npos)
      << f.text;
}

TEST(Functionalize, RefusesWhatHangsOnTheOrderOfALoop) {
  // PyTorch's overlap test does not see these (gaps), and what it computes hangs on its loop.
  for (const char* line : {"add_ = torch.ops.aten.add_.Tensor(head, tail)",
                           "s = torch.ops.aten.scatter_.src(head, 0, i, head)",
                           "copy_ = torch.ops.aten.copy_.default(head, tail)"}) {
    Functional f =
        Transform(std::string("def forward(self, x: \"f32[8][2]cpu\", i: \"i64[3][1]cpu\"):\n"
                              "    head = torch.ops.aten.slice.Tensor(x, 0, 0, 7)\n"
                              "    tail = torch.ops.aten.slice.Tensor(x, 0, 1, 8)\n    ") +
                  line + "\n    return ()\n");
    EXPECT_EQ(f.error.reason, "partial_overlap") << line;
  }
  Functional same = Transform(
      "def forward(self, x: \"f32[8][2]cpu\"):\n"
      "    add_ = torch.ops.aten.add_.Tensor(x, x)\n"
      "    return ()\n");
  EXPECT_EQ(same.error.message, "");
}
TEST(Functionalize, RefusesWhatEagerRefusesEvenIfNobodyWantsIt) {
  Functional f = Transform(
      "def forward(self, x: \"f32[4][1]cpu\"):\n"
      "    select = torch.ops.aten.select.int(x, 0, 9)\n"
      "    return (x,)\n");
  EXPECT_EQ(f.error.reason, "index_out_of_range");
  EXPECT_NE(f.error.place, "");
}

}  // namespace
}  // namespace palimpsest::functionalize
