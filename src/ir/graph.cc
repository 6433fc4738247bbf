#include "ir/graph.h"

#include <fmt/format.h>

#include "base/check.h"

namespace palimpsest::ir {
namespace {

// New index of each node, -1 for removed ones.
std::vector<int32_t> NewIndices(const std::vector<bool>& keep) {
  std::vector<int32_t> indices;
  indices.reserve(keep.size());
  int32_t next = 0;
  for (bool kept : keep) indices.push_back(kept ? next++ : -1);
  return indices;
}

// The specs of removed inputs go with them.
void CompactInputSpecs(Graph& graph, const std::vector<bool>& keep) {
  std::vector<InputSpec> specs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (keep[i]) specs.push_back(std::move(graph.inputs[i]));
  }
  graph.inputs = std::move(specs);
}

void CompactSignature(Graph& graph, const std::vector<int32_t>& indices) {
  auto moved = [&](NodeId id) { return NodeId(indices[static_cast<size_t>(id.index)]); };
  std::erase_if(graph.order, [&](const OrderEdge& e) {
    return !moved(e.before).valid() || !moved(e.after).valid();
  });
  for (OrderEdge& e : graph.order) e = {moved(e.before), moved(e.after)};
  for (WriteBack& w : graph.write_backs) {
    w = {moved(w.input), moved(w.value)};
    PAL_CHECK(w.input.valid() && w.value.valid(), "a write-back names a removed node");
  }
  for (StorageGroup& group : graph.storages) {
    std::erase_if(group.members,
                  [&](const StorageGroup::Member& m) { return !moved(m.input).valid(); });
    for (StorageGroup::Member& m : group.members) m.input = moved(m.input);
  }
  std::erase_if(graph.storages, [](const StorageGroup& g) { return g.members.empty(); });
  std::map<NodeId, std::string> places;
  for (auto& [id, place] : graph.place_of) {
    if (moved(id).valid()) places.emplace(moved(id), std::move(place));
  }
  graph.place_of = std::move(places);
}

}  // namespace

Argument Argument::FromValue(const Value& value) {
  if (value.Is<bool>()) return Argument(value.As<bool>());
  if (value.Is<int64_t>()) return Argument(value.As<int64_t>());
  if (value.Is<double>()) return Argument(value.As<double>());
  if (value.Is<std::complex<double>>()) return Argument(value.As<std::complex<double>>());
  if (value.Is<std::string>()) return Argument(value.As<std::string>());
  if (value.Is<DType>()) return Argument(value.As<DType>());
  if (value.Is<MemoryFormat>()) return Argument(value.As<MemoryFormat>());
  if (value.Is<LayoutKind>()) return Argument(value.As<LayoutKind>());
  if (value.Is<Device>()) return Argument(value.As<Device>());
  PAL_CHECK(!value.IsTensor(), "a tensor is no constant");
  if (!value.IsList()) return Argument();
  List items;
  for (const Value& item : value.list()) items.push_back(FromValue(item));
  return Argument(std::move(items));
}

std::string SourcePlace::ToString() const {
  if (file.empty()) return "";
  std::string text = line > 0 ? fmt::format("{}:{}", file, line) : file;
  if (!function.empty()) text += " in " + function;
  if (!code.empty()) text += ": " + code;
  return text;
}

size_t Graph::num_inputs() const {
  size_t n = 0;
  while (n < nodes.size() && nodes[n].kind == Node::Kind::kInput) ++n;
  return n;
}

bool Graph::IsUsed(const std::string& name) const {
  if (used_names_.contains(name)) return true;
  // "add_3" was given out if "add" has come to 3.
  size_t digits = name.find_last_not_of("0123456789") + 1;
  constexpr size_t kMaxDigits = 9;
  if (digits == name.size() || digits < 2 || name[digits - 1] != '_') return false;
  if (name[digits] == '0' || name.size() - digits > kMaxDigits) return false;
  auto stem = used_names_.find(name.substr(0, digits - 1));
  return stem != used_names_.end() && std::stoi(name.substr(digits)) <= stem->second;
}

std::string Graph::FreshName(const std::string& stem) {
  if (scanned_nodes_ > nodes.size()) scanned_nodes_ = 0;
  for (; scanned_nodes_ < nodes.size(); ++scanned_nodes_) {
    const std::string& name = nodes[scanned_nodes_].name;
    if (!IsUsed(name)) used_names_.emplace(name, 0);
  }
  bool is_new = !IsUsed(stem);
  int& suffix = used_names_[stem];
  if (is_new) return stem;
  while (true) {
    std::string name = fmt::format("{}_{}", stem, ++suffix);
    if (!used_names_.contains(name)) return name;
  }
}

NodeId Graph::Append(Node node) {
  if (node.name.empty()) {
    std::string stem = "value";
    if (node.kind == Node::Kind::kGetItem) stem = "getitem";
    if (node.kind == Node::Kind::kCall) {
      // "torch.ops.aten.add.Tensor" and "_operator.add" both give "add".
      std::string key = op::KeyOfTarget(node.target);
      size_t begin = key.rfind("::");
      stem = key.substr(begin == std::string::npos ? 0 : begin + 2);
      stem = stem.substr(0, stem.find('.'));
    }
    node.name = FreshName(stem.empty() ? "value" : stem);
  }
  nodes.push_back(std::move(node));
  return NodeId(static_cast<int64_t>(nodes.size()) - 1);
}

std::string_view PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kProgram:
      return "program";
    case Phase::kFunctional:
      return "functional";
    case Phase::kOptimized:
      return "optimized";
    case Phase::kPlanned:
      return "planned";
  }
  return "";
}

std::string Graph::PlaceOf(const Node& node) const {
  if (node.place >= 0 && static_cast<size_t>(node.place) < places.size()) {
    return places[static_cast<size_t>(node.place)].ToString();
  }
  if (node.text_line <= 0) return "";
  return fmt::format("{}:{}", file.empty() ? "line" : file, node.text_line);
}

void Compact(Graph& graph, const std::vector<bool>& keep) {
  PAL_CHECK(keep.size() == graph.nodes.size(), "one flag per node");
  std::vector<int32_t> indices = NewIndices(keep);
  CompactInputSpecs(graph, keep);
  CompactSignature(graph, indices);
  auto renumber = [&](NodeId& id) {
    int32_t index = indices[static_cast<size_t>(id.index)];
    PAL_CHECK(index >= 0, "a kept node names the removed node {}", graph.node(id).name);
    id.index = index;
  };
  for (Argument& output : graph.outputs) ForEachNodeMutable(output, renumber);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!keep[i]) continue;
    for (Argument& arg : graph.nodes[i].args) ForEachNodeMutable(arg, renumber);
    for (NamedArgument& arg : graph.nodes[i].kwargs) ForEachNodeMutable(arg.value, renumber);
  }
  std::vector<Node> nodes;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (keep[i]) nodes.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(nodes);
  graph.scanned_nodes_ = 0;
}

}  // namespace palimpsest::ir
