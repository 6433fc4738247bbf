// Note [Coarse bases]
//
// Contents are followed run by run. A copy that would cut a base into more than kMaxRuns runs (an
// element-wise transpose of something large) is not followed: it becomes a node that costs its
// bytes, and its result gets numbers of its own. A view with too many intervals stands for its
// whole extent, which is sound: more is read, and what is written in place keeps the bytes between
// its elements.

#include "reinplace/flow.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "core/overlap.h"

namespace palimpsest::reinplace {
namespace {

constexpr int kAround = 4;          // neighbours remembered on each side of a scattered value
constexpr size_t kMaxAliases = 32;  // per class

int Root(std::vector<int>& parent, int i) {
  while (parent[static_cast<size_t>(i)] != i) {
    int& up = parent[static_cast<size_t>(i)];
    up = parent[static_cast<size_t>(up)];
    i = up;
  }
  return i;
}

// Equal for two tensors exactly if they hold the same numbers in the same relative geometry.
std::vector<int64_t> ContentKey(const View& view, const Content& content) {
  std::vector<int64_t> key = {static_cast<int64_t>(view.dtype), static_cast<int64_t>(view.dim())};
  for (size_t k = 0; k < view.dim(); ++k) {
    key.push_back(view.sizes[k]);
    key.push_back(view.sizes[k] > 1 ? view.strides[k] : 0);
  }
  for (const Piece& p : content.pieces) {
    key.insert(key.end(), {p.address, p.bytes, p.number});
  }
  return key;
}

// A set of numbers as disjoint ranges.
class NumberSet {
 public:
  void Add(int64_t begin, int64_t end) {
    auto it = ranges_.upper_bound(begin);
    if (it != ranges_.begin() && std::prev(it)->second >= begin) {
      --it;
      begin = it->first;
      end = std::max(end, it->second);
      it = ranges_.erase(it);
    }
    while (it != ranges_.end() && it->first <= end) {
      end = std::max(end, it->second);
      it = ranges_.erase(it);
    }
    ranges_.emplace_hint(it, begin, end);
  }
  void Add(const Content& content) {
    for (const Piece& p : content.pieces) Add(p.number, p.number + p.bytes);
  }
  bool Meets(int64_t begin, int64_t end) const {
    auto it = ranges_.lower_bound(end);
    return it != ranges_.begin() && std::prev(it)->second > begin;
  }

