// palimpsest inspect: what a program takes, returns, keeps and calls.
#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "driver/program_impl.h"
#include "report/json_text.h"
#include "tools/verbs.h"

namespace palimpsest::tools {
namespace {

// Calls per operator, subgraphs included.
std::map<std::string, int64_t> CountOperators(const ir::Graph& graph) {
  std::map<std::string, int64_t> counts;
  std::vector<const ir::Graph*> todo = {&graph};
  while (!todo.empty()) {
    const ir::Graph* g = todo.back();
    todo.pop_back();
    for (const ir::Node& node : g->nodes) {
      if (node.kind == ir::Node::Kind::kCall) ++counts[node.target];
    }
    for (const auto& subgraph : g->subgraphs) todo.push_back(subgraph.get());
  }
  return counts;
}

void PrintText(const Program& program) {
  for (const InputInfo& input : program.Inputs()) {
    fmt::print("{} {}: {}{}{}\n", input.kind, input.name, input.type,
               input.target.empty() ? "" : " = ", input.target);
  }
  std::vector<std::string> names = ResultNames(program), types = program.OutputTypes();
  for (size_t i = 0; i < names.size(); ++i) fmt::print("result {}: {}\n", names[i], types[i]);
  std::map<std::string, int> custom = program.CustomOperators();
  for (const auto& [target, count] : CountOperators(program.impl().source)) {
    fmt::print("{} x {}\n", count, target);
  }
  for (const auto& [name, count] : custom) fmt::print("custom operator {} x {}\n", name, count);
  const Status& runnable = program.impl().runnable;
  if (!runnable.ok()) fmt::print("cannot run: {}\n", runnable.error().message);
}

void PrintJson(const Program& program) {
  report::JsonText json;
  json.BeginObject().Key("schema").Text("palimpsest.inspect/1").Key("inputs").BeginList();
  for (const InputInfo& input : program.Inputs()) {
    json.BeginObject().Key("name").Text(input.name).Key("kind").Text(input.kind);
    json.Key("type").Text(input.type).Key("target").Text(input.target).EndObject();
  }
  json.EndList().Key("results").BeginList();
  std::vector<std::string> names = ResultNames(program), types = program.OutputTypes();
  for (size_t i = 0; i < names.size(); ++i) {
    json.BeginObject().Key("name").Text(names[i]).Key("type").Text(types[i]).EndObject();
  }
  json.EndList().Key("operators").BeginObject();
  for (const auto& [target, count] : CountOperators(program.impl().source)) {
    json.Key(target).Number(count);
  }
  json.EndObject().Key("custom_operators").BeginObject();
  for (const auto& [name, count] : program.CustomOperators()) {
    json.Key(name).Number(int64_t{count});
  }
  const Status& runnable = program.impl().runnable;
  json.EndObject().Key("runnable").Truth(runnable.ok());
  json.Key("why_not").Text(runnable.ok() ? "" : runnable.error().message).EndObject();
  fmt::print("{}\n", json.Take());
}

}  // namespace

Result<int> Inspect(const CommandLine& command, const Model& model) {
  if (command.json) {
    PrintJson(model.program);
  } else if (command.text) {
    fmt::print("{}", model.program.ToText());
  } else {
    PrintText(model.program);
  }
  return 0;
}

}  // namespace palimpsest::tools
