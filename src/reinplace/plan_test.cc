// Planner, lowering and checker on flows that are made by hand. Whole programs: tests/plans.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "reinplace/checker_replay.h"
#include "reinplace/plan_flow.h"

namespace palimpsest::reinplace {
namespace {

View Floats(int64_t n, int64_t offset = 0) { return {DType::kF32, {n}, {1}, offset}; }

// Nodes are numbered in the order in which they are added.
struct Flow {
  FlowBuilder builder;
  int64_t nodes = 0;

  FlowNode& Begin() { return builder.BeginNode(ir::NodeId(nodes++)); }
  // A custom operator that updates `view` of `version` and reads `others` whole; the next version.
  int Update(int version, const View& view, std::vector<std::pair<int, View>> others = {}) {
    FlowNode& node = Begin();
    node.opaque = node.tied = true;
    builder.AddOperand(version, view, true, true, 0);
    for (const auto& [other, other_view] : others) {
      builder.AddOperand(other, other_view, true, false, other == version ? 0 : -1);
    }
    const int next = builder.NextVersion(version);
    builder.EndOperands({next});
    builder.EndNode();
    return next;
  }
  // A point-wise operator of one operand: the version of its result.
  int Compute(int version, const View& view) {
    Begin().pointwise = true;
    builder.AddOperand(version, view, true, false);
    builder.EndOperands({});
    View result = view;
    result.offset = 0;
    const int made = builder.AddResult(result, result.numel() * 4);
    builder.EndNode();
    return made;
  }
  int Clone(int version, const View& view) {
    const int copy = builder.AddFresh(view.numel() * 4);
    View to = view;
    to.offset = 0;
    EXPECT_TRUE(builder.HandOn(version, view, copy, to));
    builder.SameTensor(version, view, copy, to);
    builder.HeldHere(copy, to, FlowEvent::For::kBoth);
    builder.CopiedHere(to.numel() * 4);
    return copy;
  }
};

BufferPlan PlanOf(const FlowGraph& flow, const ReinplaceOptions& options = {}) {
  Result<BufferPlan> plan = PlanFlow(flow, options);
  EXPECT_TRUE(plan.ok()) << plan.error().ToString();
  Result<CheckedPlan> checked = CheckFlowPlan(flow, *plan);
  EXPECT_TRUE(checked.ok()) << checked.error().ToString();
  EXPECT_EQ(checked->copied_bytes, plan->copied_bytes);
  return *plan;
}

// "2 after; 0 after 0": the nodes in order with the steps that they wait for; copies by their why.
std::string OrderOf(const BufferPlan& plan) {
  std::string text;
  for (const Step& step : plan.steps) {
    if (!text.empty()) text += "; ";
    if (const auto* copy = std::get_if<CopyStep>(&step.what)) {
      text += fmt::format("{} {}", copy->why, copy->bytes);
    } else {
      text += fmt::format("node {}", std::get<ComputeStep>(step.what).node.index);
    }
    for (int before : step.after) text += fmt::format(" <{}", before);
  }
  return text;
}

// Node 0 updates x, node 1 reads what x held before.
FlowGraph LateReader() {
  Flow f;
  const int x = f.builder.AddInput(16, true, "x");
  const int after = f.Update(x, Floats(4));
  const int sum = f.Compute(x, Floats(4));
  f.builder.AddOutput(0, sum, Floats(4));
  f.builder.SetFinal(0, after);
  return f.builder.Finish();
}

TEST(Plan, ALateReaderIsMovedBeforeTheUpdate) {
  EXPECT_EQ(OrderOf(PlanOf(LateReader())), "node 1; node 0 <0");
}

TEST(Plan, OrItsValueIsSavedWhereTheOrderIsKept) {
  ReinplaceOptions options;
  options.keep_order = true;
  const BufferPlan plan = PlanOf(LateReader(), options);
  EXPECT_EQ(OrderOf(plan), "save 16; node 0 <0; node 1 <0");
}

TEST(Plan, FunctionalPlansCopyWhatTheyUpdate) {
  ReinplaceOptions options;
  options.always_copy = true;
  EXPECT_GE(PlanOf(LateReader(), options).copied_bytes, 16);
}

TEST(Plan, UpdatesOfOtherRowsAreNotOrdered) {
  Flow f;
  int x = f.builder.AddInput(32, true, "x");
  x = f.Update(x, Floats(2, 0));
  x = f.Update(x, Floats(2, 2));
  x = f.Update(x, Floats(4, 0));
  f.builder.SetFinal(0, x);
  EXPECT_EQ(OrderOf(PlanOf(f.builder.Finish())), "node 0; node 1; node 2 <0 <1");
}

TEST(Plan, OnlyTheRowThatIsStillWantedIsSaved) {
  Flow f;
  const int x = f.builder.AddInput(32, true, "x");
  const int after = f.Update(x, Floats(2, 0));
  // Reads the new row 0 and updates a copy of the old one.
  const int old = f.Clone(x, Floats(2, 0));
  const int done = f.Update(old, Floats(2), {{after, Floats(2, 0)}});
  f.builder.AddOutput(0, done, Floats(2));
  f.builder.SetFinal(0, after);
  EXPECT_EQ(PlanOf(f.builder.Finish()).copied_bytes, 8);
}

TEST(Plan, PartialOverlapIsAConflict) {
  struct Row {
    int64_t read_from;
    int64_t copied_bytes;
  };
  // A reader that depends on the update of elements 0..3 and wants old elements from `read_from`
  // on.
  for (const Row& row : {Row{0, 16}, Row{2, 8}, Row{4, 0}}) {
    Flow f;
    const int x = f.builder.AddInput(32, true, "x");
    const int after = f.Update(x, Floats(4, 0));
    f.Begin().opaque = true;
    f.builder.AddOperand(x, Floats(4, row.read_from), true, false);
    f.builder.AddOperand(after, Floats(4, 0), true, false);
    f.builder.EndOperands({});
    const int sum = f.builder.AddResult(Floats(1), 4);
    f.builder.EndNode();
    f.builder.AddOutput(0, sum, Floats(1));
    f.builder.SetFinal(0, after);
    // The custom operator reads four elements at once: what is saved is gathered with the rest.
    const int64_t copied = PlanOf(f.builder.Finish()).copied_bytes;
    EXPECT_GE(copied, row.copied_bytes) << row.read_from;
    EXPECT_EQ(copied == 0, row.copied_bytes == 0) << row.read_from;
    EXPECT_LE(copied, 16) << row.read_from;
  }
}

TEST(Plan, DeadNodesDoNotRun) {
  Flow f;
  const int x = f.builder.AddInput(16, false, "x");
  f.Compute(x, Floats(4));
  const int kept = f.Compute(x, Floats(4));
  f.builder.AddOutput(0, kept, Floats(4));
  EXPECT_EQ(OrderOf(PlanOf(f.builder.Finish())), "node 1");
}

TEST(Plan, AnUpdateOfAnInputThatNobodyWritesWorksOnACopy) {
  Flow f;
  const int x = f.builder.AddInput(16, false, "x");
  const int copy = f.Clone(x, Floats(4));
  const int done = f.Update(copy, Floats(4));
  f.builder.AddOutput(0, done, Floats(4));
  EXPECT_EQ(OrderOf(PlanOf(f.builder.Finish())), "place 16; node 0 <0");
}

// ---- the checker: each rule refuses, by its own words

struct Broken {
  const char* name;
  std::function<void(BufferPlan&)> change;
  const char* message;
};

ComputeStep& ComputeAt(BufferPlan& plan, size_t i) {
  return std::get<ComputeStep>(plan.steps[i].what);
}

void ExpectRefused(const FlowGraph& flow, const std::vector<Broken>& all,
                   const ReinplaceOptions& options = {}) {
  const BufferPlan good = PlanOf(flow, options);
  for (const Broken& broken : all) {
    BufferPlan plan = good;
    broken.change(plan);
    const Result<CheckedPlan> checked = CheckFlowPlan(flow, plan);
    ASSERT_FALSE(checked.ok()) << broken.name;
    EXPECT_NE(checked.error().message.find(broken.message), std::string::npos)
        << broken.name << ": " << checked.error().message;
    EXPECT_EQ(checked.error().kind, ErrorKind::kInternal) << broken.name;
  }
}

// The plan is "node 1; node 0 <0".
TEST(Checker, RefusesBrokenOrders) {
  ExpectRefused(
      LateReader(),
      {{"no edge", [](BufferPlan& p) { p.steps[1].after.clear(); }, "no edge from step 0"},
       {"an edge to itself", [](BufferPlan& p) { p.steps[1].after = {1}; },
        "an order edge points forwards"},
       {"the reader runs late",
        [](BufferPlan& p) {
          std::swap(p.steps[0], p.steps[1]);
          p.steps[0].after.clear();
          p.steps[1].after = {0};
        },
        "operand 0 holds another version"},
       {"a node is left out", [](BufferPlan& p) { p.steps.pop_back(); }, "node 0 does not run"},
       {"a node runs twice",
        [](BufferPlan& p) {
          p.steps.push_back(p.steps[1]);
          p.steps[2].after = {0, 1};
        },
        "a node runs twice"}});
}

TEST(Checker, RefusesBrokenPlaces) {
  ExpectRefused(
      LateReader(),
      {{"an operand beyond its buffer",
        [](BufferPlan& p) { ComputeAt(p, 0).operands[0].view.offset = 1; },
        "reaches beyond its buffer"},
       {"before its buffer", [](BufferPlan& p) { ComputeAt(p, 0).operands[0].view.offset = -1; },
        "reaches beyond its buffer"},
       {"in no buffer", [](BufferPlan& p) { ComputeAt(p, 0).operands[0].buffer = BufferId(99); },
        "an operand in no buffer"},
       {"another shape", [](BufferPlan& p) { ComputeAt(p, 0).operands[0].view.sizes = {2, 2}; },
        "has another shape"},
       {"the update elsewhere",
        [](BufferPlan& p) {
          p.buffers.emplace_back().bytes = 16;
          ComputeAt(p, 1).operands[0].buffer = BufferId(static_cast<int64_t>(p.buffers.size()) - 1);
        },
        "operand 0 holds another version"},
       {"too few places", [](BufferPlan& p) { ComputeAt(p, 0).operands.clear(); },
        "not a place for each operand"},
       {"an input that may not be written", [](BufferPlan& p) { p.buffers[0].may_write = false; },
        "not what the input is"},
       {"a result in the arena",
        [](BufferPlan& p) {
          const BufferId b = p.outputs[0].place.buffer;
          p.buffers[static_cast<size_t>(b.index)].kind = Buffer::Kind::kTemp;
        },
        "new memory, but lies elsewhere"},
       {"a result that nobody makes", [](BufferPlan& p) { p.outputs.clear(); },
        "result 0 has no place"},
       {"a result with another layout",
        [](BufferPlan& p) { p.outputs[0].place.view.strides = {2}; }, "another layout"}});
}

TEST(Checker, RefusesBrokenCopies) {
  ReinplaceOptions options;
  options.keep_order = true;  // "save 16; node 0; node 1"
  auto copy = [](BufferPlan& p) -> CopyStep& { return std::get<CopyStep>(p.steps[0].what); };
  ExpectRefused(LateReader(),
                {{"not counted", [&](BufferPlan& p) { copy(p).bytes = 0; }, "how many bytes"},
                 {"too little",
                  [&](BufferPlan& p) {
                    copy(p).runs[0].bytes = 12;
                    copy(p).bytes = 12;
                  },
                  "holds another version"},
                 {"beyond the buffer", [&](BufferPlan& p) { copy(p).runs[0].source_offset = 4; },
                  "a copy beyond its buffer"},
                 {"a byte twice",
                  [&](BufferPlan& p) {
                    copy(p).runs.push_back(copy(p).runs[0]);
                    copy(p).bytes = 32;
                  },
                  "writes a byte twice"}},
                options);
}

// A replay of versions alone does not see this: y = clone(t); op(y!, t) with y placed on t.
TEST(Checker, RefusesAReadThatTheOperatorItselfDestroys) {
  Flow f;
  const int x = f.builder.AddInput(16, false, "x");
  const int t = f.Compute(x, Floats(4));
  const int y = f.Clone(t, Floats(4));
  const int done = f.Update(y, Floats(4), {{t, Floats(4)}});
  f.builder.AddOutput(0, done, Floats(4));
  const FlowGraph flow = f.builder.Finish();
  ExpectRefused(flow, {{"both in one place",
                        [](BufferPlan& p) {
                          ComputeStep& update = ComputeAt(p, p.steps.size() - 1);
                          update.operands[1] = update.operands[0];
                        },
                        "meet in memory, not so in the program"}});
  EXPECT_EQ(PlanOf(flow).copied_bytes, 16);
}

TEST(Checker, RefusesAResultOnAnOperandThatIsReadOtherwise) {
  Flow f;
  const int x = f.builder.AddInput(16, true, "x");
  const int after = f.Update(x, Floats(4));
  f.Begin();  // neither point-wise nor opaque: a reduction, say
  f.builder.AddOperand(after, Floats(4), true, false);
  f.builder.EndOperands({});
  const int sum = f.builder.AddResult(Floats(1), 4);
  f.builder.EndNode();
  f.builder.AddOutput(0, sum, Floats(1));
  f.builder.SetFinal(0, after);
  ExpectRefused(f.builder.Finish(), {{"the result on its operand",
                                      [](BufferPlan& p) {
                                        ComputeStep& last = ComputeAt(p, 1);
                                        last.results[0].buffer = last.operands[0].buffer;
                                      },
                                      "destroys operand 0 while it is read"}});
}

TEST(Checker, RefusesResultsThatShareMemoryWithoutReason) {
  Flow f;
  const int x = f.builder.AddInput(16, false, "x");
  const int t = f.Compute(x, Floats(4));
  const int y = f.Clone(t, Floats(4));
  f.builder.AddOutput(0, t, Floats(4));
  f.builder.AddOutput(1, y, Floats(4));
  ExpectRefused(f.builder.Finish(),
                {{"one buffer for two results",
                  [](BufferPlan& p) { p.outputs[1].place = p.outputs[0].place; },
                  "two results that share no memory lie in one buffer"}});
}

}  // namespace
}  // namespace palimpsest::reinplace
