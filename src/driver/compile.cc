#include "driver/compile.h"

#include <fmt/format.h>

#include <chrono>

#include "core/overlap.h"
#include "functionalize/functionalize.h"
#include "interpret/bind.h"
#include "ir/text.h"
#include "passes/all_passes.h"
#include "passes/expand_composites.h"
#include "reinplace/checker.h"
#include "reinplace/reinplace.h"
#include "runtime/direct_graph.h"

namespace palimpsest::driver {
namespace {

// Milliseconds since the last call.
class Clock {
 public:
  double Lap() {
    auto now = std::chrono::steady_clock::now();
    double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// A graph functionalized elsewhere writes each input back on its own: if another input shows the
// same memory, eager PyTorch's answer cannot be had from it.
Status RefuseOverlappingWrites(const Program::Impl& program, const CallSignature& signature) {
  if (!program.functionalized_elsewhere) return {};
  for (const ir::WriteBack& write : program.source.write_backs) {
    size_t w = static_cast<size_t>(write.input.index);
    if (!signature.inputs[w].IsTensor()) continue;
    for (size_t i = 0; i < signature.inputs.size(); ++i) {
      if (i == w || !signature.inputs[i].IsTensor()) continue;
      if (!MayOverlap(signature.inputs[w].tensor(), signature.inputs[i].tensor())) continue;
      return BadInput(
          fmt::format("inputs '{}' (written) and '{}' share memory, and the file was "
                      "functionalized before they "
                      "were known to: export the program without run_decompositions(), or pass "
                      "separate tensors",
                      program.input_name(w), program.input_name(i)));
    }
  }
  return {};
}

std::vector<bool> WrittenStorages(const ir::Graph& functional, const CallSignature& signature) {
  std::map<Storage*, size_t> index;
  for (const Value& input : signature.inputs) {
    ForEachTensor(input, [&](const Tensor& t) { index.emplace(t.storage.get(), index.size()); });
  }
  std::vector<bool> written(index.size(), false);
  for (const ir::WriteBack& write : functional.write_backs) {
    const Value& input = signature.inputs[static_cast<size_t>(write.input.index)];
    written[index.at(input.tensor().storage.get())] = true;
  }
  return written;
}

Explanation Numbers(const Program::Impl& program, const Specialised& s) {
  Explanation e;
  std::vector<std::string> names;
  for (size_t i = 0, n = program.program.num_inputs(); i < n; ++i)
    names.push_back(program.input_name(i));
  e.signature = Describe(s.signature, names);
  e.copied_bytes = s.plan.copied_bytes;
  e.least_copied_bytes = s.plan.lower_bound;
  e.program_copied_bytes = s.plan.program_copied_bytes;
  e.clones = s.plan.clones;
  e.arena_bytes = s.executable->arena_bytes;
  e.arena_lower_bound = s.executable->arena_lower_bound;
  for (const reinplace::BaseReport& b : s.plan.bases) {
    e.bases.push_back({b.name, b.bytes, b.verdict, b.copied_bytes, b.reader, b.writer, b.reader_at,
                       b.writer_at, b.why});
  }
  return e;
}

// "x: 16 bytes (snapshot), read by clone at model.py:3, written by add_one at model.py:4: why"
std::string Describe(const Explanation::Base& base) {
  auto actor = [](const char* role, const std::string& name, const std::string& place) {
    return name.empty()
               ? ""
               : fmt::format(", {} by {}{}{}", role, name, place.empty() ? "" : " at ", place);
  };
  return fmt::format("\n  {}: {} bytes ({}){}{}: {}", base.name, base.copied_bytes, base.verdict,
                     actor("read", base.reader, base.reader_at),
                     actor("written", base.writer, base.writer_at), base.why);
}

const Explanation::Base* FindBase(const Explanation& e, const std::string& name) {
  for (const Explanation::Base& base : e.bases) {
    if (base.name == name) return &base;
  }
  return nullptr;
}

bool IsInput(const ir::Graph& graph, const std::string& name) {
  for (size_t i = 0, n = graph.num_inputs(); i < n; ++i) {
    if (graph.nodes[i].name == name) return true;
  }
  return false;
}

// Does the result of this name lie in the memory of an input? Nullopt: there is no such result.
std::optional<bool> ResultAliases(const Specialised& s, const ir::Graph& program,
                                  const std::string& name) {
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const ir::Argument& output = program.outputs[i];
    if (!output.IsNode() || program.node(output.node()).name != name) continue;
    for (const reinplace::OutputPlace& o : s.plan.outputs) {
      if (o.output != static_cast<int>(i)) continue;
      const auto& buffer = s.plan.buffers[static_cast<size_t>(o.place.buffer.index)];
      return buffer.kind == reinplace::Buffer::Kind::kInput;
    }
  }
  return std::nullopt;
}

Status CheckForbiddenCopies(const Options& options, const ir::Graph& program,
                            const Explanation& e) {
  for (const std::string& name : options.forbid_copy) {
    const Explanation::Base* base = FindBase(e, name);
    if (base == nullptr && !IsInput(program, name)) {
      return UsageError(fmt::format("forbid_copy: there is no input or written base '{}'", name));
    }
    if (base == nullptr || base->copied_bytes == 0) continue;
    return ContractBroken(fmt::format("'{}' must not be copied{}", name, Describe(*base)));
  }
  return {};
}

Status CheckAliases(const Options& options, const ir::Graph& program, const Specialised& s,
                    const Explanation& e) {
  for (const std::string& name : options.must_alias) {
    if (std::optional<bool> aliases = ResultAliases(s, program, name)) {
      if (*aliases) continue;
      return ContractBroken(
          fmt::format("result '{}' must lie in the memory of an input, but is new memory", name));
    }
    const Explanation::Base* base = FindBase(e, name);
    if (base == nullptr && !IsInput(program, name)) {
      return UsageError(fmt::format("must_alias: there is no result or input '{}'", name));
    }
    if (base == nullptr) {
      return ContractBroken(
          fmt::format("input '{}' must be written in place, but nobody writes it", name));
    }
    if (base->verdict == "in place") continue;
    return ContractBroken(fmt::format("'{}' must be written in place{}", name, Describe(*base)));
  }
  return {};
}

Status CheckContract(const Options& options, const ir::Graph& program, const Specialised& s,
                     const Explanation& e) {
  PAL_TRY(CheckForbiddenCopies(options, program, e));
  PAL_TRY(CheckAliases(options, program, s, e));
  if (options.max_copied_bytes < 0 || e.copied_bytes <= options.max_copied_bytes) return {};
  std::string why;
  for (const Explanation::Base& base : e.bases) {
    if (base.copied_bytes > 0) why += Describe(base);
  }
  return ContractBroken(fmt::format("a call copies {} bytes, max_copied_bytes allows {}{}",
                                    e.copied_bytes, options.max_copied_bytes, why));
}

}  // namespace

Result<std::shared_ptr<const Specialised>> Specialise(const Program::Impl& program,
                                                      const Options& options,
                                                      const CallSignature& signature,
                                                      std::span<const Value> data) {
  PAL_TRY(program.runnable);
  PAL_TRY(interpret::BindSymbols(program.program, signature.inputs));
  PAL_TRY(RefuseOverlappingWrites(program, signature));
  auto s = std::make_shared<Specialised>();
  s->signature = signature;
  s->signature.storages.clear();  // the caller's memory is not ours to keep
  RemarkSink remarks;
  Clock clock;

  functionalize::FunctionalizeOptions functionalize_options;
  functionalize_options.version = options.functionalize == FunctionalizeVersion::kV1
                                      ? functionalize::FunctionalizeOptions::Version::kV1
                                      : functionalize::FunctionalizeOptions::Version::kV2;
  PAL_TRY(s->functional, functionalize::Functionalize(program.program, signature.inputs,
                                                      program.read_ahead->ByNode(data),
                                                      functionalize_options, remarks));
  double functionalize_ms = clock.Lap();

  s->optimized = s->functional;
  PAL_TRY(passes::RunPasses(s->optimized, passes::OptimizationPasses(),
                            {.disabled = options.disabled_passes}, remarks));
  double optimize_ms = clock.Lap();

  PAL_TRY(s->plan,
          reinplace::Reinplace(
              s->optimized, signature.inputs,
              {.always_copy = options.always_copy, .keep_order = options.keep_order}, remarks));
  double reinplace_ms = clock.Lap();

  PAL_TRY(s->trace, interpret::InferMeta(s->optimized, signature.inputs));
  PAL_TRY(s->executable, runtime::Lower(s->optimized, s->trace, s->plan));
  double plan_ms = clock.Lap();

  PAL_TRY(reinplace::CheckedPlan checked,
          reinplace::CheckPlan(s->optimized, signature.inputs, s->plan));
  s->written = WrittenStorages(s->functional, signature);
  s->numbers = Numbers(program, *s);
  s->numbers.checked_copied_bytes = checked.copied_bytes;
  s->numbers.functionalize_ms = functionalize_ms;
  s->numbers.optimize_ms = optimize_ms;
  s->numbers.reinplace_ms = reinplace_ms;
  s->numbers.plan_ms = plan_ms;
  for (const Remark& r : remarks.remarks()) {
    s->numbers.remarks.push_back(fmt::format("{}{}{}: {}: {}", r.place, r.place.empty() ? "" : ": ",
                                             r.pass, r.kind, r.text));
  }
  PAL_TRY(CheckContract(options, program.program, *s, s->numbers));
  return std::shared_ptr<const Specialised>(std::move(s));
}

Explanation ExplainSpecialised(const Program::Impl& program, const Specialised& specialised) {
  Explanation e = specialised.numbers;
  e.stages.emplace_back("program", ir::Print(program.program));
  e.stages.emplace_back("functional", ir::Print(specialised.functional));
  e.stages.emplace_back("optimized", ir::Print(specialised.optimized));
  // Every functional node as copies, views and the plain call: what runs if nothing is put in
  // place.
  ir::Graph decomposed = specialised.optimized;
  RemarkSink ignored;
  Result<int> expanded = passes::ExpandComposites(decomposed, ignored);
  e.stages.emplace_back("decomposed",
                        expanded.ok() ? ir::Print(decomposed) : expanded.error().ToString());
  e.stages.emplace_back("planned",
                        ir::Print(runtime::PlannedGraph(specialised.optimized, specialised.plan,
                                                        *specialised.executable)));
  Result<ir::Graph> direct =
      runtime::DirectGraph(specialised.optimized, specialised.trace, specialised.plan);
  e.stages.emplace_back("direct", direct.ok() ? ir::Print(*direct) : direct.error().ToString());
  return e;
}

Result<std::shared_ptr<const Specialised>> FindOrSpecialise(const Executable::Impl& executable,
                                                            const CallSignature& signature,
                                                            std::span<const Value> data,
                                                            bool* compiled_now) {
  *compiled_now = false;
  {
    std::lock_guard lock(executable.mutex);
    auto it = executable.by_key.find(signature.key);
    if (it != executable.by_key.end()) {
      executable.entries.splice(executable.entries.begin(), executable.entries, it->second);
      return it->second->second;
    }
    if (executable.options.signatures == Signatures::kFixed && !executable.entries.empty()) {
      return BadInput(fmt::format(
          "the call has another signature than the one compiled for, and Options::signatures is "
          "kFixed; compiled for: {}",
          executable.entries.front().second->numbers.signature));
    }
  }
  // Compiled outside of the lock: two threads may do the same work once.
  PAL_TRY(std::shared_ptr<const Specialised> specialised,
          Specialise(*executable.program, executable.options, signature, data));
  *compiled_now = true;
  std::lock_guard lock(executable.mutex);
  if (!executable.by_key.contains(signature.key)) {
    executable.entries.emplace_front(signature.key, specialised);
    executable.by_key[signature.key] = executable.entries.begin();
    while (static_cast<int>(executable.entries.size()) >
           std::max(1, executable.options.max_cached_signatures)) {
      executable.by_key.erase(executable.entries.back().first);
      executable.entries.pop_back();
    }
  }
  return specialised;
}

}  // namespace palimpsest::driver
