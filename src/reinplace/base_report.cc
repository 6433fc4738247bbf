#include "reinplace/base_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <map>
#include <unordered_map>

#include "ir/auto_functionalized.h"

namespace palimpsest::reinplace {
namespace {

constexpr int kNever = INT_MAX;

// One end of a copy: bytes of a buffer.
struct Bytes {
  BufferId buffer;
  Interval interval;
};

struct Touch {
  int step;
  Interval bytes;
  bool write;
};

// Who touches which buffer, in the order of the steps.
class Touches {
 public:
  Touches(const FlowGraph& flow, const BufferPlan& plan) : flow_(flow) {
    for (size_t n = 0; n < flow.nodes.size(); ++n) index_[flow.nodes[n].node.index] = n;
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      if (const auto* copy = std::get_if<CopyStep>(&plan.steps[i].what)) {
        AddCopy(static_cast<int>(i), *copy);
      } else {
        AddCompute(static_cast<int>(i), std::get<ComputeStep>(plan.steps[i].what));
      }
    }
  }

  // The first step after `step` that writes (or reads) some of the bytes; kNever if none does.
  int NextAfter(int step, const Bytes& where, bool write) const {
    auto it = by_buffer_.find(where.buffer.index);
    if (it == by_buffer_.end()) return kNever;
    auto from = std::upper_bound(it->second.begin(), it->second.end(), step,
                                 [](int s, const Touch& t) { return s < t.step; });
    for (; from != it->second.end(); ++from) {
      const bool meets =
          from->bytes.begin < where.interval.end && where.interval.begin < from->bytes.end;
      if (from->write == write && meets) return from->step;
    }
    return kNever;
  }

 private:
  void Add(int step, BufferId buffer, Interval bytes, bool write) {
    if (bytes.begin < bytes.end) by_buffer_[buffer.index].push_back({step, bytes, write});
  }
  void AddPlace(int step, const Place& place, bool write) {
    if (place.view.numel() > 0) Add(step, place.buffer, ExtentOf(place.view), write);
  }
  void AddCopy(int step, const CopyStep& copy) {
    for (const CopyStep::Run& r : copy.runs) {
      const int64_t last = r.count - 1;
      Add(step, r.source,
          {std::min(r.source_offset, r.source_offset + last * r.source_stride),
           std::max(r.source_offset, r.source_offset + last * r.source_stride) + r.bytes},
          false);
      Add(step, r.destination,
          {std::min(r.destination_offset, r.destination_offset + last * r.destination_stride),
           std::max(r.destination_offset, r.destination_offset + last * r.destination_stride) +
               r.bytes},
          true);
    }
  }
  void AddCompute(int step, const ComputeStep& compute) {
    const FlowNode& node = flow_.nodes[index_.at(compute.node.index)];
    for (size_t k = 0; k < node.operands.size() && k < compute.operands.size(); ++k) {
      if (node.operands[k].read) AddPlace(step, compute.operands[k], false);
      if (node.operands[k].written) AddPlace(step, compute.operands[k], true);
    }
    for (const Place& place : compute.results) AddPlace(step, place, true);
  }

  const FlowGraph& flow_;
  std::unordered_map<int32_t, size_t> index_;  // of a graph's node in flow_.nodes
  std::unordered_map<int32_t, std::vector<Touch>> by_buffer_;
};

class Describing {
 public:
  Describing(const ir::Graph& graph, const FlowGraph& flow, BufferPlan& plan)
      : graph_(graph), plan_(plan), touches_(flow, plan) {}

  void Run() {
    for (BaseReport& base : plan_.bases) {
      base.verdict = "in place";
      if (base.node.valid()) base.name = graph_.node(base.node).name;
    }
    std::vector<int> largest(plan_.bases.size(), -1);
    for (size_t i = 0; i < plan_.steps.size(); ++i) Charge(static_cast<int>(i), largest);
    for (size_t b = 0; b < plan_.bases.size(); ++b) {
      if (largest[b] >= 0) Blame(plan_.bases[b], largest[b]);
    }
  }

 private:
  struct Copied {
    int base = -1;
    int64_t bytes = 0;
    std::string_view why;
  };
  Copied CopiedBy(int step) const {
    const Step& s = plan_.steps[static_cast<size_t>(step)];
    if (const auto* copy = std::get_if<CopyStep>(&s.what)) {
      return {copy->base, copy->bytes, copy->why};
    }
    const auto& compute = std::get<ComputeStep>(s.what);
    return {compute.base, compute.copied_bytes, "place"};
  }

  void Charge(int step, std::vector<int>& largest) {
    const Copied copied = CopiedBy(step);
    if (copied.bytes == 0 || copied.base < 0) return;
    BaseReport& base = plan_.bases[static_cast<size_t>(copied.base)];
    if (copied.bytes >= base.bytes) ++plan_.clones;
    const std::string verdict = VerdictOf(copied, base);
    base.verdict = base.copied_bytes == 0 || base.verdict == verdict ? verdict : "copied";
    base.copied_bytes += copied.bytes;
    int& most = largest[static_cast<size_t>(copied.base)];
    if (most < 0 || copied.bytes > CopiedBy(most).bytes) most = step;
  }
  // docs/reinplacing.md: old contents are saved (snapshot); a part is put where the rest lies
  // (patch).
  static std::string VerdictOf(const Copied& copied, const BaseReport& base) {
    if (copied.why == "save") return "snapshot";
    return copied.why == "place" && copied.bytes < base.bytes ? "patched" : "copied";
  }

