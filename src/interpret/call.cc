// One operator call in either mode: on memory (op::CallOp) or metadata only.
#include <fmt/format.h>

#include <cstring>

#include "interpret/walker.h"

namespace palimpsest::interpret {
namespace {

// What a ResultSpec stands for, on shape-only memory. Lists nest as deep as schema types do.
Result<Value> FromSpec(const op::ResultSpec& spec, std::span<const Value> args,
                       const Value* known_data, const Shared& shared) {
  using Kind = op::ResultSpec::Kind;
  switch (spec.kind) {
    case Kind::kNone:
      return Value();
    case Kind::kFresh: {
      PAL_TRY(Tensor fresh, NewTensor(spec.view, shared));
      return Value(std::move(fresh));
    }
    case Kind::kView:
    case Kind::kSame: {
      const Value* arg = &args[static_cast<size_t>(spec.arg)];
      if (spec.element >= 0) arg = &arg->list()[static_cast<size_t>(spec.element)];
      if (spec.kind == Kind::kSame) return *arg;
      return Value(Tensor(spec.view, arg->tensor().storage));
    }
    case Kind::kNumber:
      return spec.number;
    case Kind::kData:
      if (known_data != nullptr) return *known_data;
      return Unsupported(
          "a number is read from memory while the program is compiled: it must be read ahead of "
          "the call");
    case Kind::kList: {
      Value::List items;
      for (const op::ResultSpec& item : spec.items) {
        PAL_TRY(Value v, FromSpec(item, args, known_data, shared));
        items.push_back(std::move(v));
      }
      return Value(std::move(items));
    }
  }
  return InternalError("a result of unknown kind");
}

Result<op::CallResult> InferCall(const op::Op& op, std::span<const Value> args,
                                 const Value* known_data, const Shared& shared) {
  if (!op.meta) {
    return Unsupported(
        "nothing says what its results are: register the operator with a meta function");
  }
  op::MetaCall call{op, args, {}, {}, {}};
  PAL_TRY(op.meta(call));
  op::CallResult result;
  for (const op::ResultSpec& spec : call.results) {
    PAL_TRY(Value v, FromSpec(spec, args, known_data, shared));
    result.returns.push_back(std::move(v));
  }
  result.relayouts = std::move(call.relayouts);
  for (const op::MetaCall::Relayout& relayout : result.relayouts) {
    for (size_t i = 0; i < result.returns.size(); ++i) {
      const op::ResultSpec& spec = call.results[i];
      if (spec.kind == op::ResultSpec::Kind::kSame && spec.arg == relayout.arg &&
          spec.element < 0) {
        static_cast<View&>(result.returns[i].As<Tensor>()) = relayout.view;
      }
    }
  }
  return result;
}

}  // namespace

Result<op::CallResult> Call(const op::Op& op, std::span<const Value> args, const Value* known_data,
                            const Shared& shared) {
  if (shared.on_memory) return op::CallOp(op, args, shared.generator);
  return InferCall(op, args, known_data, shared);
}

Result<Tensor> NewTensor(const View& view, const Shared& shared) {
  PAL_TRY(int64_t bytes, RequiredBytes(view));
  if (!shared.on_memory) return Tensor(view, ShapeOnlyStorage(bytes));
  return EmptyTensor(view);
}

Result<Tensor> CopyWithStrides(const Tensor& t, const Shared& shared) {
  View view = t.view();
  view.offset = 0;
  PAL_TRY(Tensor copy, NewTensor(view, shared));
  int64_t bytes = copy.storage->bytes();
  if (shared.on_memory && bytes > 0) {
    std::memcpy(copy.data(), t.data(), static_cast<size_t>(bytes));
  }
  return copy;
}

}  // namespace palimpsest::interpret
