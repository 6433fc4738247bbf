// refuse: an error while loading or preparing, exit code 3 (4 for an operator that nobody knows).
// fail: an error at any time, exit code 3, 4 or 6. run: the results of the base. either: one of
// both.
#include "hostile_case.h"

#include <cstring>

#include "fixture.h"

namespace cases {
namespace {

using namespace palimpsest;

enum class Stage { kPrepare, kRun };
struct Failure {
  Stage stage;
  Error error;
};

// Groups whose programs take a vector of four floats, whatever their base took.
bool TakesVector(const std::string& group) {
  return group == "run" || group == "subgraph" || group == "limits" || group == "functionalized";
}

Outcome JudgeError(const Json& c, const Failure& failure) {
  const Error& error = failure.error;
  std::string expect = c["expect"].Text();
  std::string what = std::string(ErrorKindName(error.kind)) + " error: " + error.message;
  if (error.kind == ErrorKind::kInternal || error.kind == ErrorKind::kUsage) {
    return Outcome::Failed(what);
  }
  if (error.message.find('\n') != std::string::npos) {
    return Outcome::Failed("the error is not one line: " + what);
  }
  bool names_unknown =
      c["group"].Text() == "ops" || c["file"].Text().find("operator_unknown") != std::string::npos;
  if (IsUnsupported(error) && !(names_unknown && error.kind == ErrorKind::kUnknownOperator)) {
    return Outcome::Skipped(error.message);
  }
  if (expect == "run") return Outcome::Failed(what);
  if (expect == "refuse" && (failure.stage == Stage::kRun || error.kind == ErrorKind::kRuntime)) {
    return Outcome::Failed("is refused too late: " + what);
  }
  return Outcome::Passed();
}

// "f32[2, 3]": a tensor of small numbers. Sizes that are no numbers count as 4.
Result<Value> MakeInput(const InputInfo& info) {
  size_t open = info.type.find('[');
  if (info.is_constant) return info.constant;
  if (open == std::string::npos) return Value(int64_t{1});
  std::optional<DType> dtype = DTypeFromName(info.type.substr(0, open));
  if (!dtype) return BadInput("input type " + info.type);
  Dims sizes;
  std::string inside = info.type.substr(open + 1, info.type.find(']') - open - 1);
  for (size_t at = 0; at < inside.size();) {
    size_t comma = std::min(inside.find(',', at), inside.size());
    std::string size = inside.substr(at, comma - at);
    bool number = size.find_first_not_of(" 0123456789") == std::string::npos;
    sizes.push_back(number ? std::stoll(size) : 4);
    at = comma + 1;
  }
  PAL_TRY(Tensor tensor, EmptyTensor(*dtype, sizes));
  int i = 0;
  ForEachElement(tensor, [&](std::byte* at) {
    Put(at, *dtype, IsIntegral(*dtype) ? Json(int64_t{i % 2}) : Json(i * 0.75 - 1));
    ++i;
  });
  return Value(std::move(tensor));
}

Result<std::vector<Value>> VectorInputs(const Program& program) {
  std::vector<Value> inputs;
  for (InputInfo& info : program.Inputs()) {
    if (info.kind != "user" && !info.is_constant) continue;
    if (inputs.empty()) info.type = "f32[4]";
    PAL_TRY(Value input, MakeInput(info));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Result<std::vector<Value>> BaseInputs(const Fixture& base) {
  std::vector<Value> inputs;
  for (const Json& input : base.manifest["calls"][0]["inputs"].items()) {
    PAL_TRY(Value value, ReadValue(base, input));
    inputs.push_back(std::move(value));
  }
  return inputs;
}

// Loads, prepares and runs a file with one engine; says how far it came.
class Attempt {
 public:
  Attempt(const Json& c, const Fixture& base) : case_(c), base_(base) {}

  std::optional<Failure> Load(const std::string& file, const Operators& ops) {
    Result<Program> program = Program::Load(file, ops);
    if (!program.ok()) return Failure{Stage::kPrepare, program.error()};
    program_ = std::move(program).value();
    return std::nullopt;
  }
  std::optional<Failure> Run(Engine engine, std::vector<Value>& results) {
    auto inputs = TakesVector(case_["group"].Text()) ? VectorInputs(*program_) : BaseInputs(base_);
    if (!inputs.ok()) return Failure{Stage::kPrepare, inputs.error()};
    std::optional<Session> session;
    if (std::optional<Failure> failure = Prepare(engine, *inputs, session)) return failure;
    if (case_["expect"].Text() == "refuse") return std::nullopt;
    auto run = session->Run(*inputs);
    if (!run.ok()) return Failure{Stage::kRun, run.error()};
    results = std::move(run).value();
    return std::nullopt;
  }
  const Program& program() const { return *program_; }

 private:
  std::optional<Failure> Prepare(Engine engine, const std::vector<Value>& inputs,
                                 std::optional<Session>& session) {
    auto open = [&]() -> Result<Session> {
      if (engine == Engine::kInterpreter) return program_->Interpret();
      PAL_TRY(Executable executable, program_->Compile({}));
      PAL_TRY(Session opened, executable.NewSession());
      PAL_TRY(executable.Explain(inputs));
      return opened;
    };
    Result<Session> opened = open();
    if (!opened.ok()) return Failure{Stage::kPrepare, opened.error()};
    session = std::move(opened).value();
    return std::nullopt;
  }

  const Json& case_;
  const Fixture& base_;
  std::optional<Program> program_;
};

// The results are there: are they allowed, and right?
Outcome JudgeResults(const Json& c, const Fixture& base, const Attempt& attempt,
                     const std::vector<Value>& interpreted, const std::vector<Value>& compiled) {
  std::string expect = c["expect"].Text();
  if (expect == "refuse") return Outcome::Failed("is not refused");
  if (expect == "fail") return Outcome::Failed("gives a result");
  if (!TakesVector(c["group"].Text())) {
    Outcome outcome = RunFixture(base, attempt.program(), Engine::kInterpreter);
    return outcome.passed() ? RunFixture(base, attempt.program(), Engine::kCompiled) : outcome;
  }
  Difference d = CompareResults(compiled, interpreted, {1e-6, 1e-6});
  return d ? Outcome::Failed("compiled differs from interpreted: " + *d) : Outcome::Passed();
}

}  // namespace

Outcome JudgeHostileFile(const Json& c, const std::string& file, const std::string& folder,
                         const Operators& ops) {
  Result<Fixture> base = LoadFixture(folder + "/" + c["base"].Text());
  if (!base.ok()) return FromError(base.error(), "base");
  Attempt attempt(c, *base);
  if (auto failure = attempt.Load(file, ops)) return JudgeError(c, *failure);
  std::vector<Value> interpreted, compiled;
  std::optional<Failure> compiler = attempt.Run(Engine::kCompiled, compiled);
  if (compiler) {
    Outcome outcome = JudgeError(c, *compiler);
    // What the compiler refuses before anything runs, the interpreter may find only while it runs.
    if (!outcome.passed() || c["expect"].Text() == "refuse") return outcome;
  }
  std::optional<Failure> interpreter = attempt.Run(Engine::kInterpreter, interpreted);
  if (interpreter) {
    Outcome outcome = JudgeError(c, *interpreter);
    if (outcome.passed() && !compiler) {
      return Outcome::Failed("compiled it gives a result, but the interpreter refuses it: " +
                             interpreter->error.message);
    }
    return outcome;
  }
  if (compiler) {
    return Outcome::Failed("the interpreter gives a result, but the compiler refuses it: " +
                           compiler->error.message);
  }
  return JudgeResults(c, *base, attempt, interpreted, compiled);
}

}  // namespace cases
