// palimpsest run: one line per result.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "import/npy.h"
#include "report/json_text.h"
#include "tools/elements.h"
#include "tools/verbs.h"

namespace palimpsest::tools {
namespace {

// "add" of the second call of several: "add.2.npy".
std::string FileName(const CommandLine& command, const std::string& name, int call) {
  std::string number = command.calls > 1 ? fmt::format(".{}", call) : "";
  return fmt::format("{}/{}{}.npy", command.output_folder, name, number);
}

Status SaveResults(const CommandLine& command, const std::vector<std::string>& names,
                   const std::vector<Value>& results, int call) {
  if (command.output_folder.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(command.output_folder, error);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].IsTensor()) continue;
    PAL_TRY(importing::WriteNpy(results[i].tensor(), FileName(command, names[i], call)));
  }
  return {};
}

void PrintResults(const std::vector<std::string>& names, const std::vector<Value>& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    fmt::print("{}: {}\n", names[i], Show(results[i]));
  }
}

void WriteResult(report::JsonText& json, const std::string& name, const Value& value) {
  json.BeginObject().Key("name").Text(name);
  if (value.IsTensor()) json.Key("type").Text(ToString(value.tensor().view()));
  json.Key("text").Text(Show(value)).EndObject();
}

void WriteCall(report::JsonText& json, const std::vector<std::string>& names,
               const std::vector<Value>& results, const RunStats& stats) {
  json.BeginObject().Key("copied_bytes").Number(stats.copied_bytes);
  json.Key("arena_bytes").Number(stats.arena_bytes);
  json.Key("results").BeginList();
  for (size_t i = 0; i < results.size(); ++i) WriteResult(json, names[i], results[i]);
  json.EndList().EndObject();
}

}  // namespace

Result<int> Run(const CommandLine& command, const Model& model) {
  PAL_TRY(std::vector<Value> inputs, MakeInputs(command, model.program));
  PAL_TRY(Executable executable, model.program.Compile(command.options));
  PAL_TRY(Session session, executable.NewSession());
  session.Seed(command.seed);
  PAL_TRY(Explanation explanation, executable.Explain(inputs));
  fmt::print(stderr, "call signature: {}\n", explanation.signature);
  std::vector<std::string> names = ResultNames(model.program);
  report::JsonText json;
  json.BeginObject().Key("schema").Text("palimpsest.run/1");
  json.Key("signature").Text(explanation.signature).Key("calls").BeginList();
  for (int call = 1; call <= command.calls; ++call) {
    PAL_TRY(std::vector<Value> results, session.Run(inputs));
    names.resize(results.size());
    if (!command.json && command.calls > 1) fmt::print("# call {}\n", call);
    if (!command.json) PrintResults(names, results);
    WriteCall(json, names, results, session.last_run());
    fmt::print(stderr, "call {}: {} bytes copied\n", call, session.last_run().copied_bytes);
    PAL_TRY(SaveResults(command, names, results, call));
  }
  json.EndList().EndObject();
  if (command.json) fmt::print("{}\n", json.Take());
  return 0;
}

}  // namespace palimpsest::tools
