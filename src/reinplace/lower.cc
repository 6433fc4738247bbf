// Temporaries are cut down to the bytes that are used. Order edges are derived here, once, from the
// places alone: write-read, read-write and write-write on the same bytes.

#include "reinplace/lower.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "reinplace/base_report.h"

namespace palimpsest::reinplace {
namespace {

struct Access {
  int buffer;
  Interval bytes;
  bool write;
};

// Per buffer: who wrote each byte last, and who has read it since.
class LastAccesses {
 public:
  void Read(Interval bytes, int step, std::vector<int>* before) {
    Cut(bytes.begin);
    Cut(bytes.end);
    int64_t at = bytes.begin;
    auto it = segments_.lower_bound(bytes.begin);
    while (at < bytes.end) {
      if (it == segments_.end() || it->first > at) {
        // Bytes that nobody has written yet (an input).
        const int64_t end = it == segments_.end() ? bytes.end : std::min(bytes.end, it->first);
        it = segments_.emplace_hint(it, at, Segment{end, -1, {}});
      }
      Segment& s = it->second;
      if (s.writer >= 0) before->push_back(s.writer);
      if (s.readers.empty() || s.readers.back() != step) s.readers.push_back(step);
      at = s.end;
      ++it;
    }
  }
  void Write(Interval bytes, int step, std::vector<int>* before) {
    Cut(bytes.begin);
    Cut(bytes.end);
    auto it = segments_.lower_bound(bytes.begin);
    while (it != segments_.end() && it->first < bytes.end) {
      if (it->second.writer >= 0) before->push_back(it->second.writer);
      before->insert(before->end(), it->second.readers.begin(), it->second.readers.end());
      it = segments_.erase(it);
    }
    segments_.emplace_hint(it, bytes.begin, Segment{bytes.end, step, {}});
  }

 private:
  struct Segment {
    int64_t end;
    int writer;
    std::vector<int> readers;
  };
  void Cut(int64_t at) {
    auto it = segments_.upper_bound(at);
    if (it == segments_.begin()) return;
    --it;
    if (it->first >= at || it->second.end <= at) return;
    Segment rest = it->second;
    it->second.end = at;
    segments_.emplace(at, std::move(rest));
  }
  std::map<int64_t, Segment> segments_;
};

class Lowering {
 public:
  explicit Lowering(Planner& planner)
      : planner_(planner), flow_(planner.flow()), machine_(planner.machine()) {}

  BufferPlan Run() {
    std::vector<PlannedStep>& steps = machine_.steps();
    for (const PlannedStep& s : steps) NoteUse(s);
    for (size_t i = 0; i < flow_.outputs.size(); ++i) {
      Use(planner_.outputs()[i].buffer);
      if (flow_.outputs[i].input_storage < 0) is_output_[planner_.outputs()[i].buffer] = true;
    }
    MakeBuffers();
    MakeBases();
    for (const PlannedStep& s : steps) {
      Step step;
      if (s.is_copy) {
        step.what = LowerCopy(s);
      } else {
        step.what = LowerCompute(s);
      }
      plan_.steps.push_back(std::move(step));
    }
    MakeOutputs();
    for (size_t i = 0; i < steps.size(); ++i) AddEdges(static_cast<int>(i), steps[i]);
    plan_.copied_bytes = planner_.cost();
    return std::move(plan_);
  }

 private:
  void Use(int buffer) { used_.try_emplace(buffer, Interval{INT64_MAX, 0}); }
  void Use(int buffer, Interval bytes) {
    Use(buffer);
    if (bytes.begin == bytes.end) return;
    Interval& all = used_[buffer];
    all.begin = std::min(all.begin, bytes.begin);
    all.end = std::max(all.end, bytes.end);
  }
  void NoteUse(const PlannedStep& s) {
    for (const CopyRun& r : s.runs) {
      Use(r.source, {r.source_address, r.source_address + r.bytes});
      Use(r.destination, {r.destination_address, r.destination_address + r.bytes});
    }
    for (size_t k = 0; k < s.operands.size(); ++k) {
      const bool touched = machine_.buffer(s.operands[k].buffer).bytes > 0;
      Use(s.operands[k].buffer, touched ? ExtentOf(s.operands[k].view) : Interval{});
    }
    for (const Spot& spot : s.results) Use(spot.buffer, ExtentOf(spot.view));
  }