 private:
  std::map<int64_t, int64_t> ranges_;
};

}  // namespace

Content JoinContents(const std::vector<std::pair<int64_t, const Content*>>& parts, int64_t* low) {
  Content joined;
  if (parts.empty()) return joined;
  *low = parts[0].first;
  int64_t high = 0;
  RunMap map;
  for (const auto& [at, content] : parts) {
    *low = std::min(*low, at);
    high = std::max(high, at + content->extent);
    for (const Piece& p : content->pieces) map.Assign(at + p.address, p.bytes, p.number);
  }
  joined.extent = high - *low;
  map.ForEach(*low, joined.extent, [&](const Piece& p) {
    joined.pieces.push_back({p.address - *low, p.bytes, p.number});
  });
  return joined;
}

int FlowBuilder::AddFresh(int64_t bytes, const std::string& name) {
  Family family;
  family.bytes = bytes;
  family.name = name;
  graph_.families.push_back(family);
  family_parent_.push_back(static_cast<int>(family_parent_.size()));
  versions_.push_back({family_parent_.back(), bytes, {}});
  return static_cast<int>(versions_.size()) - 1;
}

int FlowBuilder::AddInput(int64_t bytes, bool written, const std::string& name) {
  const int version = AddFresh(bytes, name);
  FlowInput input;
  input.bytes = bytes;
  input.family = At(version).family;
  input.written = written;
  graph_.families.back().storage = static_cast<int>(graph_.inputs.size());
  input.first.extent = bytes;
  if (bytes > 0) input.first.pieces = {{0, bytes, graph_.numbers}};
  At(version).runs.Assign(0, bytes, graph_.numbers);
  graph_.numbers += bytes + 1;  // a gap: two results are never one run
  graph_.inputs.push_back(std::move(input));
  return version;
}

int FlowBuilder::NextVersion(int version, bool last_use) {
  Version next = {At(version).family, At(version).bytes, {}};
  if (last_use) {
    next.runs = std::move(At(version).runs);
  } else {
    next.runs = At(version).runs;
  }
  versions_.push_back(std::move(next));
  return static_cast<int>(versions_.size()) - 1;
}

int FlowBuilder::Window(int version) {
  versions_.push_back({At(version).family, At(version).bytes, {}});
  return static_cast<int>(versions_.size()) - 1;
}

int FlowBuilder::FamilyRoot(int family) { return Root(family_parent_, family); }
int FlowBuilder::ClassRoot(int content) { return Root(class_parent_, content); }

void FlowBuilder::SameFamily(int version, int other) {
  int a = FamilyRoot(At(version).family), b = FamilyRoot(At(other).family);
  if (a == b || At(version).bytes != At(other).bytes) return;
  if (b < a) std::swap(a, b);
  // Two inputs are two storages whatever the program says.
  if (graph_.families[static_cast<size_t>(b)].storage >= 0) return;
  family_parent_[static_cast<size_t>(b)] = a;
}

int64_t FlowBuilder::bytes_of(int version) const {
  return versions_[static_cast<size_t>(version)].bytes;
}

Content FlowBuilder::Read(int version, const View& view) {
  Content content;
  const Interval extent = ExtentOf(view);
  content.extent = extent.end - extent.begin;
  const RunMap& runs = At(version).runs;
  for (const Interval& i : IntervalsOrExtent(view)) {
    runs.ForEach(i.begin, i.end - i.begin, [&](Piece p) {
      p.address -= extent.begin;
      if (!content.pieces.empty()) {
        Piece& last = content.pieces.back();
        if (last.address + last.bytes == p.address && last.number + last.bytes == p.number) {
          last.bytes += p.bytes;
          return;
        }
      }
      content.pieces.push_back(p);
    });
  }
  return content;
}

int FlowBuilder::Note(int version, const View& view, Alias::Put put) {
  Content content = Read(version, view);
  auto [it, added] =
      content_ids_.try_emplace(ContentKey(view, content), static_cast<int>(graph_.contents.size()));
  const int id = it->second;
  if (added) {
    graph_.contents.push_back(std::move(content));
    class_parent_.push_back(id);
    content_aliases_.emplace_back();
  }
  if (graph_.content(id).pieces.empty()) return id;
  std::vector<Alias>& aliases = content_aliases_[static_cast<size_t>(id)];
  const int family = At(version).family;
  for (Alias& a : aliases) {
    if (a.family == family && a.view == view) {
      a.put = std::max(a.put, put);
      return id;
    }
  }
  if (aliases.size() >= kMaxAliases) return id;
  Alias alias{family, view, id, put, {}};
  const Interval extent = ExtentOf(view);
  const RunMap& runs = At(version).runs;
  auto add = [&](Piece p) {
    p.address -= extent.begin;
    alias.around.push_back(p);
  };
  for (const Piece& p : runs.Before(extent.begin, kAround)) add(p);
  for (const Piece& p : runs.After(extent.end, kAround)) add(p);
  const std::vector<Interval> own = IntervalsOrExtent(view);
  for (size_t i = 0; i + 1 < own.size() && i < kAround; ++i) {
    runs.ForEach(own[i].end, own[i + 1].begin - own[i].end, add);
  }
  aliases.push_back(std::move(alias));
  return id;
}

bool FlowBuilder::HandOn(int source, const View& from, int destination, const View& to) {
  std::optional<std::vector<Chunk>> chunks = CopyChunks(from, to);
  if (!chunks) return false;
  // Reads first: source and destination may be one version.
  std::vector<Piece> moved;
  for (const Chunk& c : *chunks) {
    At(source).runs.ForEach(c.source, c.bytes, [&](Piece p) {
      p.address += c.destination - c.source;
      moved.push_back(p);
    });
  }
  if (static_cast<int64_t>(moved.size() + At(destination).runs.size()) > 2 * kMaxRuns) return false;
  for (const Chunk& c : *chunks) At(destination).runs.Erase(c.destination, c.bytes);
  for (const Piece& p : moved) At(destination).runs.Assign(p.address, p.bytes, p.number);
  return true;
}

void FlowBuilder::SameTensor(int source, const View& from, int destination, const View& to,
                             Alias::Put put) {
  const int a = Note(source, from), b = Note(destination, to, put);
  if (graph_.content(a).pieces.empty() || graph_.content(b).pieces.empty()) return;
  // Where elements of `to` lie on each other, the last one is all that is left of them.
  if (OverlapsItself(to) && !SameElements({from.dtype, from.sizes, from.strides, 0},
                                          {to.dtype, to.sizes, to.strides, 0})) {
    return;
  }
  class_parent_[static_cast<size_t>(ClassRoot(b))] = ClassRoot(a);
}

void FlowBuilder::HeldHere(int version, const View& view, FlowEvent::For only) {
  FlowEvent event;
  event.family = At(version).family;
  event.view = view;
  event.content = Note(version, view);
  event.only = only;
  graph_.events.push_back(std::move(event));
}

FlowNode& FlowBuilder::BeginNode(ir::NodeId node) {
  graph_.nodes.emplace_back();
  graph_.nodes.back().node = node;
  graph_.nodes.back().first_number = graph_.numbers;
  operand_versions_.clear();
  return graph_.nodes.back();
}

void FlowBuilder::AddOperand(int version, const View& view, bool read, bool written, int base) {
  FlowOperand operand;
  operand.view = view;
  operand.content = Note(version, view);
  operand.read = read;
  operand.written = written;
  operand.base = base;
  graph_.nodes.back().operands.push_back(std::move(operand));
  operand_versions_.push_back(version);
}

// Connected components of "meets in memory, and one of the two is written".
void FlowBuilder::FormGroups(FlowNode& node) {
  const size_t n = node.operands.size();
  std::vector<int> component(n);
  std::iota(component.begin(), component.end(), 0);
  for (size_t i = 0; i < n; ++i) {
    const FlowOperand& a = node.operands[i];
    if (a.base < 0) continue;
    for (size_t j = i + 1; j < n; ++j) {
      const FlowOperand& b = node.operands[j];
      if (a.base != b.base || !(a.written || b.written) || !MayOverlap(a.view, b.view)) continue;
      component[static_cast<size_t>(Root(component, static_cast<int>(j)))] =
          Root(component, static_cast<int>(i));
    }
  }
  std::map<int, std::vector<int>> members;
  for (size_t i = 0; i < n; ++i) {
    members[Root(component, static_cast<int>(i))].push_back(static_cast<int>(i));
  }
  for (const auto& [root, group] : members) {
    FlowGroup g;
    std::vector<std::pair<int64_t, const Content*>> parts;
    bool written = false;
    for (int k : group) {
      const FlowOperand& o = node.operands[static_cast<size_t>(k)];
      written = written || (o.written && o.view.numel() > 0);
      if (o.view.numel() > 0) {
        parts.emplace_back(ExtentOf(o.view).begin, &graph_.content(o.content));
      }
    }
    if (!written) continue;
    for (int k : group)
      node.operands[static_cast<size_t>(k)].group = static_cast<int>(node.groups.size());
    g.operands = group;
    g.before = JoinContents(parts, &g.low);
    g.family = At(operand_versions_[static_cast<size_t>(group[0])]).family;
    node.groups.push_back(std::move(g));
  }
}

void FlowBuilder::EndOperands(const std::vector<int>& next) {
  FlowNode& node = graph_.nodes.back();
  FormGroups(node);
  for (size_t k = 0; k < node.operands.size(); ++k) {
    if (node.operands[k].written) node.written.push_back(k);
  }
  // New numbers per base, for the union of all that is written on it.
  for (size_t base = 0; base < next.size(); ++base) {
    std::vector<Interval> written;
    for (const FlowOperand& o : node.operands) {
      if (!o.written || o.base != static_cast<int>(base)) continue;
      const std::vector<Interval> more = IntervalsOrExtent(o.view);
      written.insert(written.end(), more.begin(), more.end());
    }
    for (const Interval& i : written) {
      // Where two written operands meet, the later numbers stand for what both left there.
      At(next[base]).runs.Assign(i.begin, i.end - i.begin, graph_.numbers);
      graph_.numbers += i.end - i.begin;
    }
    if (!written.empty()) ++graph_.numbers;
    for (FlowOperand& o : node.operands) {
      if (o.base == static_cast<int>(base) && (o.written || o.group >= 0)) {
        o.after = Note(next[base], o.view);
      }
    }
  }
}

int FlowBuilder::AddResult(const View& view, int64_t bytes, bool uninitialized) {
  const int version = AddFresh(bytes);
  MadeBy(version, graph_.nodes.back().node);
  if (!uninitialized) {
    const Interval extent = ExtentOf(view);
    for (const Interval& i : IntervalsOrExtent(view)) {
      At(version).runs.Assign(i.begin, i.end - i.begin, graph_.numbers + i.begin - extent.begin);
    }
    graph_.numbers += extent.end - extent.begin + 1;
  }
  FlowNode& node = graph_.nodes.back();
  node.results.push_back({view, Note(version, view), At(version).family});
  return version;
}

void FlowBuilder::EndNode() {
  FlowNode& node = graph_.nodes.back();
  node.end_number = graph_.numbers;
  FlowEvent event;
  event.node = static_cast<int>(graph_.nodes.size()) - 1;
  graph_.events.push_back(std::move(event));
}

void FlowBuilder::AddOutput(int output, int version, const View& view) {
  auto [it, added] =
      output_of_version_.try_emplace(version, static_cast<int>(graph_.outputs.size()));
  if (added) {
    graph_.outputs.emplace_back();
    graph_.outputs.back().family = At(version).family;
  }
  FlowOutput o{output, view, Note(version, view)};
  graph_.outputs[static_cast<size_t>(it->second)].outputs.push_back(std::move(o));
}

void FlowBuilder::SetFinal(int input_storage, int version) {
  final_of_input_[input_storage] = version;
  FlowInput& input = graph_.inputs[static_cast<size_t>(input_storage)];
  input.written = true;
  const int own = FamilyRoot(input.family), other = FamilyRoot(At(version).family);
  if (own != other && graph_.families[static_cast<size_t>(other)].storage < 0 &&
      At(version).bytes == input.bytes) {
    family_parent_[static_cast<size_t>(other)] = own;
  }
  RunMap& runs = At(version).runs;
  input.last.extent = input.bytes;
  runs.ForEach(0, input.bytes, [&](const Piece& p) { input.last.pieces.push_back(p); });
}

// Back to front: a node lives if somebody wants a number that it makes.
void FlowBuilder::DropDeadNodes() {
  NumberSet wanted;
  for (const FlowOutputStorage& s : graph_.outputs) {
    for (const FlowOutput& o : s.outputs) wanted.Add(graph_.content(o.content));
  }
  for (const FlowInput& i : graph_.inputs) {
    if (i.written) wanted.Add(i.last);
  }
  for (size_t n = graph_.nodes.size(); n-- > 0;) {
    FlowNode& node = graph_.nodes[n];
    const bool made = wanted.Meets(node.first_number, node.end_number);
    node.live = made || node.ordered || node.check_only;
    node.check_only = node.check_only && !made && !node.ordered;
    if (!node.live) continue;
    for (FlowOperand& o : node.operands) {
      const Category category = CategoryOf(o.view.dtype);
      const bool index = category == Category::kInteger || category == Category::kBool;
      o.soft = node.check_only && !node.opaque && (o.group >= 0 || !index);
      if (o.read && !o.soft) wanted.Add(graph_.content(o.content));
    }
  }
}

// Families and classes by their roots; aliases gathered per class.
void FlowBuilder::ResolveNames() {
  auto root = [&](int& family) {
    if (family >= 0) family = FamilyRoot(family);
  };
  for (FlowNode& node : graph_.nodes) {
    for (FlowGroup& g : node.groups) root(g.family);
    for (FlowResult& r : node.results) root(r.family);
  }
  for (FlowInput& i : graph_.inputs) root(i.family);
  for (FlowOutputStorage& o : graph_.outputs) root(o.family);
  for (FlowEvent& e : graph_.events) root(e.family);
  graph_.class_of.resize(graph_.contents.size());
  graph_.aliases.resize(graph_.contents.size());
  for (size_t c = 0; c < graph_.contents.size(); ++c) {
    const int k = ClassRoot(static_cast<int>(c));
    graph_.class_of[c] = k;
    for (Alias& a : content_aliases_[c]) {
      root(a.family);
      std::vector<Alias>& all = graph_.aliases[static_cast<size_t>(k)];
      if (all.size() < kMaxAliases) all.push_back(std::move(a));
    }
  }
}

FlowGraph FlowBuilder::Finish() {
  for (auto& [version, index] : output_of_version_) {
    FlowOutputStorage& s = graph_.outputs[static_cast<size_t>(index)];
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      auto final = final_of_input_.find(static_cast<int>(i));
      const bool in_input = final != final_of_input_.end() ? final->second == version
                                                           : static_cast<size_t>(version) == i;
      if (in_input) s.input_storage = static_cast<int>(i);
    }
    std::vector<std::pair<int64_t, const Content*>> parts;
    for (const FlowOutput& o : s.outputs) {
      if (o.view.numel() > 0) {
        parts.emplace_back(ExtentOf(o.view).begin, &graph_.content(o.content));
      }
    }
    s.whole = JoinContents(parts, &s.low);
  }
  DropDeadNodes();
  ResolveNames();
  return std::move(graph_);
}

}  // namespace palimpsest::reinplace
