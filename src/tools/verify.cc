// palimpsest verify: the compiled program against the interpreter.
#include <fmt/format.h>

#include <cstdio>

#include "report/json_text.h"
#include "tools/compare.h"
#include "tools/verbs.h"

namespace palimpsest::tools {
namespace {

// One engine with inputs of its own.
struct Side {
  Session session;
  std::vector<Value> inputs;
};

std::vector<std::string> InputNames(const Program& program) {
  std::vector<std::string> names;
  for (const InputInfo& info : program.Inputs()) {
    if (info.kind == "user" || info.is_constant) names.push_back(info.name);
  }
  return names;
}

Result<Observed> CallOnce(Side& side, const Program& program) {
  PAL_TRY(std::vector<Value> results, side.session.Run(side.inputs));
  Observed observed;
  std::vector<std::string> names = InputNames(program);
  for (size_t i = 0; i < side.inputs.size(); ++i) {
    observed.items.push_back({"input " + names[i], side.inputs[i]});
  }
  for (const std::string& name : side.session.StateNames()) {
    PAL_TRY(Tensor tensor, side.session.State(name));
    observed.items.push_back({"state " + name, Value(std::move(tensor))});
  }
  names = ResultNames(program);
  names.resize(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    observed.items.push_back({"result " + names[i], std::move(results[i])});
  }
  return observed;
}

// "the interpreter fails: ..." unless both fail for the same reason.
Result<std::optional<std::string>> CompareFailures(const Result<Observed>& compiled,
                                                   const Result<Observed>& interpreted) {
  if (compiled.ok()) return std::optional("interpreted it fails: " + interpreted.error().message);
  if (interpreted.ok()) return std::optional("compiled it fails: " + compiled.error().message);
  return interpreted.error();
}

int Report(const CommandLine& command, const std::string& signature, int calls,
           const std::optional<std::string>& difference) {
  fmt::print(stderr, "call signature: {}\n", signature);
  if (command.json) {
    report::JsonText json;
    json.BeginObject().Key("schema").Text("palimpsest.verify/1");
    json.Key("signature").Text(signature).Key("equal").Truth(!difference);
    json.Key("calls").Number(int64_t{calls}).Key("difference").Text(difference.value_or(""));
    fmt::print("{}\n", json.EndObject().Take());
  } else if (difference) {
    fmt::print("call {}: {}\n", calls, *difference);
  } else {
    fmt::print("{} call{}: results, inputs, state, aliasing and strides are equal\n", calls,
               calls == 1 ? "" : "s");
  }
  return difference ? 1 : 0;
}

}  // namespace

Result<int> Verify(const CommandLine& command, const Model& model) {
  PAL_TRY(std::vector<Value> inputs, MakeInputs(command, model.program));
  PAL_TRY(Executable executable, model.program.Compile(command.options));
  PAL_TRY(Explanation explanation, executable.Explain(inputs));
  PAL_TRY(Session compiled_session, executable.NewSession());
  PAL_TRY(Session interpreter_session, model.program.Interpret());
  PAL_TRY(std::vector<Value> cloned, CloneSharing(inputs));
  Side compiled{std::move(compiled_session), std::move(inputs)};
  Side interpreter{std::move(interpreter_session), std::move(cloned)};
  compiled.session.Seed(command.seed);
  interpreter.session.Seed(command.seed);
  std::optional<std::string> difference;
  int call = 1;
  for (; call <= command.calls && !difference; ++call) {
    Result<Observed> actual = CallOnce(compiled, model.program);
    Result<Observed> expected = CallOnce(interpreter, model.program);
    if (actual.ok() && expected.ok()) {
      difference = FirstDifference(*actual, *expected);
    } else {
      PAL_TRY(difference, CompareFailures(actual, expected));
    }
  }
  return Report(command, explanation.signature, call - 1, difference);
}

}  // namespace palimpsest::tools
