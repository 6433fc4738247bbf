#include "sabotage.h"

#include <algorithm>
#include <functional>

#include "reinplace/regions.h"

namespace palimpsest::plans {
namespace {

using reinplace::Buffer;
using reinplace::BufferId;
using reinplace::BufferPlan;
using reinplace::ComputeStep;
using reinplace::CopyStep;
using reinplace::Interval;
using reinplace::Place;
using reinplace::Step;

// One small change at random; false if the plan has no place for it.
using Change = bool (*)(BufferPlan& plan, std::mt19937& random);

size_t Pick(std::mt19937& random, size_t n) { return static_cast<size_t>(random() % n); }

void ForEachPlace(Step& step, const std::function<void(Place&)>& f) {
  if (auto* compute = std::get_if<ComputeStep>(&step.what)) {
    for (Place& p : compute->operands) f(p);
    for (Place& p : compute->results) f(p);
  }
}

std::vector<size_t> CopySteps(const BufferPlan& plan) {
  std::vector<size_t> steps;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (std::holds_alternative<CopyStep>(plan.steps[i].what)) steps.push_back(i);
  }
  return steps;
}

void RemoveStep(BufferPlan& plan, size_t gone) {
  const std::vector<int> inherited = plan.steps[gone].after;
  plan.steps.erase(plan.steps.begin() + static_cast<std::ptrdiff_t>(gone));
  for (Step& step : plan.steps) {
    std::vector<int> after;
    for (int before : step.after) {
      if (before < static_cast<int>(gone)) after.push_back(before);
      if (before > static_cast<int>(gone)) after.push_back(before - 1);
      if (before == static_cast<int>(gone)) {
        after.insert(after.end(), inherited.begin(), inherited.end());
      }
    }
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    step.after = std::move(after);
  }
}

bool DropCopy(BufferPlan& plan, std::mt19937& random) {
  const std::vector<size_t> copies = CopySteps(plan);
  if (copies.empty()) return false;
  RemoveStep(plan, copies[Pick(random, copies.size())]);
  return true;
}

bool DropRun(BufferPlan& plan, std::mt19937& random) {
  const std::vector<size_t> copies = CopySteps(plan);
  if (copies.empty()) return false;
  auto& copy = std::get<CopyStep>(plan.steps[copies[Pick(random, copies.size())]].what);
  const size_t r = Pick(random, copy.runs.size());
  CopyStep::Run& run = copy.runs[r];
  copy.bytes -= run.bytes;
  if (run.count > 1) {
    --run.count;
  } else {
    copy.runs.erase(copy.runs.begin() + static_cast<std::ptrdiff_t>(r));
  }
  return true;
}

bool SwapRuns(BufferPlan& plan, std::mt19937& random) {
  for (size_t i : CopySteps(plan)) {
    auto& runs = std::get<CopyStep>(plan.steps[i].what).runs;
    if (runs.size() < 2) continue;
    const size_t a = Pick(random, runs.size()), b = Pick(random, runs.size());
    if (a == b || runs[a].bytes != runs[b].bytes || runs[a].count != runs[b].count) continue;
    std::swap(runs[a].source, runs[b].source);
    std::swap(runs[a].source_offset, runs[b].source_offset);
    std::swap(runs[a].source_stride, runs[b].source_stride);
    return true;
  }
  return false;
}

bool ShiftRun(BufferPlan& plan, std::mt19937& random) {
  const std::vector<size_t> copies = CopySteps(plan);
  if (copies.empty()) return false;
  auto& copy = std::get<CopyStep>(plan.steps[copies[Pick(random, copies.size())]].what);
  CopyStep::Run& run = copy.runs[Pick(random, copy.runs.size())];
  const bool source = random() % 2 == 0;
  const int64_t shift = random() % 2 == 0 ? 4 : -4;
  int64_t& offset = source ? run.source_offset : run.destination_offset;
  const int64_t stride = source ? run.source_stride : run.destination_stride;
  const Buffer& buffer =
      plan.buffers[static_cast<size_t>((source ? run.source : run.destination).index)];
  const int64_t reach = stride * (run.count - 1);
  const int64_t low = offset + shift + std::min<int64_t>(reach, 0);
  const int64_t high = offset + shift + std::max<int64_t>(reach, 0) + run.bytes;
  if (low < 0 || high > buffer.bytes) return false;
  offset += shift;
  return true;
}

bool DropEdge(BufferPlan& plan, std::mt19937& random) {
  std::vector<Step*> steps;
  for (Step& s : plan.steps) {
    if (!s.after.empty()) steps.push_back(&s);
  }
  if (steps.empty()) return false;
  std::vector<int>& after = steps[Pick(random, steps.size())]->after;
  after.erase(after.begin() + static_cast<std::ptrdiff_t>(Pick(random, after.size())));
  return true;
}

// Everything in one buffer moves into another.
bool MergeBuffers(BufferPlan& plan, std::mt19937& random) {
  if (plan.buffers.size() < 2) return false;
  const BufferId from(static_cast<int64_t>(Pick(random, plan.buffers.size())));
  const BufferId to(static_cast<int64_t>(Pick(random, plan.buffers.size())));
  Buffer& a = plan.buffers[static_cast<size_t>(from.index)];
  Buffer& b = plan.buffers[static_cast<size_t>(to.index)];
  if (from == to || a.kind == Buffer::Kind::kInput) return false;
  if (b.kind == Buffer::Kind::kInput && b.bytes < a.bytes) return false;
  b.bytes = std::max(a.bytes, b.bytes);
  if (a.kind == Buffer::Kind::kOutput && b.kind == Buffer::Kind::kTemp) b.kind = a.kind;
  auto move = [&](BufferId& id) {
    if (id == from) id = to;
  };
  for (Step& step : plan.steps) {
    ForEachPlace(step, [&](Place& p) { move(p.buffer); });
    if (auto* copy = std::get_if<CopyStep>(&step.what)) {
      for (CopyStep::Run& run : copy->runs) {
        move(run.source);
        move(run.destination);
      }
    }
  }
  for (auto& output : plan.outputs) move(output.place.buffer);
  return true;
}

bool Fits(const BufferPlan& plan, const Place& place) {
  const Interval extent = reinplace::ExtentOf(place.view);
  return extent.begin >= 0 &&
         extent.end <= plan.buffers[static_cast<size_t>(place.buffer.index)].bytes;
}

std::vector<Place*> AllPlaces(BufferPlan& plan) {
  std::vector<Place*> places;
  for (Step& step : plan.steps) {
    ForEachPlace(step, [&](Place& p) {
      if (p.view.numel() > 0) places.push_back(&p);
    });
  }
  for (auto& output : plan.outputs) {
    if (output.place.view.numel() > 0) places.push_back(&output.place);
  }
  return places;
}

bool ShiftPlace(BufferPlan& plan, std::mt19937& random) {
  const std::vector<Place*> places = AllPlaces(plan);
  if (places.empty()) return false;
  Place& place = *places[Pick(random, places.size())];
  const int64_t shift = static_cast<int64_t>(random() % 9) - 4;
  place.view.offset += shift;
  return shift != 0 && Fits(plan, place);
}

bool MovePlace(BufferPlan& plan, std::mt19937& random) {
  const std::vector<Place*> places = AllPlaces(plan);
  if (places.empty()) return false;
  Place& place = *places[Pick(random, places.size())];
  const BufferId old = place.buffer;
  place.buffer = BufferId(static_cast<int64_t>(Pick(random, plan.buffers.size())));
  return place.buffer != old && Fits(plan, place);
}

// Two neighbours change places, and forget that they were ordered.
bool SwapSteps(BufferPlan& plan, std::mt19937& random) {
  if (plan.steps.size() < 2) return false;
  const int i = static_cast<int>(Pick(random, plan.steps.size() - 1));
  Step& a = plan.steps[static_cast<size_t>(i)];
  Step& b = plan.steps[static_cast<size_t>(i) + 1];
  std::erase(b.after, i);
  std::swap(a, b);
  for (Step& step : plan.steps) {
    for (int& before : step.after) {
      if (before == i || before == i + 1) before = 2 * i + 1 - before;
    }
    std::sort(step.after.begin(), step.after.end());
  }
  return true;
}

bool DropStep(BufferPlan& plan, std::mt19937& random) {
  if (plan.steps.empty()) return false;
  RemoveStep(plan, Pick(random, plan.steps.size()));
  return true;
}

bool RepeatStep(BufferPlan& plan, std::mt19937& random) {
  if (plan.steps.empty()) return false;
  Step again = plan.steps[Pick(random, plan.steps.size())];
  again.after.clear();
  for (size_t i = 0; i < plan.steps.size(); ++i) again.after.push_back(static_cast<int>(i));
  plan.steps.push_back(std::move(again));
  return true;
}

bool SwapOutputs(BufferPlan& plan, std::mt19937& random) {
  if (plan.outputs.size() < 2) return false;
  const size_t a = Pick(random, plan.outputs.size()), b = Pick(random, plan.outputs.size());
  if (a == b) return false;
  std::swap(plan.outputs[a].place, plan.outputs[b].place);
  return true;
}

struct Named {
  const char* kind;
  Change change;
};
constexpr Named kChanges[] = {
    {"drop a copy", DropCopy},     {"drop a run", DropRun},
    {"swap two runs", SwapRuns},   {"shift a run", ShiftRun},
    {"drop an edge", DropEdge},    {"merge two buffers", MergeBuffers},
    {"shift a place", ShiftPlace}, {"move a place", MovePlace},
    {"swap two steps", SwapSteps}, {"drop a step", DropStep},
    {"repeat a step", RepeatStep}, {"swap two results", SwapOutputs},
};

}  // namespace

std::vector<Sabotage> SabotagesOf(const BufferPlan& plan, int most, std::mt19937& random) {
  std::vector<Sabotage> all;
  for (const Named& named : kChanges) {
    for (int i = 0; i < most; ++i) {
      Sabotage s{named.kind, plan};
      if (named.change(s.plan, random)) all.push_back(std::move(s));
    }
  }
  return all;
}

}  // namespace palimpsest::plans
