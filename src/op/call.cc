// CallOp and InferOp: one operator call, on memory or on shapes alone.
#include "op/call.h"

#include <fmt/format.h>

#include <cstring>

#include "base/check.h"
#include "op/op.h"

namespace palimpsest::op {
namespace {

using Kind = ResultSpec::Kind;

// Result specifications nest as deep as return types do: Tensor[] is one level.
constexpr int kMaxResultDepth = 4;

const Value& ArgumentOf(const ResultSpec& spec, std::span<const Value> args) {
  const Value& value = args[static_cast<size_t>(spec.arg)];
  return spec.element < 0 ? value : value.list()[static_cast<size_t>(spec.element)];
}

// Turns what meta said into values; fresh tensors come from `make` and are collected in `fresh`.
struct ResultBuilder {
  std::span<const Value> args;
  const std::vector<MetaCall::Relayout>& relayouts;
  Result<Tensor> (*make)(const View&);
  std::vector<Tensor> fresh;
  size_t numbers = 0;  // results of kind kData

  Result<Value> Build(const ResultSpec& spec, int depth = 0) {
    PAL_CHECK(depth < kMaxResultDepth, "results nest too deeply");
    switch (spec.kind) {
      case Kind::kNone:
        return Value();
      case Kind::kNumber:
        return spec.number;
      case Kind::kFresh: {
        PAL_TRY(Tensor tensor, make(spec.view));
        fresh.push_back(tensor);
        return Value(std::move(tensor));
      }
      case Kind::kView: {
        const Tensor& base = ArgumentOf(spec, args).tensor();
        return Value(Tensor(spec.view, base.storage));
      }
      case Kind::kSame:
        return Same(spec);
      case Kind::kData:
        ++numbers;
        return Value();
      case Kind::kList:
        break;
    }
    Value::List items;
    for (const ResultSpec& item : spec.items) {
      PAL_TRY(Value value, Build(item, depth + 1));
      items.push_back(std::move(value));
    }
    return Value(std::move(items));
  }

  Value Same(const ResultSpec& spec) const {
    Value value = ArgumentOf(spec, args);
    if (!value.IsTensor()) return value;
    for (const MetaCall::Relayout& relayout : relayouts) {
      if (relayout.arg == spec.arg) static_cast<View&>(value.As<Tensor>()) = relayout.view;
    }
    return value;
  }
};

// Puts the numbers that the kernel read in the places of kData, in order.
void FillNumbers(const ResultSpec& spec, std::span<const Value> numbers, size_t* next,
                 Value& value) {
  if (spec.kind == Kind::kData) value = numbers[(*next)++];
  if (spec.kind != Kind::kList) return;
  for (size_t i = 0; i < spec.items.size(); ++i) {
    FillNumbers(spec.items[i], numbers, next, value.As<Value::List>()[i]);
  }
}

Result<MetaCall> RunMeta(const Op& op, std::span<const Value> args) {
  if (!op.meta) {
    return Error{ErrorKind::kUnknownOperator, "",
                 fmt::format("operator {} is known by its schema only: load the library that "
                             "implements it (--ops LIB)",
                             op.schema.Key()),
                 ""};
  }
  MetaCall call{op, args, {}, {}, {}};
  PAL_TRY(op.meta(call));
  if (call.results.size() != op.schema.returns.size() && !op.schema.varret) {
    return InternalError(fmt::format("the meta function of {} gives {} results, the schema {}",
                                     op.schema.Key(), call.results.size(),
                                     op.schema.returns.size()));
  }
  return call;
}

Result<Tensor> MakeShapeOnly(const View& view) { return ShapeOnlyTensor(view); }

// The tied operand's old contents go into the result before the kernel updates it.
Status FillTiedResult(const Op& op, std::span<const Value> args, std::span<const Tensor> fresh) {
  if (op.traits.tied < 0 || fresh.empty()) return {};
  const Tensor& old = args[static_cast<size_t>(op.traits.tied)].tensor();
  if (old.dtype != fresh[0].dtype || old.sizes != fresh[0].sizes) {
    return InternalError(fmt::format("{}: result {} does not fit the tied operand {}",
                                     op.schema.Key(), ToString(fresh[0].view()),
                                     ToString(old.view())));
  }
  CopyElements(old, fresh[0]);
  return {};
}

Status RunKernel(const Op& op, KernelCall& call, size_t numbers) {
  if (!op.kernel) {
    if (call.results.empty() && numbers == 0) return {};  // a view, or a change of layout
    return Unsupported(fmt::format("operator {} has no kernel", op.schema.Key()));
  }
  PAL_TRY(op.kernel(call));
  if (call.numbers.size() < numbers) {
    return InternalError(fmt::format("the kernel of {} gave {} of {} numbers", op.schema.Key(),
                                     call.numbers.size(), numbers));
  }
  return {};
}

template <size_t kBytes>
void CopyRow(const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_step, from + i * from_step, kBytes);
}

void CopyRow(const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step, int64_t n,
             int64_t item) {
  if (from_step == item && to_step == item) {
    std::memmove(to, from, static_cast<size_t>(n * item));
    return;
  }
  switch (item) {
    case 1:
      return CopyRow<1>(from, from_step, to, to_step, n);
    case 2:
      return CopyRow<2>(from, from_step, to, to_step, n);
    case 4:
      return CopyRow<4>(from, from_step, to, to_step, n);
    case 8:
      return CopyRow<8>(from, from_step, to, to_step, n);
    default:
      return CopyRow<16>(from, from_step, to, to_step, n);
  }
}

}  // namespace

