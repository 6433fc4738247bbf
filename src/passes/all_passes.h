// The passes by name, and the one runner: phase check, verifier before and after, timer, hooks.
//
//   PAL_TRY(auto runs, RunPasses(graph, OptimizationPasses(), {.disabled = {"dead-code"}},
//   remarks));
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/remark.h"
#include "ir/graph.h"
#include "palimpsest/result.h"

namespace palimpsest::passes {

struct Pass {
  const char* name;                             // "dead-code", as in --passes and --disable-pass
  const char* summary;                          // one line
  Result<int> (*run)(ir::Graph&, RemarkSink&);  // returns the number of changes
  ir::Phase first, last;                        // the phases it takes
  bool optional;                                // may be disabled
};

// Program -> program: forms that the rest of the compiler does not know are rewritten.
std::span<const Pass> PreparationPasses();
// Functional -> optimized graph.
std::span<const Pass> OptimizationPasses();
// All of them.
std::vector<Pass> AllPasses();
const Pass* FindPass(std::string_view name);

struct PassRun {
  std::string name;
  double ms = 0;
  int changes = 0;  // 0: the graph is unchanged
  bool disabled = false;
};
struct RunOptions {
  std::vector<std::string> disabled = {};
  // Called after each pass with the graph as it left it: --print-after.
  std::function<void(const PassRun&, const ir::Graph&)> after = {};
};
// Errors: kUsage if `disabled` names a pass that does not exist or may not be disabled; kInternal
// if the graph does not verify before or after a pass, with the pass's name.
Result<std::vector<PassRun>> RunPasses(ir::Graph& graph, std::span<const Pass> passes,
                                       const RunOptions& options, RemarkSink& remarks);

}  // namespace palimpsest::passes
