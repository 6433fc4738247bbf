// Loading, and the inputs of a call.
#include <algorithm>

#include <fmt/format.h>

#include "driver/program_impl.h"
#include "tools/input_options.h"
#include "tools/verbs.h"

namespace palimpsest::tools {
namespace {

bool IsUserInput(const InputInfo& info) { return info.kind == "user" || info.is_constant; }

}  // namespace

Result<Model> LoadModel(const CommandLine& command) {
  Operators operators;
  for (const std::string& library : command.libraries) PAL_TRY(operators.LoadLibrary(library));
  PAL_TRY(Program program, Program::Load(command.model, operators));
  return Model{std::move(operators), std::move(program)};
}

Result<std::vector<Value>> MakeInputs(const CommandLine& command, const Program& program) {
  std::vector<std::string> names;
  for (const InputInfo& info : program.Inputs()) {
    if (IsUserInput(info)) names.push_back(info.name);
  }
  PAL_TRY(std::vector<std::optional<Value>> given, ReadInputOptions(command, names));
  bool complete =
      std::all_of(given.begin(), given.end(), [](const auto& v) { return v.has_value(); });
  std::vector<Value> inputs;
  if (!complete) {
    PAL_TRY(inputs, program.DefaultInputs(command.seed));
  }
  inputs.resize(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    if (given[i]) inputs[i] = std::move(*given[i]);
  }
  return inputs;
}

std::vector<std::string> ResultNames(const Program& program) {
  std::vector<std::string> names;
  const ir::Graph& graph = program.impl().program;
  for (const ir::Argument& output : graph.outputs) {
    names.push_back(output.IsNode() ? graph.node(output.node()).name
                                    : fmt::format("result{}", names.size()));
  }
  return names;
}

}  // namespace palimpsest::tools
