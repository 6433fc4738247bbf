// Note [What the checker checks]
//
// The plan is replayed on buffers that hold value numbers instead of values:
//   - every operand holds exactly the numbers that the functional graph says, read in row-major
//   order;
//   - two operands of an operator that is written in place meet in memory exactly where they meet
//   in
//     the program (a replay of versions alone does not see a read that the operator itself
//     destroys);
//   - a result meets no operand, unless it lies exactly on it and the operator allows that;
//   - no destination overlaps itself; nothing is written to an input that the program does not
//   write;
//   - custom operators get their operands with the program's strides, and results in no input;
//   - every live node runs once; written inputs end with their final contents; results lie where
//   eager
//     puts them: in the input they alias, or each storage in new memory of its own;
//   - every pair of steps that touch the same bytes, one of them writing, has an order edge, and so
//     have random operators and effects. Edges point backwards: the order given is legal.
// Only the numbering (flow.h, run_map.h) is shared with the planner.

#include "reinplace/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/overlap.h"
#include "reinplace/build_flow.h"
#include "reinplace/checker_replay.h"

namespace palimpsest::reinplace {
namespace {

// Who touched a range of bytes last.
struct Touch {
  int64_t end = 0;
  int writer = -1;
  std::vector<int> readers;
};
using Touches = std::map<int64_t, Touch>;

void CutAt(Touches& touches, int64_t at) {
  auto it = touches.lower_bound(at);
  if (it == touches.begin() || (it != touches.end() && it->first == at)) return;
  --it;
  if (it->second.end <= at) return;
  Touch rest = it->second;
  it->second.end = at;
  touches.emplace(at, std::move(rest));
}

bool SameGeometry(const View& a, const View& b) {
  if (a.dtype != b.dtype || a.sizes != b.sizes) return false;
  for (size_t k = 0; k < a.dim(); ++k) {
    if (a.sizes[k] > 1 && a.strides[k] != b.strides[k]) return false;
  }
  return true;
}

class Replay {
 public:
  Replay(const FlowGraph& flow, const BufferPlan& plan) : flow_(flow), plan_(plan) {}

  Result<CheckedPlan> Run() {
    PAL_TRY(Start());
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      step_ = static_cast<int>(i);
      const Step& step = plan_.steps[i];
      for (int before : step.after) {
        if (before < 0 || before >= step_) return Wrong("an order edge points forwards");
      }
      if (const CopyStep* copy = std::get_if<CopyStep>(&step.what)) {
        PAL_TRY(ReplayCopy(*copy));
      } else {
        PAL_TRY(ReplayCompute(std::get<ComputeStep>(step.what)));
      }
    }
    step_ = -1;
    PAL_TRY(CheckEnd());
    return checked_;
  }

 private:
  Error Wrong(std::string what) const {
    std::string where = "at the end";
    if (step_ >= 0) where = fmt::format("step {}", step_);
    if (node_ != nullptr) where += fmt::format(", node {}", node_->node.index);
    return InternalError(fmt::format("the plan is unsound ({}): {}", where, what));
  }

  Status Start() {
    for (size_t i = 0; i < flow_.nodes.size(); ++i) {
      flow_of_node_[flow_.nodes[i].node.index] = static_cast<int>(i);
    }
    ran_.assign(flow_.nodes.size(), false);
    memory_.resize(plan_.buffers.size());
    touches_.resize(plan_.buffers.size());
    std::set<int> storages;
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const Buffer& buffer = plan_.buffers[b];
      if (buffer.kind != Buffer::Kind::kInput) continue;
      if (buffer.storage < 0 || static_cast<size_t>(buffer.storage) >= flow_.inputs.size() ||
          !storages.insert(buffer.storage).second) {
        return Wrong("an input's storage has no buffer, or two");
      }
      const FlowInput& input = flow_.inputs[static_cast<size_t>(buffer.storage)];
      if (buffer.bytes != input.bytes || buffer.may_write != input.written) {
        return Wrong("an input's buffer is not what the input is");
      }
      for (const Piece& p : input.first.pieces) memory_[b].Assign(p.address, p.bytes, p.number);
    }
    return {};
  }

  // ---- places

