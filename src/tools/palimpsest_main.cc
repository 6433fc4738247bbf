// The palimpsest binary: parses the command line, loads the model, calls the verb.
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <fstream>

#include "tools/command_line.h"
#include "tools/verbs.h"

namespace {

using palimpsest::Error;
using palimpsest::ErrorKind;
using palimpsest::Result;
using palimpsest::tools::CommandLine;
using palimpsest::tools::Model;

Result<int> Dispatch(const CommandLine& command) {
  if (command.max_memory > 0) palimpsest::SetMemoryLimit(command.max_memory);
  if (command.verb == "opcheck") return palimpsest::tools::OpCheck(command);
  if (command.verb == "strides") return palimpsest::tools::Strides(command);
  if (command.verb == "operators") return palimpsest::tools::ListOperators(command);
  PAL_TRY(Model model, palimpsest::tools::LoadModel(command));
  if (command.verb == "run") return palimpsest::tools::Run(command, model);
  if (command.verb == "explain") return palimpsest::tools::Explain(command, model);
  if (command.verb == "opt") return palimpsest::tools::Opt(command, model);
  if (command.verb == "inspect") return palimpsest::tools::Inspect(command, model);
  return palimpsest::tools::Verify(command, model);
}

// What a report of a bug of ours needs: the command and the error.
void WriteReproducer(int argc, char** argv, const Error& error) {
  constexpr char kName[] = "palimpsest-bug.txt";
  std::ofstream file(kName);
  for (int i = 0; i < argc; ++i) file << (i > 0 ? " " : "") << argv[i];
  file << "\n" << error.ToString() << "\n";
  if (file) std::fprintf(stderr, "this is a bug of palimpsest; what led to it is in %s\n", kName);
}

}  // namespace

int main(int argc, char** argv) {
  // A failed check of ours aborts; to the caller it is a bug like any other.
  std::signal(SIGABRT, [](int) { _exit(5); });
  palimpsest::tools::ParsedCommandLine parsed = palimpsest::tools::ParseCommandLine(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  Result<int> code = Dispatch(parsed.command);
  if (code.ok()) return *code;
  std::fprintf(stderr, "%s\n", code.error().ToString().c_str());
  if (code.error().kind == ErrorKind::kInternal) WriteReproducer(argc, argv, code.error());
  return palimpsest::ExitCode(code.error().kind);
}