void CopyElements(const Tensor& source, const Tensor& destination) {
  PAL_CHECK(source.dtype == destination.dtype && source.sizes == destination.sizes,
            "copy of {} to {}", ToString(source.view()), ToString(destination.view()));
  int64_t item = source.item_size(), count = source.numel();
  if (count == 0) return;
  const std::byte* from = source.data();
  std::byte* to = destination.data();
  size_t dims = source.dim();
  if (dims == 0 || (IsContiguous(source.view()) && IsContiguous(destination.view()))) {
    std::memmove(to, from, static_cast<size_t>(count * item));
    return;
  }
  size_t last = dims - 1;
  int64_t n = source.sizes[last];
  Dims index(last, 0);
  while (true) {
    CopyRow(from, source.strides[last] * item, to, destination.strides[last] * item, n, item);
    size_t d = last;
    for (; d > 0; --d) {  // the odometer over the outer dims
      from += source.strides[d - 1] * item;
      to += destination.strides[d - 1] * item;
      if (++index[d - 1] < source.sizes[d - 1]) break;
      from -= source.strides[d - 1] * item * source.sizes[d - 1];
      to -= destination.strides[d - 1] * item * source.sizes[d - 1];
      index[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

Result<CallResult> CallOp(const Op& op, std::span<const Value> args, Generator* generator) {
  PAL_TRY(MetaCall meta, RunMeta(op, args));
  CallResult out;
  ResultBuilder builder{args, meta.relayouts, EmptyTensor, {}, 0};
  for (const ResultSpec& spec : meta.results) {
    Result<Value> value = builder.Build(spec);
    if (!value.ok()) {
      value.error().message = op.schema.Key() + ": " + value.error().message;
      return std::move(value).error();
    }
    out.returns.push_back(*std::move(value));
  }
  PAL_TRY(FillTiedResult(op, args, builder.fresh));
  KernelCall call{op, args, builder.fresh, {}, generator};
  PAL_TRY(RunKernel(op, call, builder.numbers));
  size_t next = 0;
  for (size_t i = 0; i < meta.results.size(); ++i) {
    FillNumbers(meta.results[i], call.numbers, &next, out.returns[i]);
  }
  out.relayouts = std::move(meta.relayouts);
  out.warnings = std::move(meta.warnings);
  return out;
}

Result<CallResult> InferOp(const Op& op, std::span<const Value> args) {
  PAL_TRY(MetaCall meta, RunMeta(op, args));
  CallResult out;
  ResultBuilder builder{args, meta.relayouts, MakeShapeOnly, {}, 0};
  for (const ResultSpec& spec : meta.results) {
    PAL_TRY(Value value, builder.Build(spec));
    out.returns.push_back(std::move(value));
  }
  out.relayouts = std::move(meta.relayouts);
  out.warnings = std::move(meta.warnings);
  return out;
}

}  // namespace palimpsest::op