  const Buffer& At(BufferId id) const { return plan_.buffers[static_cast<size_t>(id.index)]; }
  bool Exists(BufferId id) const {
    return id.valid() && static_cast<size_t>(id.index) < plan_.buffers.size();
  }
  bool IsReadOnly(BufferId id) const {
    return At(id).kind == Buffer::Kind::kInput && !At(id).may_write;
  }
  Status CheckInside(const Place& place) const {
    if (!Exists(place.buffer)) return Wrong("a place in no buffer");
    const Interval extent = ExtentOf(place.view);
    if (extent.begin < 0 || extent.end > At(place.buffer).bytes) {
      return Wrong(fmt::format("{} reaches beyond its buffer of {} bytes", ToString(place.view),
                               At(place.buffer).bytes));
    }
    return {};
  }
  static bool Meet(const Place& a, const Place& b) {
    return a.buffer == b.buffer && MayOverlap(a.view, b.view);
  }

  // Does the place hold the content, element by element? `view` is the content's own geometry.
  bool Holds(const Place& place, const View& view, const Content& content) const {
    if (content.pieces.empty()) return true;
    const RunMap& map = memory_[static_cast<size_t>(place.buffer.index)];
    if (SameGeometry(place.view, view)) {
      const int64_t low = ExtentOf(place.view).begin;
      for (const Piece& p : content.pieces) {
        if (!HoldsRun(map, low + p.address, p)) return false;
      }
      return true;
    }
    RunMap expected;
    const int64_t low = ExtentOf(view).begin;
    for (const Piece& p : content.pieces) expected.Assign(low + p.address, p.bytes, p.number);
    const std::optional<std::vector<Chunk>> chunks = CopyChunks(view, place.view);
    if (!chunks) return false;
    bool holds = true;
    for (const Chunk& c : *chunks) {
      expected.ForEach(c.source, c.bytes, [&](const Piece& p) {
        holds = holds && HoldsRun(map, c.destination + p.address - c.source, p);
      });
    }
    return holds;
  }
  static bool HoldsRun(const RunMap& map, int64_t address, const Piece& p) {
    int64_t at = address;
    map.ForEach(address, p.bytes, [&](const Piece& have) {
      if (have.address == at && have.number == p.number + at - address) at += have.bytes;
    });
    return at == address + p.bytes;
  }
  void Put(const Place& place, const View& view, const Content& content) {
    RunMap& map = memory_[static_cast<size_t>(place.buffer.index)];
    for (const Interval& i : IntervalsOrExtent(place.view)) map.Erase(i.begin, i.end - i.begin);
    if (SameGeometry(place.view, view)) {
      const int64_t low = ExtentOf(place.view).begin;
      for (const Piece& p : content.pieces) map.Assign(low + p.address, p.bytes, p.number);
      return;
    }
    RunMap made;
    const int64_t low = ExtentOf(view).begin;
    for (const Piece& p : content.pieces) made.Assign(low + p.address, p.bytes, p.number);
    const std::optional<std::vector<Chunk>> chunks = CopyChunks(view, place.view);
    if (!chunks) return;  // holds nothing: every read of it will be refused
    for (const Chunk& c : *chunks) {
      made.ForEach(c.source, c.bytes, [&](const Piece& p) {
        map.Assign(c.destination + p.address - c.source, p.bytes, p.number);
      });
    }
  }

  // ---- order edges

  Status CheckOrder(BufferId buffer, Interval bytes, bool write) {
    if (bytes.begin == bytes.end || IsReadOnly(buffer)) return {};
    Touches& touches = touches_[static_cast<size_t>(buffer.index)];
    CutAt(touches, bytes.begin);
    CutAt(touches, bytes.end);
    auto needs = [&](int before) {
      if (before < 0 || before == step_) return true;
      const std::vector<int>& after = plan_.steps[static_cast<size_t>(step_)].after;
      return std::find(after.begin(), after.end(), before) != after.end();
    };
    auto it = touches.lower_bound(bytes.begin);
    int64_t at = bytes.begin;
    while (at < bytes.end) {
      if (it == touches.end() || it->first > at) {
        const int64_t end = it == touches.end() ? bytes.end : std::min(bytes.end, it->first);
        it = touches.emplace_hint(it, at, Touch{end, -1, {}});
      }
      Touch& touch = it->second;
      if (!needs(touch.writer)) return Wrong(fmt::format("no edge from step {}", touch.writer));
      if (write) {
        for (int reader : touch.readers) {
          if (!needs(reader)) return Wrong(fmt::format("no edge from step {}", reader));
        }
        touch.writer = step_;
        touch.readers.clear();
      } else if (touch.readers.empty() || touch.readers.back() != step_) {
        touch.readers.push_back(step_);
      }
      at = touch.end;
      ++it;
    }
    return {};
  }
  Status CheckOrder(const Place& place, bool write) {
    for (const Interval& i : IntervalsOrExtent(place.view)) {
      PAL_TRY(CheckOrder(place.buffer, i, write));
    }
    return {};
  }

