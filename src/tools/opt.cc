// palimpsest opt: the passes one by one, graphs printed between them.
//
// Beside the passes of passes/all_passes.h there are two stages that need the call signature:
// "functionalize" and "reinplace".
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "driver/compile.h"
#include "functionalize/functionalize.h"
#include "ir/text.h"
#include "passes/all_passes.h"
#include "reinplace/reinplace.h"
#include "report/json_text.h"
#include "tools/verbs.h"

namespace palimpsest::tools {
namespace {

constexpr char kFunctionalize[] = "functionalize";
constexpr char kReinplace[] = "reinplace";

// What a program is specialised to.
struct Call {
  driver::CallSignature signature;
  std::vector<Value> data;
};

Result<Call> MakeCall(const CommandLine& command, const Program& program) {
  const Program::Impl& impl = program.impl();
  PAL_TRY(impl.runnable);
  std::vector<Value> state(impl.program.num_inputs());
  for (size_t i = 0; i < state.size(); ++i) {
    auto it = impl.state.find(impl.input_spec(i).target);
    if (!impl.is_user(i) && it != impl.state.end()) state[i] = Value(it->second);
  }
  PAL_TRY(std::vector<Value> user, MakeInputs(command, program));
  PAL_TRY(std::vector<Value> raw, driver::AssembleInputs(impl, user, state));
  PAL_TRY(std::vector<Value> inputs, driver::MergeStorages(raw));
  Call call;
  PAL_TRY(call.data, impl.read_ahead->Read(inputs));
  call.signature = driver::SignatureOf(inputs, call.data);
  return call;
}

std::vector<std::string> WholePipeline() {
  std::vector<std::string> names;
  for (const passes::Pass& pass : passes::PreparationPasses()) names.emplace_back(pass.name);
  names.emplace_back(kFunctionalize);
  for (const passes::Pass& pass : passes::OptimizationPasses()) names.emplace_back(pass.name);
  names.emplace_back(kReinplace);
  return names;
}

// One pass after the other on one graph.
class Pipeline {
 public:
  Pipeline(const CommandLine& command, const Program& program)
      : command_(command), program_(program), graph_(program.impl().source) {}

  Status RunAll() {
    std::vector<std::string> names = command_.passes.empty() ? WholePipeline() : command_.passes;
    PAL_TRY(CheckNames(names));
    for (const std::string& name : names) {
      bool disabled = std::find(command_.options.disabled_passes.begin(),
                                command_.options.disabled_passes.end(),
                                name) != command_.options.disabled_passes.end();
      if (disabled) continue;
      PAL_TRY(RunOne(name));
    }
    return {};
  }

  // Everything that was run: the name, milliseconds and number of changes.
  const std::vector<passes::PassRun>& runs() const { return runs_; }
  const std::string& last_text() const { return last_text_; }
  const RemarkSink& remarks() const { return remarks_; }

 private:
  Status CheckNames(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (name == kFunctionalize || name == kReinplace || passes::FindPass(name)) continue;
      std::vector<std::string> known = {kFunctionalize, kReinplace};
      for (const passes::Pass& pass : passes::AllPasses()) known.emplace_back(pass.name);
      return UsageError(
          fmt::format("there is no pass '{}'; known: {}", name, fmt::join(known, ", ")));
    }
    return {};
  }

  Status RunOne(const std::string& name) {
    std::string before = ir::Print(graph_);
    passes::PassRun run;
    run.name = name;
    if (name == kFunctionalize) {
      PAL_TRY(Functionalize());
      last_text_ = ir::Print(graph_);
    } else if (name == kReinplace) {
      PAL_TRY(Reinplace());
    } else {
      PAL_TRY(auto done, passes::RunPasses(graph_, {passes::FindPass(name), 1}, {}, remarks_));
      if (!done.empty()) run = done[0];
      last_text_ = ir::Print(graph_);
    }
    runs_.push_back(run);
    PrintAfter(name, last_text_ == before);
    return {};
  }

  Status Functionalize() {
    PAL_TRY(Call call, MakeCall(command_, program_));
    functionalize::FunctionalizeOptions options;
    if (command_.options.functionalize == FunctionalizeVersion::kV1) {
      options.version = functionalize::FunctionalizeOptions::Version::kV1;
    }
    auto known = program_.impl().read_ahead->ByNode(call.data);
    PAL_TRY(graph_,
            functionalize::Functionalize(graph_, call.signature.inputs, known, options, remarks_));
    return {};
  }

  // The planned graph is for people: nothing can follow.
  Status Reinplace() {
    PAL_TRY(Call call, MakeCall(command_, program_));
    PAL_TRY(auto plan, reinplace::Reinplace(graph_, call.signature.inputs,
                                            {.always_copy = command_.options.always_copy,
                                             .keep_order = command_.options.keep_order},
                                            remarks_));
    PAL_TRY(interpret::Trace trace, interpret::InferMeta(graph_, call.signature.inputs));
    PAL_TRY(auto executable, runtime::Lower(graph_, trace, plan));
    last_text_ = ir::Print(runtime::PlannedGraph(graph_, plan, *executable));
    return {};
  }

  void PrintAfter(const std::string& name, bool unchanged) {
    bool wanted = command_.print_after_all ||
                  std::find(command_.print_after.begin(), command_.print_after.end(), name) !=
                      command_.print_after.end();
    if (!wanted || command_.json) return;
    fmt::print("# after {}{}\n", name, unchanged ? ": unchanged" : "");
    if (!unchanged) fmt::print("{}\n", last_text_);
  }

  const CommandLine& command_;
  const Program& program_;
  ir::Graph graph_;
  std::string last_text_;
  std::vector<passes::PassRun> runs_;
  RemarkSink remarks_;
};

void PrintJson(const Pipeline& pipeline) {
  report::JsonText json;
  json.BeginObject().Key("schema").Text("palimpsest.opt/1").Key("passes").BeginList();
  for (const passes::PassRun& run : pipeline.runs()) {
    json.BeginObject().Key("name").Text(run.name).Key("milliseconds").Number(run.ms);
    json.Key("changes").Number(int64_t{run.changes}).EndObject();
  }
  json.EndList().Key("graph").Text(pipeline.last_text()).EndObject();
  fmt::print("{}\n", json.Take());
}

}  // namespace

Result<int> Opt(const CommandLine& command, const Model& model) {
  Pipeline pipeline(command, model.program);
  PAL_TRY(pipeline.RunAll());
  for (const Remark& remark : pipeline.remarks().remarks()) {
    fmt::print(stderr, "remark: {}: {}: {}\n", remark.pass, remark.kind, remark.text);
  }
  if (command.json) {
    PrintJson(pipeline);
  } else if (!command.print_after_all) {
    fmt::print("{}", pipeline.last_text());
  }
  return 0;
}

}  // namespace palimpsest::tools
