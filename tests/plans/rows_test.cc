// The benefit, asserted: bytes that are not copied (times are printed by bench/scale.cc).
#include <gtest/gtest.h>

#include "../../bench/scale_programs.h"
#include "palimpsest/program.h"

namespace palimpsest {
namespace {

Explanation Explain(const std::string& text) {
  Operators ops;
  Result<Program> program = Program::FromText(text, ops);
  EXPECT_TRUE(program.ok()) << program.error().ToString();
  Result<Executable> executable = program->Compile({});
  EXPECT_TRUE(executable.ok()) << executable.error().ToString();
  Result<Explanation> explanation = executable->Explain();
  EXPECT_TRUE(explanation.ok()) << explanation.error().ToString();
  return *explanation;
}

// Each row is read after its own update and before nobody else's: moved readers cost nothing, and
// no clone is needed. (PyTorch 2.14 keeps 199 clones of the whole input.)
TEST(Rows, TwoHundredReadAfterTheirUpdateAreNeverCopied) {
  Explanation e = Explain(bench::RowsReadAfterUpdate(200));
  EXPECT_EQ(e.copied_bytes, 0);
  EXPECT_EQ(e.checked_copied_bytes, 0);
  EXPECT_EQ(e.clones, 0);
}

TEST(Rows, ThousandUpdatesOfOneBaseCopyNothing) {
  Explanation e = Explain(bench::RowUpdates(1000));
  EXPECT_EQ(e.copied_bytes, 0);
  EXPECT_EQ(e.arena_bytes, 0);
}

// 22 layers: two projections of 256 bytes each go straight into their caches.
TEST(Rows, CachesOfADecoderAreUpdatedInPlace) {
  Explanation e = Explain(bench::Decoder(300));
  EXPECT_EQ(e.copied_bytes, 0);
  EXPECT_EQ(e.program_copied_bytes, 2 * 22 * 256) << "as written every copy_ moves 4 rows";
}

}  // namespace
}  // namespace palimpsest