  // ---- steps

  struct Move {
    BufferId destination;
    int64_t address;
    Piece piece;  // number 0: the source holds nothing
  };

  Status ReplayCopy(const CopyStep& copy) {
    node_ = nullptr;
    int64_t bytes = 0;
    std::vector<Move> moves;
    std::map<int32_t, RunMap> written;  // destinations of this step
    for (const CopyStep::Run& run : copy.runs) {
      if (!Exists(run.source) || !Exists(run.destination)) return Wrong("a copy of no buffer");
      if (IsReadOnly(run.destination)) {
        return Wrong("a copy into an input that the program does not write");
      }
      for (int64_t k = 0; k < run.count; ++k) {
        const int64_t from = run.source_offset + k * run.source_stride;
        const int64_t to = run.destination_offset + k * run.destination_stride;
        if (run.bytes <= 0 || from < 0 || to < 0 || from + run.bytes > At(run.source).bytes ||
            to + run.bytes > At(run.destination).bytes) {
          return Wrong("a copy beyond its buffer");
        }
        bytes += run.bytes;
        PAL_TRY(CheckOrder(run.source, {from, from + run.bytes}, false));
        bool twice = false;
        RunMap& seen = written[run.destination.index];
        seen.ForEach(to, run.bytes, [&](const Piece&) { twice = true; });
        if (twice) return Wrong("a copy writes a byte twice");
        seen.Assign(to, run.bytes, 1);
        memory_[static_cast<size_t>(run.source.index)].ForEach(
            from, run.bytes,
            [&](const Piece& p) { moves.push_back({run.destination, to + p.address - from, p}); });
      }
    }
    for (auto& [buffer, map] : written) {
      Status status;
      map.ForEach(0, INT64_MAX, [&](const Piece& p) {
        const BufferId id(static_cast<int64_t>(buffer));
        memory_[static_cast<size_t>(buffer)].Erase(p.address, p.bytes);
        Status one = CheckOrder(id, {p.address, p.address + p.bytes}, true);
        if (!one.ok()) status = one;
      });
      if (!status.ok()) return status;
    }
    for (const Move& m : moves) {
      memory_[static_cast<size_t>(m.destination.index)].Assign(m.address, m.piece.bytes,
                                                               m.piece.number);
    }
    if (bytes != copy.bytes) return Wrong("a copy step does not say how many bytes it copies");
    checked_.copied_bytes += bytes;
    return {};
  }

  Status ReplayCompute(const ComputeStep& compute) {
    node_ = nullptr;
    auto it = flow_of_node_.find(compute.node.index);
    if (it == flow_of_node_.end()) return Wrong("a node that computes nothing runs");
    node_ = &flow_.nodes[static_cast<size_t>(it->second)];
    if (ran_[static_cast<size_t>(it->second)]) return Wrong("a node runs twice");
    ran_[static_cast<size_t>(it->second)] = true;
    if (!node_->live) return Wrong("a dead node runs");
    const size_t results = node_->results.size() + (node_->tied_operand >= 0 ? 1 : 0);
    if (compute.operands.size() != node_->operands.size() || compute.results.size() != results) {
      return Wrong("not a place for each operand and result");
    }
    PAL_TRY(CheckOperands(compute));
    PAL_TRY(CheckMeetings(compute));
    PAL_TRY(CheckResults(compute));
    for (size_t k = 0; k < node_->operands.size(); ++k) {
      if (IsTouched(k)) PAL_TRY(CheckOrder(compute.operands[k], false));
    }
    if (node_->ordered) {
      const std::vector<int>& after = plan_.steps[static_cast<size_t>(step_)].after;
      if (last_ordered_ >= 0 &&
          std::find(after.begin(), after.end(), last_ordered_) == after.end()) {
        return Wrong("no edge from the random operator or effect before");
      }
      last_ordered_ = step_;
    }
    PAL_TRY(Write(compute));
    const View* to = nullptr;
    if (node_->is_copy) to = node_->groups.empty() ? &node_->results[0].view : &node_->copy_to;
    const int64_t copied = to == nullptr ? 0 : to->numel() * to->item_size();
    if (compute.copied_bytes != copied) return Wrong("a copy that is not counted");
    checked_.copied_bytes += copied;
    return {};
  }

  // Operands of which only the sizes are looked at may lie anywhere.
  bool IsTouched(size_t k) const {
    const FlowOperand& o = node_->operands[k];
    return o.view.numel() > 0 && (o.read || o.written);
  }