  // Inputs keep their numbers; of the others only those that are used.
  void MakeBuffers() {
    for (size_t i = 0; i < flow_.inputs.size(); ++i) Use(static_cast<int>(i));
    for (const auto& [b, extent] : used_) {
      const Machine::Buffer& from = machine_.buffer(b);
      Buffer to;
      to.bytes = from.bytes;
      if (from.kind != Machine::Kind::kTemp) {
        to.kind = Buffer::Kind::kInput;
        to.storage = b;
        to.input = flow_.families[static_cast<size_t>(from.family)].node;
        to.may_write = from.kind == Machine::Kind::kHome;
      } else if (is_output_.contains(b)) {
        to.kind = Buffer::Kind::kOutput;
      } else if (extent.begin < extent.end) {
        shift_[b] = extent.begin / 64 * 64;
        to.bytes = extent.end - shift_[b];
      } else {
        to.bytes = 0;
      }
      ids_[b] = BufferId(static_cast<int64_t>(plan_.buffers.size()));
      plan_.buffers.push_back(to);
    }
  }
  // The written bases, then those that are copied for other reasons.
  void MakeBases() {
    base_of_ = WrittenFamilies(flow_);
    for (size_t f = 0; f < base_of_.size(); ++f) {
      if (base_of_[f] >= 0) AddBase(f);
    }
    for (const PlannedStep& s : machine_.steps()) {
      const int f = CopiedFamily(s);
      if (f < 0 || base_of_[static_cast<size_t>(f)] >= 0) continue;
      base_of_[static_cast<size_t>(f)] = static_cast<int>(plan_.bases.size());
      AddBase(static_cast<size_t>(f));
    }
  }
  void AddBase(size_t f) {
    const Family& family = flow_.families[f];
    BaseReport base;
    base.node = family.node;
    base.name = family.name;
    base.bytes = family.bytes;
    plan_.bases.push_back(std::move(base));
  }
  int CopiedFamily(const PlannedStep& s) const {
    if (s.is_copy) return s.family;
    const FlowNode& node = flow_.nodes[static_cast<size_t>(s.node)];
    if (!node.is_copy) return -1;
    return node.groups.empty() ? node.results[0].family : node.groups[0].family;
  }
  int BaseOf(const PlannedStep& s) const {
    const int f = CopiedFamily(s);
    return f < 0 ? -1 : base_of_[static_cast<size_t>(f)];
  }
  int64_t ShiftOf(int b) const {
    auto it = shift_.find(b);
    return it == shift_.end() ? 0 : it->second;
  }
  Place LowerSpot(const Spot& spot) const {
    Place place{ids_.at(spot.buffer), spot.view};
    if (spot.view.numel() == 0) {
      place.view.offset = 0;
    } else {
      place.view.offset -= ShiftOf(spot.buffer) / spot.view.item_size();
    }
    return place;
  }

  // Runs of equal length and distance become one run with a count.
  CopyStep LowerCopy(const PlannedStep& s) const {
    CopyStep copy;
    copy.why = s.why;
    copy.base = BaseOf(s);
    if (s.node >= 0) copy.node = flow_.nodes[static_cast<size_t>(s.node)].node;
    for (const CopyRun& r : s.runs) {
      copy.bytes += r.bytes;
      CopyStep::Run run{ids_.at(r.source), ids_.at(r.destination),
                        r.source_address - ShiftOf(r.source),
                        r.destination_address - ShiftOf(r.destination), r.bytes};
      if (!copy.runs.empty() && Continues(copy.runs.back(), run)) continue;
      copy.runs.push_back(run);
    }
    return copy;
  }
  static bool Continues(CopyStep::Run& last, const CopyStep::Run& next) {
    if (last.source != next.source || last.destination != next.destination ||
        last.bytes != next.bytes) {
      return false;
    }
    const int64_t source_stride = next.source_offset - last.source_offset;
    const int64_t destination_stride = next.destination_offset - last.destination_offset;
    if (last.count > 1 && (source_stride != last.source_stride * last.count ||
                           destination_stride != last.destination_stride * last.count)) {
      return false;
    }
    if (last.count == 1) {
      last.source_stride = source_stride;
      last.destination_stride = destination_stride;
    }
    ++last.count;
    return true;
  }

