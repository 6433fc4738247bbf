// Every program case, through the interpreter as written (expanded), and through Functionalize and
// the interpreter. PAL_CASE=ID runs one case and prints its graphs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "functionalize/functionalize.h"
#include "functionalize/program_cases_test.h"
#include "interpret/bind.h"
#include "interpret/interpret.h"
#include "ir/text.h"
#include "kernels/builtin.h"
#include "op/plugin_loader.h"
#include "palimpsest/plugin.h"
#include "passes/all_passes.h"

extern "C" uint32_t palimpsest_operators_v1(PalHost* host);

namespace palimpsest::functionalize {
namespace {

struct Tally {
  int passed = 0, skipped = 0;
  std::map<std::string, int> reasons;  // of skipped cases
  std::vector<std::string> failed;
};

const op::OpTable& Operators() {
  static const op::OpTable* table = [] {
    auto* t = new op::OpTable;
    EXPECT_TRUE(kernels::RegisterBuiltins(*t).ok());
    Status caselib = op::RegisterPlugin(palimpsest_operators_v1, "caselib", *t);
    EXPECT_TRUE(caselib.ok()) << caselib.error().message;
    return t;
  }();
  return *table;
}

// Makes the graph that is to run from the expanded program and the signature.
using Compile = std::function<Result<ir::Graph>(const ir::Graph&, std::span<const Value>)>;

Result<ir::Graph> Expanded(const Json& c) {
  PAL_TRY(ir::Graph graph, ir::ParseText(c["program"].GetString(), Operators()));
  for (const ir::Node& node : graph.nodes) {
    bool call = node.kind == ir::Node::Kind::kCall && !node.target.starts_with("torch.ops.higher");
    if (call && node.op == nullptr) return Unsupported("unknown operator " + node.target);
  }
  RemarkSink remarks;
  PAL_TRY(passes::RunPasses(graph, passes::PreparationPasses(), {}, remarks));
  return graph;
}

Status RunOnce(const ir::Graph& graph, const Json& expect, const CaseMemory& memory,
               std::string* difference) {
  std::vector<std::vector<std::byte>> before = Snapshot(memory);
  PAL_TRY(interpret::Trace trace, interpret::Interpret(graph, memory.args));
  *difference = CompareOutputs(expect, memory, trace.outputs);
  if (difference->empty()) *difference = CompareAfter(expect, memory, before);
  return {};
}

void RunCase(const Json& c, const Compile& compile, Tally* tally) {
  std::string id = c["id"].GetString();
  bool refused = c["expect"][0].HasMember("error");
  CaseMemory memory = MakeCaseMemory(c);
  std::string difference;
  auto run = [&]() -> Status {
    PAL_TRY(ir::Graph program, Expanded(c));
    PAL_TRY(ir::Graph graph, compile(program, ShapeOnly(memory)));
    for (const Json& expect : c["expect"].GetArray()) {
      if (refused) {
        PAL_TRY(interpret::Interpret(graph, memory.args));
        continue;
      }
      PAL_TRY(RunOnce(graph, expect, memory, &difference));
      if (!difference.empty()) return {};
    }
    return {};
  };
  Status status = run();
  if (!status.ok() && (status.error().kind == ErrorKind::kUnsupported ||
                       status.error().kind == ErrorKind::kUnknownOperator)) {
    ++tally->skipped;
    ++tally->reasons[status.error().message];
    return;
  }
  if (refused) {
    if (status.ok()) difference = "was not refused";
    if (!status.ok() && status.error().reason.empty()) difference = "refused without a reason";
  } else if (!status.ok()) {
    difference = status.error().ToString();
  }
  if (difference.empty()) {
    ++tally->passed;
  } else {
    tally->failed.push_back(id + ": " + difference);
  }
}

void RunAll(const Compile& compile) {
  SetPoisonNewMemory(true);
  const char* only = std::getenv("PAL_CASE");
  Tally tally;
  int cases = 0;
  for (const auto& c : ReadCases()) {
    if (only != nullptr && std::string((*c)["id"].GetString()) != only) continue;
    ++cases;
    if (only != nullptr) fmt::print("{}\n", (*c)["program"].GetString());
    RunCase(*c, compile, &tally);
  }
  SetPoisonNewMemory(false);
  for (const auto& [reason, count] : tally.reasons) fmt::print("skipped {}: {}\n", count, reason);
  for (const std::string& failure : tally.failed) fmt::print("FAILED {}\n", failure);
  fmt::print("{} passed, {} failed, {} skipped\n", tally.passed, tally.failed.size(),
             tally.skipped);
  EXPECT_TRUE(tally.failed.empty());
  EXPECT_GT(cases, 0);
}

Result<ir::Graph> CompileWith(FunctionalizeOptions::Version version, const ir::Graph& program,
                              std::span<const Value> inputs) {
  RemarkSink remarks;
  PAL_TRY(ir::Graph graph, Functionalize(program, inputs, {}, {version}, remarks));
  if (std::getenv("PAL_CASE") != nullptr) fmt::print("{}\n", ir::Print(graph));
  PAL_TRY(passes::RunPasses(graph, passes::OptimizationPasses(), {}, remarks));
  if (std::getenv("PAL_CASE") != nullptr) fmt::print("{}\n", ir::Print(graph));
  return graph;
}

TEST(Programs, AsWritten) {
  RunAll([](const ir::Graph& program, std::span<const Value>) -> Result<ir::Graph> {
    if (std::getenv("PAL_CASE") != nullptr) fmt::print("{}\n", ir::Print(program));
    return program;
  });
}

TEST(Programs, FunctionalizedV2) {
  RunAll([](const ir::Graph& program, std::span<const Value> inputs) {
    return CompileWith(FunctionalizeOptions::Version::kV2, program, inputs);
  });
}

TEST(Programs, FunctionalizedV1) {
  RunAll([](const ir::Graph& program, std::span<const Value> inputs) {
    return CompileWith(FunctionalizeOptions::Version::kV1, program, inputs);
  });
}

}  // namespace
}  // namespace palimpsest::functionalize
