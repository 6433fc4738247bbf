// Kind `pt2`: exported programs with recorded results, and hostile files.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "fixture.h"
#include "hostile.h"
#include "kinds.h"

namespace cases {
namespace {

namespace fs = std::filesystem;
using namespace palimpsest;

// Folders with a manifest, by name; the bases of the hostile files too.
std::vector<std::string> FixtureFolders(const std::string& path) {
  std::vector<std::string> folders;
  std::error_code error;
  for (const std::string& parent : {path, path + "/hostile"}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(parent, error)) {
      if (fs::exists(entry.path() / "manifest.json")) folders.push_back(entry.path().string());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

Outcome RunFolder(const std::string& folder, const Operators& ops, const Settings& settings) {
  Result<Fixture> fixture = LoadFixture(folder);
  if (!fixture.ok()) return FromError(fixture.error(), "manifest");
  std::string file = folder + "/" + fixture->manifest["file"].Text();
  Result<Program> program = Program::Load(file, ops);
  if (!program.ok()) return FromError(program.error(), "loading");
  if (settings.interpret) {
    Outcome outcome = RunFixture(*fixture, *program, Engine::kInterpreter);
    if (!outcome.passed()) return outcome;
  }
  if (!settings.compile) return Outcome::Passed();
  return RunFixture(*fixture, *program, Engine::kCompiled);
}

}  // namespace

Result<Tally> RunPt2(const Settings& settings, const Operators& ops) {
  Tally hostile(settings), fixtures(settings);
  // First, while there is one thread only: hostile files are tried in child processes.
  if (fs::exists(settings.path + "/hostile/cases.json")) {
    PAL_TRY(hostile, RunHostile(settings, settings.path + "/hostile", ops));
  }
  for (const std::string& folder : FixtureFolders(settings.path)) {
    std::string id = fs::path(folder).filename().string();
    if (settings.Wants(id)) fixtures.Add(id, RunFolder(folder, ops, settings));
  }
  Tally all = hostile;
  all += fixtures;
  all.PrintSkipReasons();
  std::printf("fixtures: %s\n", fixtures.Sum().c_str());
  std::printf("hostile files: %s\n", hostile.Sum().c_str());
  return all;
}

}  // namespace cases
