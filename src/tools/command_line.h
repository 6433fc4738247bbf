// The command line: verbs and their options, as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/program.h"

namespace palimpsest::tools {

struct CommandLine {
  std::string verb;   // "run", "explain", "opt", "inspect", "verify", "opcheck", ...
  std::string model;  // a .pt2 file or a graph text; opcheck: a library
  std::vector<std::string> libraries;  // --ops
  std::vector<std::string> inputs;     // --input NAME=...
  std::string inputs_folder;           // --inputs
  uint64_t seed = 0;                   // of default inputs and of the session's generator
  int64_t max_memory = 0;              // bytes; 0: the default limit
  bool json = false;
  int calls = 1;              // run, verify
  std::string output_folder;  // run
  Options options;            // run, explain, opt, verify
  // opt
  std::vector<std::string> passes;  // empty: the whole pipeline
  std::vector<std::string> print_after;
  bool print_after_all = false;
  bool text = false;      // inspect: print the graph
  std::string out;        // strides
  bool in_place = false;  // strides
  std::string calls_of;   // opcheck: a program whose calls are tried too
};

// The parsed command line, or the exit code where there is nothing to do: 0 after --help, 2 for a
// wrong command line. Help goes to stdout, complaints to stderr.
struct ParsedCommandLine {
  CommandLine command;
  std::optional<int> exit_code;
};
ParsedCommandLine ParseCommandLine(int argc, char** argv);

}  // namespace palimpsest::tools
