// palimpsest_cases KIND PATH [--only ID] [-v] [--engine interpreter|compiled] [settings]
//
// Runs files of cases (tests/cases/README.md) through palimpsest's public headers. One line per
// failing id, then "N passed, M failed, K skipped". Exit 0 if nothing failed, 1 if something did, 2
// for a wrong command line, 3 for cases that cannot be read.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string_view>

#include "kinds.h"

namespace {

using cases::Settings;
using cases::Tally;
using palimpsest::FunctionalizeVersion;
using palimpsest::Operators;
using palimpsest::Result;

constexpr char kUsage[] =
    "palimpsest_cases programs tests/cases/programs-open.jsonl --only A1-decode-step\n"
    "\n"
    "usage: palimpsest_cases KIND PATH [--only ID] [-v] [--engine interpreter|compiled]\n"
    "       [--keep-order] [--always-copy] [--functionalize v1|v2] [--disable-pass NAME]\n"
    "       [--proof]  programs fail whose copied bytes are not proven to be the least\n"
    "  KIND  strides, iteration, programs: PATH is a .jsonl file; pt2: a folder of fixtures\n"
    "  -v    also print skipped cases, other error kinds, and programs that copy too much\n";

bool Parse(int argc, char** argv, std::string& kind, Settings& settings) {
  std::vector<std::string> positional;
  for (int i = 1; i < argc; ++i) {
    std::string_view arg = argv[i];
    bool has_value = i + 1 < argc;
    if (arg == "-v" || arg == "--verbose") {
      settings.verbose = true;
    } else if (arg == "--only" && has_value) {
      settings.only = argv[++i];
    } else if (arg == "--engine" && has_value) {
      std::string_view engine = argv[++i];
      settings.interpret = engine == "interpreter";
      settings.compile = engine == "compiled";
      if (!settings.interpret && !settings.compile) return false;
    } else if (arg == "--proof") {
      settings.proof = true;
    } else if (arg == "--keep-order") {
      settings.options.keep_order = true;
      settings.may_plan_best = false;
    } else if (arg == "--always-copy") {
      settings.options.always_copy = true;
      settings.may_plan_best = false;
    } else if (arg == "--disable-pass" && has_value) {
      settings.options.disabled_passes.emplace_back(argv[++i]);
    } else if (arg == "--functionalize" && has_value) {
      std::string_view version = argv[++i];
      settings.may_plan_best = false;
      if (version != "v1" && version != "v2") return false;
      settings.options.functionalize =
          version == "v1" ? FunctionalizeVersion::kV1 : FunctionalizeVersion::kV2;
    } else if (arg.starts_with("-")) {
      return false;
    } else {
      positional.emplace_back(arg);
    }
  }
  if (positional.size() != 2) return false;
  kind = positional[0];
  settings.path = positional[1];
  return true;
}

std::string FolderOfThisBinary() {
  std::error_code error;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path().string();
}

Result<Tally> Run(const std::string& kind, const Settings& settings) {
  if (kind == "iteration") return cases::RunIteration(settings);
  Operators ops;
  if (kind == "strides") return cases::RunStrides(settings, ops);
  PAL_TRY(ops.LoadLibrary(FolderOfThisBinary() + "/libcaselib.so"));
  return kind == "programs" ? cases::RunPrograms(settings, ops) : cases::RunPt2(settings, ops);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::string kind;
  bool parsed = Parse(argc, argv, kind, settings);
  bool known = kind == "strides" || kind == "iteration" || kind == "programs" || kind == "pt2";
  if (!parsed || !known) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  palimpsest::SetPoisonNewMemory(true);
  Result<Tally> tally = Run(kind, settings);
  if (!tally.ok()) {
    std::fprintf(stderr, "%s\n", tally.error().ToString().c_str());
    return palimpsest::ExitCode(tally.error().kind);
  }
  std::printf("%s\n", tally->Sum().c_str());
  return tally->ok() ? 0 : 1;
}
