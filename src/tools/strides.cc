// palimpsest strides: the layout of one operation's result, and which rule decided it.
//
// The operator's own meta function runs on the given layouts; what it asks of the iterator is
// listened to (TraceIterations). Nothing is decided here a second time.
#include <fmt/format.h>

#include <algorithm>

#include "driver/program_impl.h"
#include "op/check_arguments.h"
#include "palimpsest/iterator.h"
#include "report/json_text.h"
#include "tools/input_options.h"
#include "tools/verbs.h"

namespace palimpsest::tools {
namespace {

using Comparison = IterationTrace::Comparison;
using FastSetUp = IterationTrace::FastSetUp;

struct Request {
  const op::Op* op = nullptr;
  std::vector<Value> args;  // one per schema argument
};

// The arguments of `op` for the given values; nullopt if they do not fit.
std::optional<std::vector<Value>> FitArguments(const op::Op& op, const std::vector<Value>& inputs,
                                               const std::optional<Value>& out) {
  const op::Schema& schema = op.schema;
  std::vector<Value> args;
  size_t next = 0;
  for (const op::SchemaArg& arg : schema.args) {
    if (arg.name == "out" && arg.keyword_only) {
      if (!out) return std::nullopt;
      args.push_back(*out);
    } else if (next < inputs.size() && !arg.keyword_only) {
      args.push_back(inputs[next++]);
    } else if (arg.default_value) {
      args.push_back(*arg.default_value);
    } else {
      return std::nullopt;
    }
  }
  bool takes_out = schema.FindArg("out") >= 0;
  if (next < inputs.size() || takes_out != out.has_value()) return std::nullopt;
  if (!op::CheckArguments(schema, args).ok()) return std::nullopt;
  return args;
}

Result<Request> FindRequest(const op::OpTable& table, const CommandLine& command) {
  std::vector<Value> inputs;
  for (const std::string& text : command.inputs) {
    PAL_TRY(Value value, ParseInputValue(text));
    if (value.IsTensor()) {
      Tensor tensor = value.tensor();
      tensor.object = static_cast<int64_t>(inputs.size()) + 1;
      value = Value(std::move(tensor));
    }
    inputs.push_back(std::move(value));
  }
  std::optional<Value> out;
  if (!command.out.empty()) {
    PAL_TRY(out, ParseInputValue(command.out));
  }
  std::string name = command.model + (command.in_place ? "_" : "");
  std::string known;
  for (const op::Op* op : table.All()) {
    if (op->schema.name != name || op->schema.ns != "aten") continue;
    known += "\n  " + op->schema.ToString();
    if (auto args = FitArguments(*op, inputs, out)) return Request{op, std::move(*args)};
  }
  if (known.empty()) {
    return UsageError(
        fmt::format("there is no operator '{}'; palimpsest operators lists all", name));
  }
  return UsageError(fmt::format("no form of '{}' takes these inputs; its forms:{}", name, known));
}

std::string NameOf(const IterationTrace& trace, size_t operand) {
  size_t outputs = 0;
  for (const IterationTrace::Operand& o : trace.operands) outputs += o.is_output ? 1 : 0;
  if (operand < outputs) return outputs > 1 ? fmt::format("output {}", operand) : "the output";
  return fmt::format("input {}", operand - outputs);
}

std::string Explain(const IterationTrace& trace, const Comparison& c) {
  std::string pair = fmt::format("dim {} against dim {}", c.p, c.q);
  std::string then = c.swaps ? "they change places" : "they stay";
  switch (c.rule) {
    case Comparison::Rule::kAmbiguous:
      return pair + ": no operand decides; the sort goes on past it";
    case Comparison::Rule::kStrides:
      return fmt::format("{}: {} steps {} and {} bytes: {}", pair, NameOf(trace, c.operand),
                         c.stride_p, c.stride_q, then);
    case Comparison::Rule::kSizes:
      return fmt::format("{}: {} steps {} bytes in both, and dim {} is the larger one: {}", pair,
                         NameOf(trace, c.operand), c.stride_p, c.p, then);
    case Comparison::Rule::kReduced:
      return fmt::format("{}: one of them is reduced, which is walked first: {}", pair, then);
  }
  return pair;
}

std::string ExplainSetUp(const IterationTrace& trace) {
  switch (trace.fast_set_up) {
    case FastSetUp::kContiguous:
      return "fast: all operands are contiguous, and so is the result";
    case FastSetUp::kChannelsLast:
      return "fast: all operands are channels-last, and so is the result";
    case FastSetUp::kEqualStrides:
      return "fast: all operands are dense with the same strides, and so is the result";
    case FastSetUp::kNone:
      break;
  }
  if (trace.reduction) return "general: a reduction";
  if (!trace.same_shape) return "general: the shapes differ";
  return "general: the operands lie differently";
}

std::string OperandText(const IterationTrace::Operand& o) {
  std::string text = ToString(o.view);
  if (o.is_number) return fmt::format("a number ({})", DTypeName(o.view.dtype));
  if (o.is_open) return text + ", laid out here";
  return o.is_converted ? text + ", a converted copy" : text;
}

// "dim 1 (3 steps of 8)  >  dim 0 (2 steps of 1)": the slowest dim first.
std::string MemoryOrder(const View& view) {
  std::vector<size_t> dims;
  for (size_t d = 0; d < view.dim(); ++d) dims.push_back(d);
  std::sort(dims.begin(), dims.end(), [&](size_t a, size_t b) {
    return view.strides[a] != view.strides[b] ? view.strides[a] > view.strides[b] : a < b;
  });
  std::vector<std::string> parts;
  for (size_t d : dims) {
    parts.push_back(fmt::format("dim {} ({} x {})", d, view.sizes[d], view.strides[d]));
  }
  return parts.empty() ? "one element" : fmt::format("{}", fmt::join(parts, " > "));
}

// Which element lies at each of the first places: "00 01 02 10 11 12".
std::string MemoryPicture(const View& view) {
  constexpr int64_t kPlaces = 24;
  std::vector<std::string> places(static_cast<size_t>(kPlaces), "..");
  int64_t n = view.numel(), last = -1;
  Dims index(view.dim(), 0);
  for (int64_t i = 0; i < std::min<int64_t>(n, 4096); ++i) {
    int64_t place = 0;
    std::string name;
    for (size_t d = 0; d < view.dim(); ++d) {
      place += index[d] * view.strides[d];
      name +=
          fmt::format("{}{}", view.dim() > 0 && view.sizes[d] > 10 && d > 0 ? "," : "", index[d]);
    }
    if (place < kPlaces) places[static_cast<size_t>(place)] = name;
    last = std::max(last, place);
    for (size_t d = view.dim(); d-- > 0;) {
      if (++index[d] < view.sizes[d]) break;
      index[d] = 0;
    }
  }
  places.resize(static_cast<size_t>(std::min(last + 1, kPlaces)));
  return fmt::format("{}{}", fmt::join(places, " "), last >= kPlaces ? " ..." : "");
}

// What takes part in the promotion, by rank: tensors, 0-dim tensors, numbers.
std::string TypesOf(const Request& request) {
  std::vector<std::string> types;
  for (size_t i = 0; i < request.args.size(); ++i) {
    const Value& v = request.args[i];
    if (request.op->schema.args[i].keyword_only) continue;
    if (v.IsTensor()) {
      bool scalar = v.tensor().dim() == 0;
      types.push_back(fmt::format("{}{}", DTypeName(v.tensor().dtype), scalar ? " (0-dim)" : ""));
    } else if (v.Is<double>()) {
      types.push_back("a float number");
    } else if (v.Is<int64_t>()) {
      types.push_back("an integer number");
    }
  }
  return fmt::format("{}", fmt::join(types, ", "));
}

void PrintTrace(const IterationTrace& trace, const Request& request) {
  for (size_t i = 0; i < trace.operands.size(); ++i) {
    fmt::print("  {}: {}\n", NameOf(trace, i), OperandText(trace.operands[i]));
  }
  fmt::print("shape   {}\n", ToString(std::span<const int64_t>(trace.shape)));
  fmt::print("dtype   computed in {}, from {}\n", DTypeName(trace.common_dtype), TypesOf(request));
  fmt::print("set-up  {}\n", ExplainSetUp(trace));
  for (const Comparison& c : trace.comparisons) fmt::print("        {}\n", Explain(trace, c));
  if (trace.fast_set_up == FastSetUp::kNone) {
    fmt::print("order   dims, fastest first: {}\n", fmt::join(trace.order, " "));
  }
  fmt::print("loop    {} {}, fastest first\n", ToString(std::span<const int64_t>(trace.loop)),
             trace.loop.size() == trace.shape.size() ? "as they are" : "after merging");
}

void PrintText(const Request& request, const std::vector<IterationTrace>& traces,
               const View& result, bool resized) {
  // An operator may ask the iterator more than once; the last time decides.
  if (traces.empty()) {
    fmt::print("the operator lays out its result by a rule of its own\n");
  } else {
    PrintTrace(traces.back(), request);
  }
  fmt::print("result  {}{}\n", ToString(result), resized ? ", the output is resized" : "");
  fmt::print("memory  {}\n", MemoryOrder(result));
  if (result.numel() > 0) fmt::print("        {}\n", MemoryPicture(result));
}

void WriteView(report::JsonText& json, const View& view) {
  auto list = [&](const char* key, const Dims& dims) {
    json.Key(key).BeginList();
    for (int64_t d : dims) json.Number(d);
    json.EndList();
  };
  json.BeginObject().Key("dtype").Text(std::string(DTypeName(view.dtype)));
  list("sizes", view.sizes);
  list("strides", view.strides);
  json.Key("offset").Number(view.offset).EndObject();
}

void PrintJson(const op::Op& op, const std::vector<IterationTrace>& traces, const View& result) {
  report::JsonText json;
  json.BeginObject().Key("schema").Text("palimpsest.strides/1");
  json.Key("operator").Text(op.schema.Key()).Key("result");
  WriteView(json, result);
  json.Key("set_up").Text(traces.empty() ? "" : ExplainSetUp(traces.back()));
  json.Key("steps").BeginList();
  if (!traces.empty()) {
    for (const Comparison& c : traces.back().comparisons) json.Text(Explain(traces.back(), c));
  }
  json.EndList().Key("order").BeginList();
  if (!traces.empty()) {
    for (size_t d : traces.back().order) json.Number(static_cast<int64_t>(d));
  }
  json.EndList().EndObject();
  fmt::print("{}\n", json.Take());
}

}  // namespace

Result<int> Strides(const CommandLine& command) {
  Operators operators;
  PAL_TRY(Request request, FindRequest(operators.state()->table, command));
  std::vector<IterationTrace> traces;
  op::CallResult result;
  {
    TraceIterations listen(&traces);
    PAL_TRY(result, op::InferOp(*request.op, request.args));
  }
  if (result.returns.empty() || !result.returns[0].IsTensor()) {
    return UsageError(fmt::format("{} returns no tensor", request.op->schema.Key()));
  }
  const View& view = result.returns[0].tensor().view();
  if (command.json) {
    PrintJson(*request.op, traces, view);
    return 0;
  }
  fmt::print("{}\n", request.op->schema.Key());
  PrintText(request, traces, view, !result.relayouts.empty());
  return 0;
}

}  // namespace palimpsest::tools
