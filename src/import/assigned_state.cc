#include "import/assigned_state.h"

#include <string_view>

namespace palimpsest::importing {
namespace {

// "copy__default", "copy__default_1", ...
bool IsExportersName(std::string_view name) {
  constexpr std::string_view kStem = "copy__default";
  if (!name.starts_with(kStem)) return false;
  std::string_view tail = name.substr(kStem.size());
  return tail.empty() || (tail[0] == '_' && tail.size() > 1 &&
                          tail.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

bool IsAssignment(const ir::Graph& graph, const ir::Node& node) {
  if (node.kind != ir::Node::Kind::kCall || node.target != "torch.ops.aten.copy_.default" ||
      !IsExportersName(node.name) || node.args.size() < 2 || !node.args[0].IsNode() ||
      !node.args[1].IsNode()) {
    return false;
  }
  auto target = static_cast<size_t>(node.args[0].node().index);
  return target < graph.inputs.size() && graph.inputs[target].kind != ir::InputSpec::Kind::kUser &&
         graph.inputs[target].kind != ir::InputSpec::Kind::kConstant;
}

bool SameLayout(const ir::Type& a, const ir::Type& b) {
  return a.kind == ir::Type::Kind::kTensor && b.kind == ir::Type::Kind::kTensor &&
         a.tensor.dtype == b.tensor.dtype && a.tensor.sizes == b.tensor.sizes &&
         a.tensor.strides.has_value() && a.tensor.strides == b.tensor.strides;
}

}  // namespace

void ReturnAssignedState(ir::Graph& graph) {
  // Only the copies at the very end: nothing may write in between.
  for (size_t i = graph.nodes.size(); i-- > 0 && IsAssignment(graph, graph.nodes[i]);) {
    const ir::Node& copy = graph.nodes[i];
    ir::NodeId buffer = copy.args[0].node(), value = copy.args[1].node();
    if (!SameLayout(graph.node(buffer).type, graph.node(value).type)) continue;
    for (ir::Argument& output : graph.outputs) {
      if (output.IsNode() && output.node() == value) {
        output = ir::NodeId(static_cast<int64_t>(i));
      }
    }
  }
}

}  // namespace palimpsest::importing
