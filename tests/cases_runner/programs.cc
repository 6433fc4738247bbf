// Kind `programs`: values, layout and memory sharing after a program has run, once or several
// times; bytes copied. Each program goes through the interpreter and through the compiler.
#include <cstdio>
#include <cstring>

#include "json.h"
#include "kinds.h"
#include "tensors.h"

namespace cases {
namespace {

using namespace palimpsest;

Tolerance ToleranceOf(DType dtype) {
  bool half = dtype == DType::kF16 || dtype == DType::kBF16;
  return half ? Tolerance{1e-2, 1e-2} : Tolerance{1e-5, 1e-5};
}

// An output tensor of some call together with what the case says of it.
struct Output {
  size_t index;
  Tensor tensor;
  const Json* expect;
  std::string mem() const { return (*expect)["mem"].Text(); }
  bool is_new() const { return mem()[0] == 'f'; }
  int64_t expected_byte() const { return (*expect)["of"].Int() * tensor.item_size(); }
  std::string name() const { return "output " + std::to_string(index); }
};

Difference CompareOutput(const Output& output) {
  const Json& expect = *output.expect;
  Dims strides = expect["st"].Dims();
  Difference d = CompareType(output.tensor, DTypeOf(expect["dt"]), expect["sz"].Dims(), &strides);
  if (!d) d = CompareElements(output.tensor, expect["vals"], ToleranceOf(output.tensor.dtype));
  if (d) d = output.name() + " " + *d;
  return d;
}

// Where the output lies: in the storage of an input at its offset, or outside of all of them.
Difference ComparePlace(const Output& output, const Memory& memory) {
  if (output.tensor.numel() == 0) return std::nullopt;
  AddressRange range = RangeOf(output.tensor);
  for (size_t s = 0; s < memory.storages.size(); ++s) {
    if (!RangeOf(memory.storages[s]).Meets(range)) continue;
    std::string found = "s" + std::to_string(s);
    if (found != output.mem()) {
      return output.name() + " lies in " + found + ", expected " + output.mem();
    }
    int64_t byte = range.begin - memory.storages[s]->data();
    if (byte == output.expected_byte()) return std::nullopt;
    return output.name() + " begins at byte " + std::to_string(byte) + " of " + found +
           ", expected " + std::to_string(output.expected_byte());
  }
  if (output.is_new()) return std::nullopt;
  return output.name() + " is new memory, expected " + output.mem();
}

// Two outputs of one call: the same new memory at the right distance, or different memory.
Difference ComparePair(const Output& a, const Output& b) {
  if (a.tensor.numel() == 0 || b.tensor.numel() == 0) return std::nullopt;
  if (!a.is_new() || !b.is_new()) return std::nullopt;  // ComparePlace has seen to it
  std::string names = a.name() + " and " + b.name();
  AddressRange ra = RangeOf(a.tensor), rb = RangeOf(b.tensor);
  if (a.mem() != b.mem()) {
    bool shared = a.tensor.storage == b.tensor.storage || ra.Meets(rb);
    if (shared) return names + " share memory, expected " + a.mem() + " and " + b.mem();
    return std::nullopt;
  }
  bool near = rb.begin - ra.begin == b.expected_byte() - a.expected_byte();
  if (near && (a.tensor.storage == b.tensor.storage || ra.Meets(rb))) return std::nullopt;
  return names + " do not share memory as expected (" + a.mem() + ")";
}

// An input storage holds what the case says, or what it held before the call.
Difference CompareStorages(const Memory& memory, const Json& after,
                           const std::vector<std::vector<std::byte>>& before) {
  for (size_t s = 0; s < memory.storages.size(); ++s) {
    const Json& expected = after[s];
    Difference d;
    if (expected.IsNull()) {
      if (memory.Snapshot(s) != before[s]) d = "has changed";
    } else {
      Tensor whole = WholeStorage(memory.storages[s], memory.dtypes[s]);
      d = CompareElements(whole, expected, ToleranceOf(whole.dtype));
    }
    if (d) return "storage s" + std::to_string(s) + " " + *d;
  }
  return std::nullopt;
}

// New memory of one call stays as it is in later calls, and apart from their new memory.
Difference CompareKept(const std::vector<Output>& kept, const std::vector<Output>& outputs) {
  for (const Output& old : kept) {
    if (!old.is_new() || old.tensor.numel() == 0) continue;
    if (Difference d =
            CompareElements(old.tensor, (*old.expect)["vals"], ToleranceOf(old.tensor.dtype))) {
      return "an earlier call's " + old.name() + " has changed: " + *d;
    }
    for (const Output& output : outputs) {
      bool meets = output.tensor.numel() > 0 && RangeOf(output.tensor).Meets(RangeOf(old.tensor));
      if (meets) return output.name() + " lies in an earlier call's " + old.name();
    }
  }
  return std::nullopt;
}

Difference CompareCall(const std::vector<Value>& results, const Json& expect, const Memory& memory,
                       const std::vector<std::vector<std::byte>>& before,
                       std::vector<Output>& kept) {
  const Json& expected = expect["outputs"];
  if (results.size() != expected.size()) {
    return "returns " + std::to_string(results.size()) + " values, expected " +
           std::to_string(expected.size());
  }
  std::vector<Output> outputs;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!results[i].IsTensor()) return "output " + std::to_string(i) + " is no tensor";
    outputs.push_back({i, results[i].tensor(), &expected[i]});
  }
  for (const Output& output : outputs) {
    if (Difference d = CompareOutput(output)) return d;
    if (Difference d = ComparePlace(output, memory)) return d;
    for (size_t j = 0; j < output.index; ++j) {
      if (Difference d = ComparePair(outputs[j], output)) return d;
    }
  }
  if (Difference d = CompareStorages(memory, expect["after"], before)) return d;
  if (Difference d = CompareKept(kept, outputs)) return d;
  kept.insert(kept.end(), outputs.begin(), outputs.end());
  return std::nullopt;
}