  ComputeStep LowerCompute(const PlannedStep& s) const {
    const FlowNode& node = flow_.nodes[static_cast<size_t>(s.node)];
    ComputeStep compute;
    compute.node = node.node;
    compute.base = BaseOf(s);
    for (const Spot& spot : s.operands) compute.operands.push_back(LowerSpot(spot));
    for (const Spot& spot : s.results) compute.results.push_back(LowerSpot(spot));
    if (node.tied_operand >= 0) {
      compute.results.push_back(compute.operands[static_cast<size_t>(node.tied_operand)]);
    }
    if (node.is_copy) {
      const View& to = node.groups.empty() ? node.results[0].view : node.copy_to;
      compute.copied_bytes = to.numel() * to.item_size();
    }
    return compute;
  }

  void MakeOutputs() {
    for (size_t i = 0; i < flow_.outputs.size(); ++i) {
      const FlowOutputStorage& s = flow_.outputs[i];
      const Planner::OutputSpot& at = planner_.outputs()[i];
      for (const FlowOutput& o : s.outputs) {
        OutputPlace output;
        output.output = o.output;
        output.place.buffer = ids_.at(at.buffer);
        output.place.view = o.view;
        if (o.view.numel() > 0 && s.input_storage < 0) {
          const std::optional<View> moved = Shifted(o.view, at.low - s.low);
          PAL_CHECK(moved.has_value(), "a result lies between elements");
          output.place.view = *moved;
        }
        plan_.outputs.push_back(std::move(output));
      }
    }
    std::sort(plan_.outputs.begin(), plan_.outputs.end(),
              [](const OutputPlace& a, const OutputPlace& b) { return a.output < b.output; });
  }

  std::vector<Access> Accesses(const PlannedStep& s) const {
    std::vector<Access> all;
    auto add = [&](const Spot& spot, bool write) {
      if (machine_.buffer(spot.buffer).bytes == 0) return;
      for (const Interval& i : IntervalsOrExtent(spot.view)) all.push_back({spot.buffer, i, write});
    };
    for (const CopyRun& r : s.runs) {
      all.push_back({r.source, {r.source_address, r.source_address + r.bytes}, false});
      all.push_back(
          {r.destination, {r.destination_address, r.destination_address + r.bytes}, true});
    }
    if (s.is_copy) return all;
    const FlowNode& node = flow_.nodes[static_cast<size_t>(s.node)];
    for (size_t k = 0; k < s.operands.size(); ++k) {
      add(s.operands[k], false);
      if (node.operands[k].written) add(s.operands[k], true);
    }
    for (const Spot& spot : s.results) add(spot, true);
    return all;
  }
  void AddEdges(int step, const PlannedStep& s) {
    std::vector<int>& after = plan_.steps[static_cast<size_t>(step)].after;
    const std::vector<Access> all = Accesses(s);
    for (bool writes : {false, true}) {
      for (const Access& a : all) {
        if (a.write != writes || machine_.buffer(a.buffer).kind == Machine::Kind::kReadOnly)
          continue;
        LastAccesses& last = last_[a.buffer];
        if (writes) {
          last.Write(a.bytes, step, &after);
        } else {
          last.Read(a.bytes, step, &after);
        }
      }
    }
    if (!s.is_copy && flow_.nodes[static_cast<size_t>(s.node)].ordered) {
      if (last_ordered_ >= 0) after.push_back(last_ordered_);
      last_ordered_ = step;
    }
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    std::erase(after, step);
  }

  Planner& planner_;
  const FlowGraph& flow_;
  Machine& machine_;
  BufferPlan plan_;
  std::map<int, Interval> used_;
  std::map<int, bool> is_output_;
  std::map<int, int64_t> shift_;
  std::map<int, BufferId> ids_;
  std::map<int, LastAccesses> last_;
  std::vector<int> base_of_;  // per family: index into plan_.bases
  int last_ordered_ = -1;
};

}  // namespace

BufferPlan LowerPlan(Planner& planner) { return Lowering(planner).Run(); }

}  // namespace palimpsest::reinplace
