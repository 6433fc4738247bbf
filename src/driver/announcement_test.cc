// The program of PyTorch's announcement of auto_functionalized_v2, in all its stages:
//
//   f = full(10); foo(f[0]); return f
//
// Version 1 clones the view and scatters it back; version 2 works on the base; decomposed without
// re-inplacing the clone is there; re-inplaced there is neither clone nor scatter. The stages are
// golden files; PAL_UPDATE_GOLDEN=1 rewrites them.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "palimpsest/program.h"

namespace palimpsest {
namespace {

constexpr char kProgram[] = R"(
# schema: my::foo(Tensor(a!) x) -> ()
def forward(self):
    full: "f32[10][1]" = torch.ops.aten.full.default([10], 0.0)
    select: "f32[][]" = torch.ops.aten.select.int(full, 0, 0)
    foo = torch.ops.my.foo.default(select)
    return (full,)
)";

Explanation Explain(FunctionalizeVersion version, bool always_copy) {
  Operators ops;
  Result<Program> program = Program::FromText(kProgram, ops);
  EXPECT_TRUE(program.ok()) << program.error().ToString();
  Options options;
  options.functionalize = version;
  options.always_copy = always_copy;
  Result<Executable> executable = program->Compile(options);
  EXPECT_TRUE(executable.ok()) << executable.error().ToString();
  Result<Explanation> explanation = executable->Explain();
  EXPECT_TRUE(explanation.ok()) << explanation.error().ToString();
  return *explanation;
}

std::string Stage(const Explanation& explanation, const std::string& name) {
  for (const auto& [stage, text] : explanation.stages) {
    if (stage == name) return text;
  }
  return "no stage " + name;
}

void CompareWithFile(const std::string& text, const std::string& name) {
  std::string path = std::string(PAL_SOURCE_DIR "/tests/golden/announcement/") + name;
  if (std::getenv("PAL_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str()) << name;
}

size_t Count(const std::string& text, const std::string& piece) {
  size_t n = 0;
  for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++n;
  return n;
}

TEST(Announcement, Version1ScattersTheViewBack) {
  std::string functional = Stage(Explain(FunctionalizeVersion::kV1, false), "functional");
  EXPECT_EQ(Count(functional, "higher_order.auto_functionalized("), 1u);
  EXPECT_EQ(Count(functional, "scatter"), 3u) << "a name, its operator, and the result";
  CompareWithFile(functional, "v1_functional.pal");
}

TEST(Announcement, Version1DecomposedClonesTheView) {
  std::string decomposed = Stage(Explain(FunctionalizeVersion::kV1, false), "decomposed");
  EXPECT_EQ(Count(decomposed, "torch.ops.palimpsest.clone_strides.default(select)"), 1u);
  EXPECT_EQ(Count(decomposed, "= torch.ops.palimpsest.scatter_view"), 1u);
  CompareWithFile(decomposed, "v1_decomposed.pal");
}

TEST(Announcement, WithoutReinplacingEveryVersionCopiesTheBase) {
  EXPECT_GE(Explain(FunctionalizeVersion::kV1, true).copied_bytes, 40);
  EXPECT_GE(Explain(FunctionalizeVersion::kV2, true).copied_bytes, 40);
}

TEST(Announcement, Version2IsOnTheBase) {
  std::string functional = Stage(Explain(FunctionalizeVersion::kV2, false), "functional");
  EXPECT_EQ(Count(functional, "higher_order.auto_functionalized_v2("), 1u);
  EXPECT_EQ(Count(functional, "_all_bases = [full]"), 1u);
  EXPECT_EQ(Count(functional, "scatter"), 0u);
  CompareWithFile(functional, "v2_functional.pal");
}

TEST(Announcement, Version2DecomposedHasTheClone) {
  std::string decomposed = Stage(Explain(FunctionalizeVersion::kV2, false), "decomposed");
  EXPECT_EQ(Count(decomposed, "torch.ops.palimpsest.clone_strides.default(full)"), 1u);
  EXPECT_EQ(Count(decomposed, "scatter"), 0u);
  CompareWithFile(decomposed, "v2_decomposed.pal");
}

TEST(Announcement, Version2ReinplacedHasNeitherCloneNorScatter) {
  Explanation explanation = Explain(FunctionalizeVersion::kV2, false);
  std::string direct = Stage(explanation, "direct");
  EXPECT_EQ(Count(direct, "clone"), 0u);
  EXPECT_EQ(Count(direct, "scatter"), 0u);
  EXPECT_EQ(Count(direct, "torch.ops.my.foo.default(select)"), 1u);
  EXPECT_EQ(explanation.copied_bytes, 0);
  EXPECT_EQ(explanation.clones, 0);
  CompareWithFile(direct, "v2_reinplaced.pal");
  CompareWithFile(Stage(explanation, "planned"), "v2_planned.pal");
}

// And both versions end in the same place: switching v2 off shows no difference here.
TEST(Announcement, Version1ReinplacedIsTheSame) {
  Explanation v1 = Explain(FunctionalizeVersion::kV1, false);
  EXPECT_EQ(v1.copied_bytes, 0);
  EXPECT_EQ(Stage(v1, "direct"), Stage(Explain(FunctionalizeVersion::kV2, false), "direct"));
}

}  // namespace
}  // namespace palimpsest