// The bytes that planner, checker and executor counted for one call.
struct CopyCount {
  int64_t planned = 0, checked = 0, executed = 0;
  Difference Differs() const {
    if (planned == checked && checked == executed) return std::nullopt;
    return "copied bytes: the planner counts " + std::to_string(planned) + ", the checker " +
           std::to_string(checked) + ", the executor " + std::to_string(executed);
  }
};

// One engine on one case, from first call to last.
class CaseRun {
 public:
  CaseRun(const Json& c, const Program& program, const Options& options, const char* engine)
      : case_(c), program_(program), options_(options), engine_(engine) {}

  Outcome Interpret() {
    Result<Session> session = program_.Interpret();
    if (!session.ok()) return Refused(session.error());
    return RunCalls(*session, nullptr);
  }
  Outcome Compile() {
    Result<Executable> executable = program_.Compile(options_);
    if (!executable.ok()) return Refused(executable.error());
    Result<Session> session = executable->NewSession();
    if (!session.ok()) return Refused(session.error());
    return RunCalls(*session, &*executable);
  }
  // Most bytes that one call copied; -1 if no compiled call ended.
  int64_t copied_bytes() const { return copied_bytes_; }
  // The planner says that no plan of any call copies fewer bytes.
  bool proven() const { return proven_; }
  // Another kind of error than the expected one; for information.
  const std::string& remark() const { return remark_; }

 private:
  Outcome Refused(const Error& error) {
    const Json* expected = case_["expect"][0].Find("error");
    if (IsUnsupported(error)) return Outcome::Skipped(error.message);
    if (expected == nullptr || !IsUserAtFault(error)) return FromError(error, engine_);
    if (error.reason != expected->Text()) {
      remark_ = std::string(engine_) + " refuses for '" + error.reason + "' (" + error.message +
                "), expected '" + expected->Text() + "'";
    }
    return Outcome::Passed();
  }
  Outcome Failed(const std::string& what) { return Outcome::Failed(engine_ + (": " + what)); }

  Outcome RunCalls(Session& session, const Executable* executable) {
    Result<Memory> memory = MakeMemory(case_["storages"]);
    if (!memory.ok()) return FromError(memory.error(), "storages");
    std::vector<Value> args = MakeArguments(*memory, case_["args"]);
    std::vector<Output> kept;
    for (const Json& expect : case_["expect"].items()) {
      Outcome outcome = RunCall(session, executable, *memory, args, expect, kept);
      if (!outcome.passed()) return outcome;
    }
    return Outcome::Passed();
  }