  Status CheckOperands(const ComputeStep& compute) const {
    for (size_t k = 0; k < node_->operands.size(); ++k) {
      const FlowOperand& o = node_->operands[k];
      const Place& place = compute.operands[k];
      if (!Exists(place.buffer)) return Wrong("an operand in no buffer");
      if (place.view.sizes != o.view.sizes || place.view.dtype != o.view.dtype) {
        return Wrong(fmt::format("operand {} has another shape than in the program", k));
      }
      if ((node_->opaque || o.written) && !SameGeometry(place.view, o.view)) {
        return Wrong(fmt::format("operand {} has other strides than in the program", k));
      }
      if (!IsTouched(k)) continue;
      PAL_TRY(CheckInside(place));
      if (o.written && IsReadOnly(place.buffer)) {
        return Wrong("an operator writes an input that the program does not write");
      }
      if (o.read && !o.soft && !Holds(place, o.view, flow_.content(o.content))) {
        return Wrong(fmt::format("operand {} holds another version", k));
      }
    }
    return {};
  }

  // Only operators that write operands in place can destroy what they read.
  Status CheckMeetings(const ComputeStep& compute) const {
    for (size_t i = 0; i < node_->operands.size(); ++i) {
      const FlowOperand& a = node_->operands[i];
      if (!a.written || !IsTouched(i)) continue;
      for (size_t j = 0; j < node_->operands.size(); ++j) {
        const FlowOperand& b = node_->operands[j];
        if (i == j || !IsTouched(j) || (b.written && j < i)) continue;
        const bool meet = Meet(compute.operands[i], compute.operands[j]);
        const bool in_program = a.base >= 0 && a.base == b.base && MayOverlap(a.view, b.view);
        if (meet != in_program) {
          return Wrong(fmt::format("operands {} and {} {} in memory, not so in the program", i, j,
                                   meet ? "meet" : "do not meet"));
        }
        const int64_t moved_a = compute.operands[i].view.offset * a.view.item_size() -
                                a.view.offset * a.view.item_size();
        const int64_t moved_b = compute.operands[j].view.offset * b.view.item_size() -
                                b.view.offset * b.view.item_size();
        if (meet && moved_a != moved_b) {
          return Wrong(fmt::format("operands {} and {} meet elsewhere than in the program", i, j));
        }
      }
    }
    return {};
  }

  Status CheckResults(const ComputeStep& compute) const {
    for (size_t k = 0; k < node_->results.size(); ++k) {
      const FlowResult& r = node_->results[k];
      const Place& place = compute.results[k];
      if (place.view.sizes != r.view.sizes || place.view.dtype != r.view.dtype) {
        return Wrong(fmt::format("result {} has another shape than in the program", k));
      }
      if (r.view.numel() == 0) continue;
      PAL_TRY(CheckInside(place));
      if (IsReadOnly(place.buffer)) {
        return Wrong("a result in an input that the program does not write");
      }
      if (OverlapsItself(place.view)) return Wrong("a result overlaps itself");
      if (node_->opaque &&
          (At(place.buffer).kind == Buffer::Kind::kInput || !SameGeometry(place.view, r.view))) {
        return Wrong("the result of a custom operator is no buffer of its own");
      }
      for (size_t q = 0; q < k; ++q) {
        if (Meet(place, compute.results[q])) return Wrong("two results in one place");
      }
      for (size_t q = 0; q < node_->operands.size(); ++q) {
        if (!IsTouched(q) || !Meet(place, compute.operands[q])) continue;
        const Place& operand = compute.operands[q];
        bool allowed = node_->pointwise || (node_->over_first && q == 0);
        if (node_->results.size() > 1) allowed = allowed && q == k;
        if (!allowed || operand.view.offset != place.view.offset ||
            operand.view.item_size() != place.view.item_size() ||
            !SameGeometry({place.view.dtype, operand.view.sizes, operand.view.strides, 0},
                          place.view)) {
          return Wrong(fmt::format("result {} destroys operand {} while it is read", k, q));
        }
      }
    }
    if (node_->tied_operand >= 0) {
      const Place& a = compute.results.back();
      const Place& b = compute.operands[static_cast<size_t>(node_->tied_operand)];
      if (a.buffer != b.buffer || !(a.view == b.view)) {
        return Wrong("the result of an update does not lie on what it updates");
      }
    }
    return {};
  }

