#include "passes/all_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "ir/verify.h"
#include "passes/dead_code.h"
#include "passes/expand_composites.h"

namespace palimpsest::passes {
namespace {

constexpr Pass kPreparation[] = {
    {"expand-composites", "functional forms with a hidden copy become a copy, a view and a write",
     ExpandComposites, ir::Phase::kProgram, ir::Phase::kFunctional, /*optional=*/false},
};
constexpr Pass kOptimization[] = {
    {"dead-code", "removes what nobody wants", RemoveDeadCode, ir::Phase::kFunctional,
     ir::Phase::kOptimized, /*optional=*/true},
};

Status VerifyAround(const ir::Graph& graph, const Pass& pass, const char* when) {
  Status status = ir::Verify(graph);
  if (status.ok()) return {};
  return InternalError(
      fmt::format("the graph is broken {} pass {}: {}", when, pass.name, status.error().message));
}

Status CheckDisabled(const RunOptions& options) {
  for (const std::string& name : options.disabled) {
    const Pass* pass = FindPass(name);
    if (pass == nullptr) return UsageError(fmt::format("there is no pass '{}'", name));
    if (!pass->optional) return UsageError(fmt::format("pass '{}' cannot be disabled", name));
  }
  return {};
}

}  // namespace

std::span<const Pass> PreparationPasses() { return kPreparation; }
std::span<const Pass> OptimizationPasses() { return kOptimization; }

std::vector<Pass> AllPasses() {
  std::vector<Pass> all(std::begin(kPreparation), std::end(kPreparation));
  all.insert(all.end(), std::begin(kOptimization), std::end(kOptimization));
  return all;
}

const Pass* FindPass(std::string_view name) {
  for (std::span<const Pass> table : {PreparationPasses(), OptimizationPasses()}) {
    for (const Pass& pass : table) {
      if (name == pass.name) return &pass;
    }
  }
  return nullptr;
}

Result<std::vector<PassRun>> RunPasses(ir::Graph& graph, std::span<const Pass> passes,
                                       const RunOptions& options, RemarkSink& remarks) {
  PAL_TRY(CheckDisabled(options));
  std::vector<PassRun> runs;
  for (const Pass& pass : passes) {
    PassRun run{pass.name, 0, 0, false};
    if (graph.phase < pass.first || graph.phase > pass.last) {
      return UsageError(
          fmt::format("pass '{}' works on graphs of the phase '{}', this one is of '{}'", pass.name,
                      ir::PhaseName(pass.first), ir::PhaseName(graph.phase)));
    }
    const auto& disabled = options.disabled;
    run.disabled = std::find(disabled.begin(), disabled.end(), pass.name) != disabled.end();
    if (!run.disabled) {
      PAL_TRY(VerifyAround(graph, pass, "before"));
      auto start = std::chrono::steady_clock::now();
      PAL_TRY(run.changes, pass.run(graph, remarks));
      std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
      run.ms = spent.count();
      PAL_TRY(VerifyAround(graph, pass, "after"));
    }
    if (options.after) options.after(run, graph);
    runs.push_back(std::move(run));
  }
  if (graph.phase == ir::Phase::kFunctional && passes.data() == OptimizationPasses().data()) {
    graph.phase = ir::Phase::kOptimized;
  }
  return runs;
}

}  // namespace palimpsest::passes
