// palimpsest explain: what is written in place, what is copied, and why.
#include <fmt/format.h>

#include <cstdio>

#include "report/explanation_json.h"
#include "tools/verbs.h"

namespace palimpsest::tools {
namespace {

void PrintActor(const char* role, const std::string& name, const std::string& place) {
  if (name.empty()) return;
  fmt::print("    {} {}{}{}\n", role, name, place.empty() ? "" : " at ", place);
}

void PrintBase(const Explanation::Base& base) {
  fmt::print("{} ({} bytes): {}", base.name, base.bytes, base.verdict);
  if (base.copied_bytes > 0) fmt::print(", {} bytes copied", base.copied_bytes);
  if (!base.why.empty()) fmt::print(": {}", base.why);
  fmt::print("\n");
  PrintActor("read by", base.reader, base.reader_at);
  PrintActor("written by", base.writer, base.writer_at);
}

}  // namespace

Result<int> Explain(const CommandLine& command, const Model& model) {
  PAL_TRY(std::vector<Value> inputs, MakeInputs(command, model.program));
  PAL_TRY(Executable executable, model.program.Compile(command.options));
  PAL_TRY(Explanation e, executable.Explain(inputs));
  if (command.json) {
    fmt::print("{}\n", report::ToJson(e));
    return 0;
  }
  fmt::print("call signature: {}\n", e.signature);
  if (e.bases.empty()) fmt::print("nothing is written\n");
  for (const Explanation::Base& base : e.bases) PrintBase(base);
  for (const std::string& remark : e.remarks) fmt::print("remark: {}\n", remark);
  fmt::print("{} bytes copied per call, {} clone{} (the program as written copies {} bytes)\n",
             e.copied_bytes, e.clones, e.clones == 1 ? "" : "s", e.program_copied_bytes);
  if (e.copied_bytes == e.least_copied_bytes) {
    fmt::print("proven: no plan copies fewer bytes\n");
  } else {
    fmt::print(
        "at least {} bytes must be copied; the search was given up, the rest is not proven\n",
        e.least_copied_bytes);
  }
  fmt::print("arena: {} bytes, at least {} are needed\n", e.arena_bytes, e.arena_lower_bound);
  return 0;
}

}  // namespace palimpsest::tools
