#include "reinplace/reinplace.h"

#include <fmt/format.h>

#include <memory>

#include "reinplace/base_report.h"
#include "reinplace/build_flow.h"
#include "reinplace/checker_replay.h"
#include "reinplace/plan_flow.h"

namespace palimpsest::reinplace {

Result<BufferPlan> PlanFlow(const FlowGraph& flow, const ReinplaceOptions& options) {
  using Strategy = bool (Planner::*)();
  std::vector<Strategy> strategies = {&Planner::RunInOrder, &Planner::RunAsWritten};
  if (!options.keep_order) {
    strategies = {&Planner::RunInOrder, &Planner::RunReordered, &Planner::RunAsWritten};
  }
  if (options.always_copy) strategies = {&Planner::RunFunctional};
  std::unique_ptr<Planner> best;
  for (Strategy strategy : strategies) {
    auto planner = std::make_unique<Planner>(flow);
    if (!((*planner).*strategy)()) continue;
    if (!best || planner->cost() < best->cost()) best = std::move(planner);
    if (best->cost() == 0) break;
  }
  if (!best) return InternalError("the planner found no plan");
  int64_t lower_bound = 0;
  if (best->cost() > 0 && !options.keep_order && !options.always_copy) {
    auto planner = std::make_unique<Planner>(flow);
    const SearchResult search = planner->RunSearched(best->cost());
    lower_bound = search.lower_bound;
    if (search.found) best = std::move(planner);
  }
  BufferPlan plan = LowerPlan(*best);
  plan.lower_bound = lower_bound;
  plan.program_copied_bytes = flow.program_copied_bytes;
  return plan;
}

Result<BufferPlan> Reinplace(const ir::Graph& graph, std::span<const Value> inputs,
                             const ReinplaceOptions& options, RemarkSink& remarks) {
  BuildFlowOptions build;
  build.whole_bases = options.always_copy;
  PAL_TRY(FlowGraph flow, BuildFlow(graph, inputs, build));
  PAL_TRY(BufferPlan plan, PlanFlow(flow, options));
  PAL_TRY(CheckedPlan checked, CheckFlowPlan(flow, plan));
  if (checked.copied_bytes != plan.copied_bytes) {
    return InternalError(fmt::format("the planner counts {} copied bytes, the checker {}",
                                     plan.copied_bytes, checked.copied_bytes));
  }
  (void)remarks;
  DescribeBases(graph, flow, plan);
  return plan;
}

}  // namespace palimpsest::reinplace
