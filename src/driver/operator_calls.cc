#include "driver/operator_calls.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "op/pytorch_names.h"

namespace palimpsest::driver {
namespace {

// What can be done about a target.
enum class Remedy : uint8_t { kNone, kLibrary, kKernel };

Remedy RemedyOf(const std::string& target) {
  if (op::IsPyTorchOperator(target)) return Remedy::kKernel;
  const bool is_custom = target.starts_with("torch.ops.") &&
                         !target.starts_with("torch.ops.aten.") &&
                         !target.starts_with("torch.ops.higher_order.");
  return is_custom ? Remedy::kLibrary : Remedy::kNone;
}

bool IsUnknown(const OperatorCall& call) {
  if (call.op != nullptr) return false;
  // Those that we lack are told where they run: a program may be functionalized without them.
  return !call.target->starts_with("torch.ops.higher_order.") ||
         !op::IsPyTorchOperator(*call.target);
}

}  // namespace

std::vector<OperatorCall> OperatorCalls(const ir::Graph& graph) {
  std::vector<OperatorCall> calls;
  std::vector<const ir::Graph*> todo = {&graph};
  while (!todo.empty()) {
    const ir::Graph& g = *todo.back();
    todo.pop_back();
    for (const auto& region : g.subgraphs) todo.push_back(region.get());
    for (const ir::Node& node : g.nodes) {
      if (node.kind != ir::Node::Kind::kCall) continue;
      calls.push_back({node.op, &node.target, &node, &g});
      for (const ir::Argument& arg : node.args) {
        if (!arg.Is<ir::OpRef>()) continue;
        const ir::OpRef& wrapped = arg.As<ir::OpRef>();
        calls.push_back({wrapped.op, &wrapped.target, &node, &g});
      }
    }
  }
  return calls;
}

Status RefuseUnknownOperators(const ir::Graph& graph) {
  struct Unknown {
    int count = 0;
    std::string place;  // of the first call
  };
  std::map<std::string, Unknown> unknown;
  for (const OperatorCall& call : OperatorCalls(graph)) {
    if (!IsUnknown(call)) continue;
    Unknown& u = unknown[*call.target];
    if (u.count++ == 0) u.place = call.graph->PlaceOf(*call.node);
  }
  if (unknown.empty()) return {};
  std::string text =
      fmt::format("{} unknown operator{}:", unknown.size(), unknown.size() == 1 ? "" : "s");
  bool wants[3] = {};
  for (const auto& [target, u] : unknown) {
    text += fmt::format(" {} ({} call{}{})", target, u.count, u.count == 1 ? "" : "s",
                        u.place.empty() ? "" : ", first at " + u.place);
    wants[static_cast<size_t>(RemedyOf(target))] = true;
  }
  const bool no_such = wants[static_cast<size_t>(Remedy::kNone)];
  const bool library = wants[static_cast<size_t>(Remedy::kLibrary)];
  if (no_such) text += "; PyTorch has no operator of that name";
  if (library) {
    text +=
        "; load the library that defines them with --ops LIB (Operators::LoadLibrary), or declare "
        "them with '# schema:' lines";
  }
  if (wants[static_cast<size_t>(Remedy::kKernel)]) {
    text += "; palimpsest has no kernel for these operators of PyTorch yet";
  }
  const ErrorKind kind = no_such || library ? ErrorKind::kUnknownOperator : ErrorKind::kUnsupported;
  return Error{kind, "", text, unknown.begin()->second.place};
}

}  // namespace palimpsest::driver
