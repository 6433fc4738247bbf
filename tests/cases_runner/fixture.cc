#include "fixture.h"

#include <cstring>

#include "npy.h"

namespace cases {

using namespace palimpsest;

namespace {

// Memory for a tensor of a manifest: exactly the bytes that its strides need.
Result<Tensor> AllocateFor(const Json& tensor) {
  View view;
  view.dtype = DTypeOf(tensor["dtype"]);
  view.sizes = tensor["shape"].Dims();
  const Json* strides = tensor.Find("strides");
  bool given = strides != nullptr && strides->IsArray();
  view.strides = given ? strides->Dims() : ContiguousStrides(view.sizes);
  return EmptyTensor(view);
}

Result<Tensor> ReadTensor(const Fixture& fixture, const Json& tensor) {
  PAL_TRY(Tensor t, AllocateFor(tensor));
  size_t item = static_cast<size_t>(t.item_size());
  if (const Json* file = tensor.Find("file")) {
    PAL_TRY(std::string elements, ReadNpyElements(fixture.folder + "/" + file->Text()));
    if (elements.size() != static_cast<size_t>(t.numel()) * item) {
      return BadInput(file->Text() + " has another number of elements than the manifest says");
    }
    const char* from = elements.data();
    ForEachElement(t, [&](std::byte* at) {
      std::memcpy(at, from, item);
      from += item;
    });
    return t;
  }
  size_t i = 0;
  ForEachElement(t, [&](std::byte* at) { Put(at, t.dtype, tensor["values"][i++]); });
  return t;
}

Tolerance ToleranceOf(const Fixture& fixture, DType dtype) {
  const Json& table = fixture.manifest["tolerance"];
  const Json* entry = table.Find(std::string(DTypeName(dtype)).c_str());
  if (entry == nullptr && IsComplex(dtype)) entry = table.Find("f32");
  if (entry == nullptr) return {1e-6, 1e-8};
  return {(*entry)["rtol"].Double(), (*entry)["atol"].Double()};
}

Difference CompareNumber(const Value& actual, const Json& expected) {
  bool same = false;
  if (const Json* v = expected.Find("int")) {
    same = actual.Is<int64_t>() && actual.As<int64_t>() == v->Int();
  } else if (const Json* f = expected.Find("float")) {
    same = actual.Is<double>() && Tolerance{1e-9, 0}.Holds(actual.As<double>(), f->Double());
  } else if (const Json* b = expected.Find("bool")) {
    same = actual.Is<bool>() && actual.As<bool>() == b->Bool();
  } else if (const Json* s = expected.Find("str")) {
    same = actual.Is<std::string>() && actual.As<std::string>() == s->Text();
  } else {
    same = actual.IsNone();
  }
  if (same) return std::nullopt;
  return "is not the expected number, string or None";
}

// The calls of one fixture on one session.
class FixtureRun {
 public:
  FixtureRun(const Fixture& fixture, const Program& program, Engine engine)
      : fixture_(fixture), program_(program), engine_(engine) {}

  Outcome Run() {
    Result<std::pair<Session, std::optional<Executable>>> opened = Open();
    if (!opened.ok()) return FromError(opened.error(), EngineName(engine_));
    auto& [session, executable] = *opened;
    if (Result<void> read = ReadState(session); !read.ok()) {
      return FromError(read.error(), "state");
    }
    int number = 0;
    for (const Json& call : fixture_.manifest["calls"].items()) {
      Outcome outcome = RunCall(session, executable, call, number++);
      if (!outcome.passed()) return outcome;
    }
    Difference d = CompareState(session);
    return d ? Failed(*d) : Outcome::Passed();
  }

 private:
  Outcome Failed(const std::string& what) {
    return Outcome::Failed(EngineName(engine_) + (": " + what));
  }
  bool Asks(const char* word) const {
    return fixture_.manifest["note"].Text().find(word) != std::string::npos;
  }
  bool is_training() const { return fixture_.manifest["form"].Text() == "training-ir"; }

  Result<std::pair<Session, std::optional<Executable>>> Open() {
    if (engine_ == Engine::kInterpreter) {
      PAL_TRY(Session session, program_.Interpret());
      return std::pair(std::move(session), std::optional<Executable>());
    }
    PAL_TRY(Executable executable, program_.Compile({}));
    PAL_TRY(Session session, executable.NewSession());
    return std::pair(std::move(session), std::optional(std::move(executable)));
  }

