// The examples of docs/ir.md are true: each `python` block is read, verified, and printed as it is.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "ir/text.h"
#include "ir/verify.h"

namespace palimpsest::ir {
namespace {

std::vector<std::string> PythonBlocks(const std::string& path) {
  std::vector<std::string> blocks;
  std::ifstream file(path);
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      inside = !inside && line == "```python";
      if (inside) blocks.emplace_back();
    } else if (inside) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

TEST(TextDocs, ExamplesAreTrue) {
  op::OpTable table;
  for (const char* text :
       {"aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
        "aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
        "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
        "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, "
        "SymInt step=1) -> Tensor(a)",
        "palimpsest::view(Tensor(a) x, ScalarType dtype, int[] size, int[] stride, int "
        "storage_offset) -> Tensor(a)"}) {
    op::Op op;
    op.schema = *op::ParseSchema(text);
    ASSERT_TRUE(table.Register(std::move(op)).ok());
  }
  std::vector<std::string> blocks = PythonBlocks(PAL_SOURCE_DIR "/docs/ir.md");
  EXPECT_GE(blocks.size(), 5u);
  for (const std::string& block : blocks) {
    Result<Graph> graph = ParseText(block, table, "docs/ir.md");
    ASSERT_TRUE(graph.ok()) << graph.error().ToString() << "\n" << block;
    Status verified = Verify(*graph);
    EXPECT_TRUE(verified.ok()) << block;
    EXPECT_EQ(Print(*graph), block);
  }
}

}  // namespace
}  // namespace palimpsest::ir
