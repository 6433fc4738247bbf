// Every program case, through the interpreter as written (expanded), and through Functionalize and
// the interpreter. PAL_CASE=ID runs one case and prints its graphs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <optional>

#include "../cases_runner/json.h"
#include "../cases_runner/tensors.h"

#include "functionalize/functionalize.h"
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

using cases::Difference;
using cases::Json;
using cases::Memory;

constexpr cases::Tolerance kTolerance = {1e-5, 1e-5};

// The call signature: the same tensors on shape-only storages.
std::vector<Value> ShapeOnly(const Memory& memory, std::vector<Value> args) {
  std::map<Storage*, StorageRef> shapes;
  for (const StorageRef& s : memory.storages) shapes[s.get()] = ShapeOnlyStorage(s->bytes());
  for (Value& v : args) v.As<Tensor>().storage = shapes[v.tensor().storage.get()];
  return args;
}

// Storages of a call by name: s0 ... of the inputs, f0 ... in order of appearance.
struct Names {
  std::map<const Storage*, std::string> name;
  int fresh = 0;
  std::string Of(const Tensor& t) {
    auto [it, is_new] = name.try_emplace(t.storage.get());
    if (is_new) it->second = fmt::format("f{}", fresh++);
    return it->second;
  }
};

Difference CompareOutputs(const Json& expected, const Memory& memory,
                          const std::vector<Value>& results) {
  if (results.size() != expected.size()) return fmt::format("{} outputs", results.size());
  Names names;
  for (size_t s = 0; s < memory.storages.size(); ++s) {
    names.name[memory.storages[s].get()] = fmt::format("s{}", s);
  }
  std::map<std::string, int64_t> shift;  // f0 -> offset minus expected offset, in bytes
  for (size_t k = 0; k < results.size(); ++k) {
    const Tensor& t = results[k].tensor();
    const Json& e = expected[k];
    Dims strides = e["st"].Dims();
    Difference d = cases::CompareType(t, cases::DTypeOf(e["dt"]), e["sz"].Dims(), &strides);
    if (!d) d = cases::CompareElements(t, e["vals"], kTolerance);
    std::string mem = names.Of(t);
    if (!d && t.numel() > 0) {
      int64_t distance = (t.offset - e["of"].Int()) * t.item_size();
      if (mem != e["mem"].Text()) d = "is in " + mem;
      auto first = shift.try_emplace(mem, mem[0] == 's' ? 0 : distance).first;
      if (!d && distance != first->second) d = fmt::format("has offset {}", t.offset);
    }
    if (d) return fmt::format("output {} {}", k, *d);
  }
  return std::nullopt;
}

Difference CompareAfter(const Json& after, const Memory& memory,
                        const std::vector<std::vector<std::byte>>& before) {
  for (size_t s = 0; s < memory.storages.size(); ++s) {
    Difference d;
    if (after[s].IsNull()) {
      if (memory.Snapshot(s) != before[s]) d = "was changed";
    } else {
      Tensor all = cases::WholeStorage(memory.storages[s], memory.dtypes[s]);
      d = cases::CompareElements(all, after[s], kTolerance);
    }
    if (d) return fmt::format("storage {} {}", s, *d);
  }
  return std::nullopt;
}

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
  PAL_TRY(ir::Graph graph, ir::ParseText(c["program"].Text(), Operators()));
  for (const ir::Node& node : graph.nodes) {
    bool call = node.kind == ir::Node::Kind::kCall && !node.target.starts_with("torch.ops.higher");
    if (call && node.op == nullptr) return Unsupported("unknown operator " + node.target);
  }
  RemarkSink remarks;
  PAL_TRY(passes::RunPasses(graph, passes::PreparationPasses(), {}, remarks));
  return graph;
}

Status RunOnce(const ir::Graph& graph, const Json& expect, const Memory& memory,
               const std::vector<Value>& args, Difference* difference) {
  std::vector<std::vector<std::byte>> before;
  for (size_t s = 0; s < memory.storages.size(); ++s) before.push_back(memory.Snapshot(s));
  PAL_TRY(interpret::Trace trace, interpret::Interpret(graph, args));
  if (expect.Has("error")) return {};
  *difference = CompareOutputs(expect["outputs"], memory, trace.outputs);
  if (!*difference) *difference = CompareAfter(expect["after"], memory, before);
  return {};
}

Status RunCalls(const Json& c, const Compile& compile, Difference* difference) {
  PAL_TRY(Memory memory, cases::MakeMemory(c["storages"]));
  std::vector<Value> args = cases::MakeArguments(memory, c["args"]);
  PAL_TRY(ir::Graph program, Expanded(c));
  PAL_TRY(ir::Graph graph, compile(program, ShapeOnly(memory, args)));
  for (const Json& expect : c["expect"].items()) {
    PAL_TRY(RunOnce(graph, expect, memory, args, difference));
    if (*difference) break;
  }
  return {};
}

void RunCase(const Json& c, const Compile& compile, Tally* tally) {
  Difference difference;
  Status status = RunCalls(c, compile, &difference);
  if (!status.ok() && (status.error().kind == ErrorKind::kUnsupported ||
                       status.error().kind == ErrorKind::kUnknownOperator)) {
    ++tally->skipped;
    ++tally->reasons[status.error().message];
    return;
  }
  if (c["expect"][0].Has("error")) {
    if (status.ok()) difference = "was not refused";
    if (!status.ok() && status.error().reason.empty()) difference = status.error().ToString();
  } else if (!status.ok()) {
    difference = status.error().ToString();
  }
  if (!difference) {
    ++tally->passed;
  } else {
    tally->failed.push_back(c["id"].Text() + ": " + *difference);
  }
}

void RunAll(const Compile& compile) {
  SetPoisonNewMemory(true);
  const char* only = std::getenv("PAL_CASE");
  Tally tally;
  int count = 0;
  auto all = cases::LoadJsonLines(std::string(PAL_SOURCE_DIR) + "/tests/cases/programs-open.jsonl");
  ASSERT_TRUE(all.ok()) << all.error().message;
  for (const Json& c : *all) {
    if (only != nullptr && c["id"].Text() != only) continue;
    ++count;
    if (only != nullptr) fmt::print("{}\n", c["program"].Text());
    RunCase(c, compile, &tally);
  }
  SetPoisonNewMemory(false);
  for (const auto& [reason, n] : tally.reasons) fmt::print("skipped {}: {}\n", n, reason);
  for (const std::string& failure : tally.failed) fmt::print("FAILED {}\n", failure);
  fmt::print("{} passed, {} failed, {} skipped\n", tally.passed, tally.failed.size(),
             tally.skipped);
  EXPECT_TRUE(tally.failed.empty());
  EXPECT_GT(count, 0);
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
