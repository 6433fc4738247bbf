// Kind `strides`: one operation; sizes, strides, type, values or the kind of error.
#include <array>

#include "json.h"
#include "kinds.h"
#include "tensors.h"

namespace cases {
namespace {

using namespace palimpsest;
using Keywords = std::vector<std::pair<std::string, Value>>;

// A call of an ATen operator.
struct Call {
  std::string name;
  std::vector<Value> positional;
  Keywords keywords;
};

bool OneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  for (std::string_view n : names) {
    if (n == name) return true;
  }
  return false;
}

// The overload that Python picks for the arguments; for `out` the one with an `out` argument.
std::string Overload(const std::string& op, const std::string& mode, const std::vector<Value>& args,
                     const Json& kw) {
  bool number_last = !args.empty() && args.back().IsNumber();
  bool comparison = OneOf(op, {"eq", "ne", "lt", "le", "gt", "ge"});
  bool out = mode == "out";
  if (OneOf(op, {"add", "sub", "mul", "div"})) return out ? "out" : "Tensor";
  if (op == "bitwise_and") return out ? "Tensor_out" : "Tensor";
  if (comparison) {
    return std::string(number_last ? "Scalar" : "Tensor") + (out ? "_out" : "");
  }
  if (op == "lerp") return std::string(number_last ? "Scalar" : "Tensor") + (out ? "_out" : "");
  if (op == "where") {
    if (out) return "self_out";
    return number_last ? "ScalarOther" : args[1].IsNumber() ? "ScalarSelf" : "self";
  }
  if (op == "sum") return out ? "IntList_out" : kw.Has("dim") ? "dim_IntList" : "";
  if (op == "mean" && !out) return kw.Has("dim") ? "dim" : "";
  if (op == "to") return "dtype";
  return out ? "out" : "";
}

MemoryFormat FormatOf(const std::string& name) {
  if (name == "channels_last") return MemoryFormat::kChannelsLast;
  if (name == "channels_last_3d") return MemoryFormat::kChannelsLast3d;
  return name == "preserve" ? MemoryFormat::kPreserve : MemoryFormat::kContiguous;
}

Value KeywordValue(const std::string& key, const Json& v) {
  if (key == "dtype") return DTypeOf(v);
  if (key == "memory_format") return FormatOf(v.Text());
  if (v.IsArray()) return Value::Ints(v.Dims());
  if (v.IsBool()) return v.Bool();
  if (v.IsInt()) return v.Int();
  return v.Double();
}

Call MakeCall(const Json& c, std::vector<Value> args, const std::optional<Tensor>& out) {
  static const Json kNone(Json::Kind::kObject);
  std::string op = c["op"].Text(), mode = c["mode"].Text();
  const Json* given = c.Find("kw");
  const Json& kw = given != nullptr ? *given : kNone;
  Call call;
  std::string overload = Overload(op, mode, args, kw);
  call.name =
      "aten::" + op + (mode == "inplace" ? "_" : "") + (overload.empty() ? "" : "." + overload);
  call.positional = std::move(args);
  for (size_t i = 0; i < kw.keys().size(); ++i) {
    const std::string& key = kw.keys()[i];
    call.keywords.emplace_back(key, KeywordValue(key, kw.value(i)));
  }
  bool needs_dim = mode == "out" && OneOf(op, {"sum", "mean"}) && !kw.Has("dim");
  if (needs_dim) call.keywords.emplace_back("dim", Value());
  if (out) call.keywords.emplace_back("out", *out);
  return call;
}

Tolerance ToleranceOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {1e-8, 1e-12};
    case DType::kF16:
    case DType::kBF16:
      return {1e-2, 1e-9};
    default:
      return {2e-5, 1e-9};
  }
}

Difference CompareValues(const Tensor& result, const Json& expect) {
  Tolerance tolerance = ToleranceOf(result.dtype);
  if (const Json* values = expect.Find("vals")) {
    if (Difference d = CompareElements(result, *values, tolerance)) return d;
  }
  if (const Json* sums = expect.Find("sum")) {
    return CompareSums(result, *sums, {tolerance.relative, 1e-4});
  }
  return std::nullopt;
}