  Status Write(const ComputeStep& compute) {
    for (size_t k = 0; k < node_->operands.size(); ++k) {
      const FlowOperand& o = node_->operands[k];
      if (!o.written || !IsTouched(k)) continue;
      PAL_TRY(CheckOrder(compute.operands[k], true));
      if (o.after >= 0) Put(compute.operands[k], o.view, flow_.content(o.after));
    }
    for (size_t k = 0; k < node_->results.size(); ++k) {
      PAL_TRY(CheckOrder(compute.results[k], true));
      const FlowResult& r = node_->results[k];
      Put(compute.results[k], r.view, flow_.content(r.content));
    }
    return {};
  }

  // ---- the end

  Status CheckEnd() {
    node_ = nullptr;
    for (size_t i = 0; i < flow_.nodes.size(); ++i) {
      if (flow_.nodes[i].live && !ran_[i]) {
        return Wrong(fmt::format("node {} does not run", flow_.nodes[i].node.index));
      }
    }
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const Buffer& buffer = plan_.buffers[b];
      if (buffer.kind != Buffer::Kind::kInput) continue;
      const FlowInput& input = flow_.inputs[static_cast<size_t>(buffer.storage)];
      for (const Piece& p : input.last.pieces) {
        if (!HoldsRun(memory_[b], p.address, p)) {
          return Wrong("an input does not end with its final contents");
        }
      }
    }
    return CheckOutputs();
  }

  Status CheckOutputs() const {
    std::map<int, const Place*> places;
    for (const OutputPlace& o : plan_.outputs) {
      if (!places.emplace(o.output, &o.place).second) return Wrong("a result has two places");
    }
    std::set<int32_t> taken;
    size_t count = 0;
    for (const FlowOutputStorage& s : flow_.outputs) {
      std::optional<int64_t> moved;
      BufferId buffer;
      for (const FlowOutput& o : s.outputs) {
        ++count;
        auto it = places.find(o.output);
        if (it == places.end()) return Wrong(fmt::format("result {} has no place", o.output));
        PAL_TRY(CheckOutput(s, o, *it->second));
        if (buffer.valid() && it->second->buffer != buffer) {
          return Wrong("results that share memory lie in two buffers");
        }
        buffer = it->second->buffer;
        if (o.view.numel() == 0) continue;
        const int64_t here = (it->second->view.offset - o.view.offset) * o.view.item_size();
        if (moved && *moved != here) return Wrong("results that share memory have moved apart");
        moved = here;
      }
      if (s.input_storage < 0 && !taken.insert(buffer.index).second) {
        return Wrong("two results that share no memory lie in one buffer");
      }
    }
    if (count != places.size()) return Wrong("a place for a result that there is not");
    return {};
  }

  Status CheckOutput(const FlowOutputStorage& s, const FlowOutput& o, const Place& place) const {
    if (!Exists(place.buffer)) return Wrong("a result in no buffer");
    const Buffer& buffer = At(place.buffer);
    const bool in_input = buffer.kind == Buffer::Kind::kInput;
    if (s.input_storage >= 0) {
      if (!in_input || buffer.storage != s.input_storage || !(place.view == o.view)) {
        return Wrong(fmt::format("result {} does not lie in the input it aliases", o.output));
      }
    } else if (buffer.kind != Buffer::Kind::kOutput) {
      return Wrong(fmt::format("result {} is new memory, but lies elsewhere", o.output));
    }
    if (place.view.sizes != o.view.sizes || place.view.strides != o.view.strides ||
        place.view.dtype != o.view.dtype) {
      return Wrong(fmt::format("result {} has another layout than in the program", o.output));
    }
    if (o.view.numel() == 0) return {};
    PAL_TRY(CheckInside(place));
    if (!Holds(place, o.view, flow_.content(o.content))) {
      return Wrong(fmt::format("result {} holds another version", o.output));
    }
    return {};
  }

  const FlowGraph& flow_;
  const BufferPlan& plan_;
  CheckedPlan checked_;
  std::vector<RunMap> memory_;
  std::vector<Touches> touches_;
  std::map<int32_t, int> flow_of_node_;
  std::vector<bool> ran_;
  int step_ = -1;
  int last_ordered_ = -1;
  const FlowNode* node_ = nullptr;
};

}  // namespace

Result<CheckedPlan> CheckFlowPlan(const FlowGraph& flow, const BufferPlan& plan) {
  return Replay(flow, plan).Run();
}

Result<CheckedPlan> CheckPlan(const ir::Graph& graph, std::span<const Value> inputs,
                              const BufferPlan& plan) {
  PAL_TRY(FlowGraph flow, BuildFlow(graph, inputs, {}));
  return CheckFlowPlan(flow, plan);
}

}  // namespace palimpsest::reinplace
