// PlannedGraph: the optimized graph with its places, for people and for golden tests.

#include <fmt/format.h>

#include <map>

#include "runtime/executable.h"

namespace palimpsest::runtime {
namespace {

using reinplace::Buffer;
using reinplace::ComputeStep;
using reinplace::Place;

// Name of the first input that shows each storage.
std::vector<std::string> StorageNames(const ir::Graph& graph, const reinplace::BufferPlan& plan) {
  std::vector<std::string> names;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.kind != Buffer::Kind::kInput) continue;
    size_t k = static_cast<size_t>(buffer.storage);
    if (names.size() <= k) names.resize(k + 1);
    names[k] = buffer.input.valid() ? graph.node(buffer.input).name : fmt::format("storage {}", k);
  }
  return names;
}

std::string Describe(const Place& place, const Executable& executable,
                     const std::vector<std::string>& names) {
  const BufferSlot& slot = executable.buffers[static_cast<size_t>(place.buffer.index)];
  int64_t offset = place.view.offset * place.view.item_size();
  std::string plus = offset == 0 ? "" : fmt::format("+{}", offset);
  switch (slot.kind) {
    case Buffer::Kind::kTemp:
      return fmt::format("arena+{}", slot.arena_offset + offset);
    case Buffer::Kind::kOutput:
      return "fresh" + plus;
    case Buffer::Kind::kInput:
      return "in " + names[static_cast<size_t>(slot.storage)] + plus;
  }
  return "";
}

}  // namespace

ir::Graph PlannedGraph(const ir::Graph& graph, const reinplace::BufferPlan& plan,
                       const Executable& executable) {
  ir::Graph planned = graph;
  planned.phase = ir::Phase::kPlanned;
  std::vector<std::string> names = StorageNames(graph, plan);
  std::map<int, ir::NodeId> node_of_step;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const auto* compute = std::get_if<ComputeStep>(&plan.steps[i].what);
    if (compute == nullptr) continue;
    node_of_step[static_cast<int>(i)] = compute->node;
    // A node without fresh results (a custom operator) lies where what it writes lies.
    const std::vector<Place>& places =
        compute->results.empty() ? compute->operands : compute->results;
    if (!places.empty()) planned.place_of[compute->node] = Describe(places[0], executable, names);
    for (int before : plan.steps[i].after) {
      auto it = node_of_step.find(before);
      if (it != node_of_step.end()) planned.order.push_back({it->second, compute->node});
    }
  }
  return planned;
}

}  // namespace palimpsest::runtime