  void Blame(BaseReport& base, int step) {
    const auto* copy = std::get_if<CopyStep>(&plan_.steps[static_cast<size_t>(step)].what);
    if (copy == nullptr) {
      base.writer = NameOf(step);
      base.writer_at = PlaceOf(step);
      base.why = "its elements are laid out anew";
      return;
    }
    const auto longer = [](const CopyStep::Run& a, const CopyStep::Run& b) {
      return a.bytes * a.count < b.bytes * b.count;
    };
    const CopyStep::Run& run = *std::max_element(copy->runs.begin(), copy->runs.end(), longer);
    const Bytes from{run.source, {run.source_offset, run.source_offset + run.bytes}};
    const Bytes to{run.destination, {run.destination_offset, run.destination_offset + run.bytes}};
    const int from_dies = touches_.NextAfter(step, from, true);
    const int to_dies = touches_.NextAfter(step, to, true);
    const int writer = std::min(from_dies, to_dies);
    const Bytes& kept = from_dies < to_dies ? to : from;
    const int kept_until = std::max(from_dies, to_dies);
    if (writer == kNever) {
      NameLastWriter(base);
      const std::string source = HomeOf(from.buffer);
      if (from.buffer == to.buffer) {
        base.reader = source;
        base.why = fmt::format("elements of {} move to other places in it", source);
      } else {
        base.why = fmt::format("{} and {} must hold the same values in memory of their own", source,
                               HomeOf(to.buffer));
      }
      return;
    }
    base.writer = NameOf(writer);
    base.writer_at = PlaceOf(writer);
    const int reader = touches_.NextAfter(step, kept, false);
    if (reader != kNever && reader <= kept_until) {
      base.reader = NameOf(reader);
      base.reader_at = PlaceOf(reader);
      base.why = fmt::format("{} reads what {} overwrites", base.reader, base.writer);
    } else {
      base.reader = HomeOf(kept.buffer);
      base.why = fmt::format("{} keeps what {} overwrites", base.reader, base.writer);
    }
  }

  // The line that made the contents which an input ends with.
  void NameLastWriter(BaseReport& base) const {
    for (const ir::WriteBack& write : graph_.write_backs) {
      if (write.input != base.node) continue;
      const ir::Node& last = graph_.node(write.value);
      base.writer = fmt::format("the last write of '{}'", base.name);
      base.writer_at = graph_.PlaceOf(last);
    }
  }

  // The node that a step runs, or for which it copies.
  ir::NodeId NodeOf(int step) const {
    const Step& s = plan_.steps[static_cast<size_t>(step)];
    if (const auto* copy = std::get_if<CopyStep>(&s.what)) return copy->node;
    return std::get<ComputeStep>(s.what).node;
  }
  // The user knows a custom operator by its own name.
  std::string NameOf(int step) const {
    const ir::NodeId id = NodeOf(step);
    if (!id.valid()) return WriteBackOf(step);
    const ir::Node& node = graph_.node(id);
    if (ir::AutoFunctionalizedVersion(node) != 0) {
      Result<ir::FunctionalizedCall> call = ir::DecodeFunctionalized(graph_, node);
      if (call.ok()) return call->op->schema.Key();
    }
    return node.name;
  }
  // A copy at the end of the call.
  std::string WriteBackOf(int step) const {
    const int base = CopiedBy(step).base;
    return base < 0
               ? "the end of the call"
               : fmt::format("the write-back of '{}'", plan_.bases[static_cast<size_t>(base)].name);
  }
  std::string PlaceOf(int step) const {
    const ir::NodeId node = NodeOf(step);
    return node.valid() ? graph_.PlaceOf(graph_.node(node)) : "";
  }
  // Who owns a buffer after the call.
  std::string HomeOf(BufferId buffer) const {
    const Buffer& b = plan_.buffers[static_cast<size_t>(buffer.index)];
    if (b.kind == Buffer::Kind::kInput) {
      const std::string name = b.input.valid() ? graph_.node(b.input).name : "?";
      return fmt::format("the caller's '{}'", name);
    }
    for (const OutputPlace& output : plan_.outputs) {
      if (output.place.buffer != buffer) continue;
      const ir::Argument& result = graph_.outputs[static_cast<size_t>(output.output)];
      return result.IsNode() ? fmt::format("result '{}'", graph_.node(result.node()).name)
                             : fmt::format("result {}", output.output);
    }
    return "a temporary";
  }

  const ir::Graph& graph_;
  BufferPlan& plan_;
  Touches touches_;
};

}  // namespace

std::vector<int> WrittenFamilies(const FlowGraph& flow) {
  std::vector<bool> written(flow.families.size(), false);
  auto mark = [&](int family) {
    if (family >= 0) written[static_cast<size_t>(family)] = true;
  };
  for (const FlowInput& input : flow.inputs) {
    if (input.written) mark(input.family);
  }
  for (const FlowNode& node : flow.nodes) {
    for (const FlowGroup& group : node.groups) mark(group.family);
  }
  for (const std::vector<Alias>& aliases : flow.aliases) {
    for (const Alias& a : aliases) {
      if (a.put != Alias::Put::kNo) mark(a.family);
    }
  }
  std::vector<int> index(flow.families.size(), -1);
  int count = 0;
  for (size_t f = 0; f < written.size(); ++f) {
    if (written[f]) index[f] = count++;
  }
  return index;
}

void DescribeBases(const ir::Graph& graph, const FlowGraph& flow, BufferPlan& plan) {
  Describing(graph, flow, plan).Run();
}

}  // namespace palimpsest::reinplace
