#include "compiled_case.h"

#include <cstring>
#include <map>

#include "functionalize/functionalize.h"
#include "ir/text.h"
#include "kernels/builtin.h"
#include "kernels/random.h"
#include "op/plugin_loader.h"
#include "palimpsest/plugin.h"
#include "passes/all_passes.h"
#include "reinplace/build_flow.h"
#include "reinplace/reinplace.h"
#include "runtime/executable.h"

extern "C" uint32_t palimpsest_operators_v1(PalHost* host);

namespace palimpsest::plans {
namespace {

const op::OpTable& Operators() {
  static const op::OpTable* table = [] {
    auto* t = new op::OpTable;
    const bool known = kernels::RegisterBuiltins(*t).ok() &&
                       op::RegisterPlugin(palimpsest_operators_v1, "caselib", *t).ok();
    return known ? t : nullptr;
  }();
  return *table;
}

std::vector<Value> ShapeOnly(const cases::Memory& memory, std::vector<Value> args) {
  std::map<Storage*, StorageRef> shapes;
  for (const StorageRef& s : memory.storages) shapes[s.get()] = ShapeOnlyStorage(s->bytes());
  for (Value& v : args) v.As<Tensor>().storage = shapes[v.tensor().storage.get()];
  return args;
}

void Restore(const CompiledCase& c) {
  for (size_t s = 0; s < c.before.size(); ++s) {
    std::copy(c.before[s].begin(), c.before[s].end(), c.memory.storages[s]->data());
  }
}

void Add(const CompiledCase& c, const std::vector<Value>& results, Outcome* outcome) {
  std::map<const Storage*, int> numbers;
  for (const StorageRef& s : c.memory.storages) {
    numbers.emplace(s.get(), static_cast<int>(numbers.size()));
  }
  for (const Value& value : results) {
    if (!value.IsTensor()) continue;
    const Tensor& t = value.tensor();
    std::vector<std::byte> bytes;
    const size_t item = static_cast<size_t>(t.item_size());
    cases::ForEachElement(t,
                          [&](const std::byte* at) { bytes.insert(bytes.end(), at, at + item); });
    if (!bytes.empty()) {
      outcome->memory.push_back(
          numbers.emplace(t.storage.get(), static_cast<int>(numbers.size())).first->second);
    }
    outcome->results.push_back(std::move(bytes));
  }
  for (size_t s = 0; s < c.memory.storages.size(); ++s) {
    outcome->storages.push_back(c.memory.Snapshot(s));
  }
}

}  // namespace

Result<CompiledCase> CompileCase(const cases::Json& json) {
  CompiledCase c;
  c.id = json["id"].Text();
  PAL_TRY(c.memory, cases::MakeMemory(json["storages"]));
  c.args = cases::MakeArguments(c.memory, json["args"]);
  for (const Value& v : c.args) {
    if (!v.IsTensor()) return Unsupported("an argument that is no tensor");
  }
  for (size_t s = 0; s < c.memory.storages.size(); ++s) c.before.push_back(c.memory.Snapshot(s));
  RemarkSink remarks;
  PAL_TRY(c.program, ir::ParseText(json["program"].Text(), Operators()));
  PAL_TRY(passes::RunPasses(c.program, passes::PreparationPasses(), {}, remarks));
  const std::vector<Value> inputs = ShapeOnly(c.memory, c.args);
  PAL_TRY(c.optimized, functionalize::Functionalize(c.program, inputs, {}, {}, remarks));
  PAL_TRY(passes::RunPasses(c.optimized, passes::OptimizationPasses(), {}, remarks));
  PAL_TRY(c.plan, reinplace::Reinplace(c.optimized, inputs, {}, remarks));
  PAL_TRY(c.trace, interpret::InferMeta(c.optimized, inputs));
  PAL_TRY(c.flow, reinplace::BuildFlow(c.optimized, inputs, {}));
  return c;
}

Outcome Interpreted(const CompiledCase& c) {
  Restore(c);
  Outcome outcome;
  op::Generator generator;
  interpret::WalkOptions options;
  options.generator = &generator;
  Result<interpret::Trace> trace = interpret::Interpret(c.program, c.args, options);
  if (trace.ok()) {
    Add(c, trace->outputs, &outcome);
  } else {
    outcome.error = trace.error().ToString();
  }
  Restore(c);
  return outcome;
}

Outcome Executed(const CompiledCase& c, const reinplace::BufferPlan& plan) {
  Restore(c);
  Outcome outcome;
  op::Generator generator;
  runtime::Frame frame;
  frame.generator = &generator;
  std::map<const Storage*, size_t> seen;
  for (const Value& v : c.args) {
    if (seen.emplace(v.tensor().storage.get(), seen.size()).second) {
      frame.storages.push_back(v.tensor().storage);
    }
  }
  auto run = [&]() -> Result<std::vector<Value>> {
    PAL_TRY(auto executable, runtime::Lower(c.optimized, c.trace, plan));
    return runtime::Execute(*executable, frame);
  };
  Result<std::vector<Value>> results = run();
  if (results.ok()) {
    Add(c, *results, &outcome);
  } else {
    outcome.error = results.error().ToString();
  }
  Restore(c);
  return outcome;
}

reinplace::BufferPlan InOrder(const reinplace::BufferPlan& plan, const std::vector<int>& order) {
  std::vector<int> now(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    now[static_cast<size_t>(order[i])] = static_cast<int>(i);
  reinplace::BufferPlan result = plan;
  for (size_t i = 0; i < order.size(); ++i) {
    result.steps[i] = plan.steps[static_cast<size_t>(order[i])];
    for (int& before : result.steps[i].after) before = now[static_cast<size_t>(before)];
  }
  return result;
}

}  // namespace palimpsest::plans