  // Copies of the state before the first call.
  Status ReadState(Session& session) {
    for (const std::string& name : session.StateNames()) {
      PAL_TRY(Tensor tensor, session.State(name));
      PAL_TRY(initial_[name], Copy(tensor));
    }
    return {};
  }
  static Result<Tensor> Copy(const Tensor& tensor) {
    PAL_TRY(Tensor copy, EmptyTensor(tensor.dtype, tensor.sizes));
    std::byte* to = copy.data();
    ForEachElement(tensor, [&](const std::byte* at) {
      std::memcpy(to, at, static_cast<size_t>(tensor.item_size()));
      to += tensor.item_size();
    });
    return copy;
  }

  Outcome RunCall(Session& session, const std::optional<Executable>& executable, const Json& call,
                  int number) {
    std::string where = "call " + std::to_string(number) + ": ";
    std::vector<Value> inputs, before;
    for (const Json& input : call["inputs"].items()) {
      Result<Value> value = ReadValue(fixture_, input);
      if (!value.ok()) return FromError(value.error(), where + "input");
      inputs.push_back(std::move(value).value());
      Result<Value> kept = ReadValue(fixture_, input);
      before.push_back(kept.ok() ? *kept : Value());
    }
    int64_t planned = 0, checked = 0;
    if (executable) {
      Result<Explanation> explanation = executable->Explain(inputs);
      if (!explanation.ok()) return FromError(explanation.error(), EngineName(engine_));
      planned = explanation->copied_bytes;
      checked = explanation->checked_copied_bytes;
    }
    Result<std::vector<Value>> results = session.Run(inputs);
    if (!results.ok()) return FromError(results.error(), EngineName(engine_) + (": " + where));
    Difference d = CompareOutputs(*results, call["outputs"]);
    if (!d) d = CompareInputs(inputs, before, call["inputs_after"]);
    if (!d && number == 0 && is_training()) d = CompareAliases(session, inputs, *results);
    int64_t executed = session.last_run().copied_bytes;
    if (!d && executable && (planned != checked || checked != executed)) {
      d = "copied bytes: the planner counts " + std::to_string(planned) + ", the checker " +
          std::to_string(checked) + ", the executor " + std::to_string(executed);
    }
    return d ? Failed(where + *d) : Outcome::Passed();
  }

  Difference CompareOutputs(const std::vector<Value>& results, const Json& expected) {
    if (results.size() != expected.size()) {
      return "returns " + std::to_string(results.size()) + " values, expected " +
             std::to_string(expected.size());
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      Difference d = CompareOne(results[i], expected[i]);
      if (d) return "output " + std::to_string(i) + " " + *d;
    }
    return std::nullopt;
  }

  Difference CompareOne(const Value& actual, const Json& expected) {
    if (!expected.Has("dtype")) return CompareNumber(actual, expected);
    if (!actual.IsTensor()) return "is no tensor";
    Result<Tensor> tensor = ReadTensor(fixture_, expected);
    if (!tensor.ok()) return tensor.error().message;
    const Tensor& t = actual.tensor();
    if (Asks("strides of the results matter")) {
      if (Difference d = CompareType(t, tensor->dtype, tensor->sizes, &tensor->strides)) return d;
    }
    return CompareElements(t, *tensor, ToleranceOf(fixture_, tensor->dtype));
  }

