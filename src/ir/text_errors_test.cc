// Golden tests of error texts: tests/errors/text/*.txt hold a graph text, a line "--- error", and
// the exact error. PAL_UPDATE_GOLDEN=1 rewrites the files.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "ir/text.h"

namespace palimpsest::ir {
namespace {

constexpr std::string_view kMark = "--- error\n";

std::string ReadFile(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

op::OpTable& Table() {
  static op::OpTable& table = *new op::OpTable;
  if (table.All().empty()) {
    for (const char* text :
         {"aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
          "aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
          "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)"}) {
      op::Op op;
      op.schema = *op::ParseSchema(text);
      EXPECT_TRUE(table.Register(std::move(op)).ok());
    }
  }
  return table;
}

TEST(TextErrors, Golden) {
  std::set<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(PAL_SOURCE_DIR "/tests/errors/text")) {
    files.insert(entry.path());
  }
  EXPECT_GE(files.size(), 40u);
  bool update = std::getenv("PAL_UPDATE_GOLDEN") != nullptr;
  for (const auto& path : files) {
    std::string content = ReadFile(path);
    size_t mark = content.find(kMark);
    ASSERT_NE(mark, std::string::npos) << path;
    std::string text = content.substr(0, mark);
    Result<Graph> graph = ParseText(text, Table(), path.stem().string() + ".pal");
    ASSERT_FALSE(graph.ok()) << path << " is read without an error";
    std::string error = graph.error().ToString() + "\n";
    if (update) {
      std::ofstream(path) << text << kMark << error;
    } else {
      EXPECT_EQ(error, content.substr(mark + kMark.size())) << path;
    }
  }
}

}  // namespace
}  // namespace palimpsest::ir
