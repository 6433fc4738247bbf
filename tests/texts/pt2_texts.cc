// Every exported program of a folder is printed, its text is read, and that prints as the same
// text.
//
//   pt2_texts tests/cases/pt2
//
// Files that are refused count as skipped; a text of ours that we cannot read is a failure.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "palimpsest/program.h"

namespace {

enum class Outcome { kSame, kSkipped, kFailed };

Outcome Check(const std::string& path, const palimpsest::Operators& ops) {
  auto program = palimpsest::Program::Load(path, ops);
  if (!program.ok()) return Outcome::kSkipped;
  std::string text = program->ToText();
  auto again = palimpsest::Program::FromText(text, ops, path);
  if (!again.ok()) {
    std::printf("%s: its text is refused: %s\n", path.c_str(), again.error().ToString().c_str());
    return Outcome::kFailed;
  }
  if (again->ToText() == text) return Outcome::kSame;
  std::printf("%s: its text is printed as another text\n", path.c_str());
  return Outcome::kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::filesystem::path model = entry.path() / "model.pt2";
    if (std::filesystem::exists(model)) paths.push_back(model.string());
  }
  std::sort(paths.begin(), paths.end());
  palimpsest::Operators ops;
  int counts[3] = {0, 0, 0};
  for (const std::string& path : paths) ++counts[static_cast<int>(Check(path, ops))];
  std::printf("%d passed, %d failed, %d skipped\n", counts[0], counts[2], counts[1]);
  return counts[2] == 0 && counts[0] > 0 ? 0 : 1;
}
