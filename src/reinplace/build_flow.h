// BuildFlow: a functional ir::Graph under a call signature -> FlowGraph.
#pragma once

#include <span>

#include "ir/graph.h"
#include "palimpsest/result.h"
#include "palimpsest/value.h"
#include "reinplace/flow.h"

namespace palimpsest::reinplace {

struct BuildFlowOptions {
  // Note the contents of whole bases before and after each write: for the purely functional plan.
  bool whole_bases = false;
};

// REQUIRES: phase kFunctional or kOptimized. At most one FlowNode per node of the graph.
Result<FlowGraph> BuildFlow(const ir::Graph& graph, std::span<const Value> inputs,
                            const BuildFlowOptions& options);

}  // namespace palimpsest::reinplace
