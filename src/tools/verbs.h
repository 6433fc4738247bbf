// The verbs of the binary. Each prints its data on stdout and messages on stderr, and returns the
// exit code, or an error that main prints.
#pragma once

#include "palimpsest/program.h"
#include "tools/command_line.h"

namespace palimpsest::tools {

// A loaded program with the inputs that the command line asks for.
struct Model {
  Operators operators;
  Program program;
};
Result<Model> LoadModel(const CommandLine& command);
// One value per user input: those given, the others as for the default call signature.
Result<std::vector<Value>> MakeInputs(const CommandLine& command, const Program& program);
// Names of the flat results: the values' names in the graph ("add_1"); "result2" where there is
// none.
std::vector<std::string> ResultNames(const Program& program);

Result<int> Run(const CommandLine& command, const Model& model);
Result<int> Explain(const CommandLine& command, const Model& model);
Result<int> Opt(const CommandLine& command, const Model& model);
Result<int> Inspect(const CommandLine& command, const Model& model);
Result<int> Verify(const CommandLine& command, const Model& model);
// Takes a library of operators where the others take a model.
Result<int> OpCheck(const CommandLine& command);
// Takes an operator.
Result<int> Strides(const CommandLine& command);
// Takes no model.
Result<int> ListOperators(const CommandLine& command);

}  // namespace palimpsest::tools
