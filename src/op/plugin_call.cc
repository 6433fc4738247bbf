// Note [Errors of library operators]
//   A contract (PAL_FAIL_CONTRACT) that meta refuses is the program's fault and known before
//   anything runs: kBadInput, reason "operator_contract". The same word from `run`, and a bad
//   index, hang on data: kRuntime. Any other failure is kRuntime without a reason.
#include "op/plugin_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "op/plugin_arguments.h"

namespace palimpsest::op {
namespace {

// The host's side of a PalContext: what the operator told us.
struct CallState {
  bool failed = false;
  int failure = PAL_FAIL_OTHER;
  std::string text;
  std::string host_error;                  // the operator used the interface wrongly
  std::vector<std::optional<View>> fresh;  // declared by meta
  std::vector<std::optional<Value>> numbers;
};

CallState& StateOf(PalContext* ctx) { return *static_cast<CallState*>(ctx->impl); }

int Fail(PalContext* ctx, int kind, const char* text) {
  CallState& state = StateOf(ctx);
  state.failed = true;
  state.failure = kind;
  state.text = text != nullptr ? text : "";
  return 1;
}

int Misuse(CallState& state, std::string text) {
  if (state.host_error.empty()) state.host_error = std::move(text);
  return 1;
}

int DeclareResult(PalContext* ctx, int index, uint8_t code, uint8_t bits, int32_t ndim,
                  const int64_t* sizes, const int64_t* strides) {
  CallState& state = StateOf(ctx);
  if (index < 0 || static_cast<size_t>(index) >= state.fresh.size()) {
    return Misuse(state, fmt::format("meta declares result {}, but the schema has {} new tensors",
                                     index, state.fresh.size()));
  }
  std::optional<DType> dtype = FromPluginDType({code, bits});
  if (!dtype) return Misuse(state, fmt::format("meta gives result {} an unknown type", index));
  if (ndim < 0 || ndim > 64) {
    return Misuse(state, fmt::format("meta gives result {} {} dims", index, ndim));
  }
  auto rank = static_cast<size_t>(ndim);
  std::span<const int64_t> size_span(sizes, rank);
  if (!CheckedNumel(size_span).ok()) {
    return Misuse(
        state, fmt::format("meta gives result {} impossible sizes {}", index, ToString(size_span)));
  }
  View view = ContiguousView(*dtype, size_span);
  if (strides != nullptr) view.strides = Dims(std::span<const int64_t>(strides, rank));
  bool negative = std::any_of(view.strides.begin(), view.strides.end(),
                              [](int64_t stride) { return stride < 0; });
  if (negative || !RequiredBytes(view).ok()) {
    return Misuse(state, fmt::format("meta gives result {} impossible strides {}", index,
                                     ToString(view.strides)));
  }
  state.fresh[static_cast<size_t>(index)] = std::move(view);
  return 0;
}

int SetNumber(PalContext* ctx, int index, const PalArg* value) {
  CallState& state = StateOf(ctx);
  if (index < 0 || static_cast<size_t>(index) >= state.numbers.size() || value == nullptr) {
    return Misuse(state, fmt::format("run returns number {}, but the schema has {} numbers", index,
                                     state.numbers.size()));
  }
  std::optional<Value>& slot = state.numbers[static_cast<size_t>(index)];
  switch (value->kind) {
    case PAL_INT:
      slot = Value(value->i);
      return 0;
    case PAL_BOOL:
      slot = Value(value->i != 0);
      return 0;
    case PAL_FLOAT:
      slot = Value(value->f);
      return 0;
    default:
      return Misuse(state, fmt::format("returned number {} is no number", index));
  }
}

PalContext MakeContext(const PluginOperator& plugin, CallState& state) {
  PalContext ctx = {};
  ctx.abi = PALIMPSEST_PLUGIN_ABI;
  ctx.impl = &state;
  ctx.data = plugin.data;
  ctx.fail = Fail;
  ctx.result = DeclareResult;
  ctx.number = SetNumber;
  return ctx;
}

Status Outcome(const Op& op, int code, const CallState& state, bool running) {
  std::string key = op.schema.Key();
  if (!state.host_error.empty()) {
    return RuntimeFailure(fmt::format("{}: {} (a mistake in the operator)", key, state.host_error));
  }
  if (code == 0) return {};
  if (!state.failed) {
    return RuntimeFailure(fmt::format("{}: the operator returned {} without a reason", key, code));
  }
  std::string text = fmt::format("{}: {}", key, state.text);
  switch (state.failure) {
    case PAL_FAIL_CONTRACT:
      return running ? RuntimeFailure(text, "operator_contract")
                     : Refused("operator_contract", text);
    case PAL_FAIL_INDEX:
      return RuntimeFailure(text, "index_out_of_range");
    default:
      return RuntimeFailure(text);
  }
}

Status AddArguments(const Op& op, std::span<const Value> values, PluginArguments& args) {
  for (size_t i = 0; i < values.size(); ++i) {
    Status status = args.Add(op.schema.args[i], values[i]);
    if (!status.ok()) {
      Error error = status.error();
      error.message = fmt::format("{}: {}", op.schema.Key(), error.message);
      if (error.kind == ErrorKind::kBadInput) error.reason = "operator_contract";
      return error;
    }
  }
  return {};
}

ResultSpec WrittenArgument(int arg, const Value& value) {
  if (value.IsNone()) return ResultSpec::None();
  if (!value.IsList()) return ResultSpec::Same(arg);
  std::vector<ResultSpec> items;
  for (size_t i = 0; i < value.list().size(); ++i) {
    bool hole = value.list()[i].IsNone();
    items.push_back(hole ? ResultSpec::None() : ResultSpec::Same(arg, static_cast<int>(i)));
  }
  return ResultSpec::List(std::move(items));
}

size_t CountReturns(const PluginOperator& plugin, int kind) {
  return static_cast<size_t>(std::count(plugin.returns.begin(), plugin.returns.end(), kind));
}

}  // namespace

MetaFn PluginMeta(PluginOperator plugin) {
  return [plugin = std::move(plugin)](MetaCall& call) -> Status {
    CallState state;
    state.fresh.resize(CountReturns(plugin, PluginOperator::kFresh));
    PluginArguments args(PluginArguments::Memory::kNone);
    PAL_TRY(AddArguments(call.op, call.args, args));
    if (plugin.meta != nullptr) {
      PalContext ctx = MakeContext(plugin, state);
      int code = plugin.meta(&ctx, args.data(), args.size());
      PAL_TRY(Outcome(call.op, code, state, false));
    }
    size_t fresh = 0;
    for (int kind : plugin.returns) {
      if (kind == PluginOperator::kNumber) {
        call.results.push_back(ResultSpec::Data());
      } else if (kind >= 0) {
        call.results.push_back(WrittenArgument(kind, call.args[static_cast<size_t>(kind)]));
      } else if (std::optional<View>& view = state.fresh[fresh++]; view) {
        call.results.push_back(ResultSpec::Fresh(std::move(*view)));
      } else {
        return RuntimeFailure(
            fmt::format("{}: meta says nothing of result {} (a mistake in the "
                        "operator)",
                        call.op.schema.Key(), fresh - 1));
      }
    }
    return {};
  };
}

KernelFn PluginKernel(PluginOperator plugin) {
  return [plugin = std::move(plugin)](KernelCall& call) -> Status {
    CallState state;
    state.numbers.resize(CountReturns(plugin, PluginOperator::kNumber));
    PluginArguments args(PluginArguments::Memory::kReal);
    PAL_TRY(AddArguments(call.op, call.args, args));
    for (const Tensor& result : call.results) args.AddResult(result);
    PalContext ctx = MakeContext(plugin, state);
    int code = plugin.run(&ctx, args.data(), args.size());
    PAL_TRY(Outcome(call.op, code, state, true));
    for (std::optional<Value>& number : state.numbers) {
      if (!number) {
        return RuntimeFailure(
            fmt::format("{}: run did not give the number that the schema "
                        "promises (a mistake in the operator)",
                        call.op.schema.Key()));
      }
      call.numbers.push_back(std::move(*number));
    }
    return {};
  };
}

}  // namespace palimpsest::op