Difference CompareStore(const Memory& memory, const Tensor& written, const Json& sums) {
  for (size_t s = 0; s < memory.storages.size(); ++s) {
    if (memory.storages[s] != written.storage) continue;
    Tolerance tolerance = ToleranceOf(memory.dtypes[s]);
    Tensor whole = WholeStorage(written.storage, memory.dtypes[s]);
    Difference d = CompareSums(whole, sums, {tolerance.relative, 1e-4});
    return d ? "whole storage: " + *d : d;
  }
  return "the result is not in the storage of the tensor written to";
}

Difference CompareWarning(const std::vector<std::string>& warnings, const Json& expect) {
  const Json* warn = expect.Find("warn");
  if (warn == nullptr) return std::nullopt;
  for (const std::string& warning : warnings) {
    if (warning.find("resize") != std::string::npos) return std::nullopt;
  }
  return "no warning, expected " + warn->Text();
}

Difference Compare(const Json& c, const Memory& memory, const std::vector<Value>& args,
                   const Tensor& result, const std::vector<std::string>& warnings) {
  const Json& expect = c["expect"];
  Dims strides = expect["st"].Dims();
  if (Difference d = CompareType(result, DTypeOf(expect["dt"]), expect["sz"].Dims(), &strides)) {
    return d;
  }
  if (const Json* of = expect.Find("of"); of != nullptr && of->Int() != result.offset) {
    return "offset is " + std::to_string(result.offset) + ", expected " + std::to_string(of->Int());
  }
  if (Difference d = CompareValues(result, expect)) return d;
  if (const Json* store = expect.Find("store")) {
    if (Difference d = CompareStore(memory, result, *store)) return d;
  }
  if (const Json* alias = expect.Find("alias")) {
    const Tensor& self = args[0].tensor();
    bool same = result.storage == self.storage && result.view() == self.view();
    if (same != alias->Bool()) return same ? "is its argument" : "is a copy of its argument";
  }
  return CompareWarning(warnings, expect);
}

Outcome CompareError(const Error& error, const Json& expect) {
  const Json* kind = expect.Find("error");
  if (IsUnsupported(error)) return Outcome::Skipped(error.message);
  if (kind == nullptr) return FromError(error, "refused");
  if (error.reason == kind->Text()) return Outcome::Passed();
  return FromError(error, "expected " + kind->Text() + ", but");
}

Outcome RunOne(const Json& c, const Operators& ops) {
  Result<Memory> memory = MakeMemory(c["storages"]);
  if (!memory.ok()) return FromError(memory.error(), "storages");
  std::vector<Value> args = MakeArguments(*memory, c["args"]);
  std::optional<Tensor> out;
  if (const Json* given = c.Find("out")) {
    const Json* same = given->Find("arg");
    out = same != nullptr ? args[same->Index()].tensor() : MakeTensor(*memory, *given, 100);
  }
  Call call = MakeCall(c, args, out);
  std::vector<std::string> warnings;
  auto result = ops.Call(call.name, call.positional, call.keywords, &warnings);
  if (!result.ok()) return CompareError(result.error(), c["expect"]);
  if (const Json* kind = c["expect"].Find("error")) {
    return Outcome::Failed("succeeds, expected " + kind->Text());
  }
  if (result->empty() || !result->front().IsTensor()) return Outcome::Failed("returns no tensor");
  Difference d = Compare(c, *memory, args, result->front().tensor(), warnings);
  return d ? Outcome::Failed(call.name + " " + *d) : Outcome::Passed();
}

}  // namespace

Result<Tally> RunStrides(const Settings& settings, const Operators& ops) {
  PAL_TRY(std::vector<Json> lines, LoadJsonLines(settings.path));
  Tally tally(settings);
  for (const Json& line : lines) {
    std::string id = line["id"].Text();
    if (settings.Wants(id)) tally.Add(id, RunOne(line, ops));
  }
  tally.PrintSkipReasons();
  return tally;
}

}  // namespace cases