  Outcome RunCall(Session& session, const Executable* executable, const Memory& memory,
                  const std::vector<Value>& args, const Json& expect, std::vector<Output>& kept) {
    CopyCount count;
    if (executable != nullptr) {
      Result<Explanation> explanation = executable->Explain(args);
      if (!explanation.ok()) return Refused(explanation.error());
      count.planned = explanation->copied_bytes;
      proven_ = proven_ && explanation->copied_bytes == explanation->least_copied_bytes;
      count.checked = explanation->checked_copied_bytes;
    }
    std::vector<std::vector<std::byte>> before;
    for (size_t s = 0; s < memory.storages.size(); ++s) before.push_back(memory.Snapshot(s));
    Result<std::vector<Value>> results = session.Run(args);
    if (!results.ok()) return Refused(results.error());
    if (const Json* error = expect.Find("error")) {
      return Failed("runs, expected " + error->Text());
    }
    if (Difference d = CompareCall(*results, expect, memory, before, kept)) return Failed(*d);
    if (executable == nullptr) return Outcome::Passed();
    count.executed = session.last_run().copied_bytes;
    copied_bytes_ = std::max(copied_bytes_, count.executed);
    Difference d = count.Differs();
    return d ? Failed(*d) : Outcome::Passed();
  }

  const Json& case_;
  const Program& program_;
  const Options& options_;
  const char* engine_;
  int64_t copied_bytes_ = -1;
  bool proven_ = true;
  std::string remark_;
};

// How often compiled programs reach the least number of copied bytes.
struct LeastCopies {
  int known = 0, reached = 0, above = 0, below = 0;

  Outcome Add(int64_t least, int64_t copied) {
    ++known;
    std::string bytes = "compiled: copies " + std::to_string(copied) + " bytes, ";
    std::string possible = std::to_string(least) + ", the least possible";
    if (copied > least) {
      ++above;
      return Outcome::Failed(bytes + "more than " + possible);
    }
    if (copied < least) {
      ++below;
      return Outcome::Failed(bytes + "fewer than " + possible);
    }
    ++reached;
    return Outcome::Passed();
  }
  void Print() const {
    if (known == 0) return;
    std::printf("%d of %d reach min_copied_bytes, %d copy more; %d below!\n", reached, known, above,
                below);
  }
};

Outcome RunOne(const Json& c, const Operators& ops, const Settings& settings, LeastCopies& least) {
  std::string id = c["id"].Text();
  Result<Program> program = Program::FromText(c["program"].Text(), ops, id);
  if (!program.ok()) {
    bool refused = c["expect"][0].Find("error") != nullptr && IsUserAtFault(program.error());
    return refused ? Outcome::Passed() : FromError(program.error(), "reading the text");
  }
  auto remark = [&](const CaseRun& run) {
    if (settings.verbose && !run.remark().empty()) {
      std::printf("kind %s: %s\n", id.c_str(), run.remark().c_str());
    }
  };
  if (settings.interpret) {
    CaseRun run(c, *program, settings.options, "interpreter");
    Outcome outcome = run.Interpret();
    remark(run);
    if (!outcome.passed()) return outcome;
  }
  if (!settings.compile) return Outcome::Passed();
  CaseRun run(c, *program, settings.options, "compiled");
  Outcome outcome = run.Compile();
  remark(run);
  const Json* number = c.Find("min_copied_bytes");
  if (!outcome.passed() || !settings.may_plan_best || run.copied_bytes() < 0) return outcome;
  if (settings.proof && !run.proven()) {
    return Outcome::Failed("compiled: that " + std::to_string(run.copied_bytes()) +
                           " copied bytes are the least is not proven");
  }
  return number == nullptr ? outcome : least.Add(number->Int(), run.copied_bytes());
}

}  // namespace

Result<Tally> RunPrograms(const Settings& settings, const Operators& ops) {
  PAL_TRY(std::vector<Json> lines, LoadJsonLines(settings.path));
  Tally tally(settings);
  LeastCopies least;
  for (const Json& line : lines) {
    std::string id = line["id"].Text();
    if (settings.Wants(id)) tally.Add(id, RunOne(line, ops, settings, least));
  }
  tally.PrintSkipReasons();
  least.Print();
  return tally;
}

}  // namespace cases