  Difference CompareInputs(const std::vector<Value>& inputs, const std::vector<Value>& before,
                           const Json& changed) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].IsTensor()) continue;
      const Json* expected = nullptr;
      for (const Json& entry : changed.items()) {
        if (entry["index"].Index() == i) expected = &entry;
      }
      Difference d = expected != nullptr
                         ? CompareOne(inputs[i], *expected)
                         : CompareElements(inputs[i].tensor(), before[i].tensor(), {});
      if (d) return "input " + std::to_string(i) + " afterwards " + *d;
    }
    return std::nullopt;
  }

  Difference CompareState(Session& session) {
    std::map<std::string, const Json*> expected;
    for (const Json& entry : fixture_.manifest["state_after"].items()) {
      expected[entry["fqn"].Text()] = &entry;
    }
    for (const auto& [name, entry] : expected) {
      if (!session.State(name).ok()) return "there is no state '" + name + "'";
    }
    for (const auto& [name, before] : initial_) {
      Result<Tensor> now = session.State(name);
      if (!now.ok()) return "state '" + name + "' is gone";
      auto it = expected.find(name);
      Difference d = it != expected.end() ? CompareOne(Value(*now), *it->second)
                                          : CompareElements(*now, before, {});
      if (d) return "state '" + name + "' afterwards " + *d;
    }
    return std::nullopt;
  }

  // The tensor that an alias entry names: "input:0", "output:1", "state:buf".
  static std::optional<Tensor> Named(const std::string& name, Session& session,
                                     const std::vector<Value>& inputs,
                                     const std::vector<Value>& results) {
    std::string kind = name.substr(0, name.find(':')), rest = name.substr(name.find(':') + 1);
    if (kind == "state") {
      Result<Tensor> tensor = session.State(rest);
      return tensor.ok() ? std::optional(*tensor) : std::nullopt;
    }
    const std::vector<Value>& list = kind == "input" ? inputs : results;
    size_t i = std::stoul(rest);
    return i < list.size() && list[i].IsTensor() ? std::optional(list[i].tensor()) : std::nullopt;
  }

  Difference CompareAliases(Session& session, const std::vector<Value>& inputs,
                            const std::vector<Value>& results) {
    std::vector<std::vector<std::string>> expected(results.size());
    for (const Json& entry : fixture_.manifest["aliases"].items()) {
      for (const Json& name : entry["shares_memory_with"].items()) {
        expected[entry["output"].Index()].push_back(name.Text());
      }
    }
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].IsTensor() || results[i].tensor().numel() == 0) continue;
      std::vector<std::string> others;
      for (size_t j = 0; j < inputs.size(); ++j) others.push_back("input:" + std::to_string(j));
      for (size_t j = 0; j < i; ++j) others.push_back("output:" + std::to_string(j));
      for (const auto& [name, tensor] : initial_) others.push_back("state:" + name);
      for (const std::string& name : others) {
        std::optional<Tensor> other = Named(name, session, inputs, results);
        bool wanted = std::find(expected[i].begin(), expected[i].end(), name) != expected[i].end();
        if (!other || other->numel() == 0) continue;
        // Views of one storage that do not meet count as sharing or not, as the fixture has it.
        bool meets = RangeOf(results[i].tensor()).Meets(RangeOf(*other));
        bool related = meets || results[i].tensor().storage == other->storage;
        if (wanted && !related) return Alias(i, "does not share memory with ", name);
        if (!wanted && meets) return Alias(i, "shares memory with ", name);
      }
    }
    return std::nullopt;
  }
  static std::string Alias(size_t output, const char* what, const std::string& name) {
    return "output " + std::to_string(output) + " " + what + name;
  }

  const Fixture& fixture_;
  const Program& program_;
  Engine engine_;
  std::map<std::string, Tensor> initial_;
};

}  // namespace

Result<Fixture> LoadFixture(const std::string& folder) {
  Fixture fixture;
  fixture.folder = folder;
  PAL_TRY(fixture.manifest, LoadJson(folder + "/manifest.json"));
  return fixture;
}

Result<Value> ReadValue(const Fixture& fixture, const Json& value) {
  if (value.Has("dtype")) {
    PAL_TRY(Tensor tensor, ReadTensor(fixture, value));
    return Value(std::move(tensor));
  }
  if (const Json* v = value.Find("int")) return Value(v->Int());
  if (const Json* v = value.Find("float")) return Value(v->Double());
  if (const Json* v = value.Find("bool")) return Value(v->Bool());
  if (const Json* v = value.Find("str")) return Value(v->Text());
  return Value();
}

Outcome RunFixture(const Fixture& fixture, const Program& program, Engine engine) {
  return FixtureRun(fixture, program, engine).Run();
}

Difference CompareResults(const std::vector<Value>& actual, const std::vector<Value>& expected,
                          const Tolerance& t) {
  if (actual.size() != expected.size()) return "different numbers of results";
  for (size_t i = 0; i < actual.size(); ++i) {
    std::string name = "result " + std::to_string(i) + " ";
    if (actual[i].IsTensor() != expected[i].IsTensor()) return name + "differs in kind";
    if (actual[i].IsTensor()) {
      Difference d = CompareElements(actual[i].tensor(), expected[i].tensor(), t);
      if (d) return name + *d;
    } else if (actual[i].IsNumber() && expected[i].IsNumber()) {
      if (!t.Holds(actual[i].ToDouble(), expected[i].ToDouble())) return name + "differs";
    }
  }
  return std::nullopt;
}

}  // namespace cases
