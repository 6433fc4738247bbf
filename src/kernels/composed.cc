#include "kernels/composed.h"

#include <fmt/format.h>

#include "kernels/copy.h"

namespace palimpsest::kernels {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

Value Composer::Fail(Error error) {
  if (status_.ok()) status_ = std::move(error);
  return Value();
}

Value Composer::Item(const Value& list, size_t i) const {
  if (!status_.ok() || !list.IsList() || i >= list.list().size()) return Value();
  return list.list()[i];
}

Value Composer::Call(std::string_view key, Value::List args, const Named& named) {
  if (!status_.ok()) return Value();
  Result<Value> result = TryCall(key, std::move(args), named);
  if (!result.ok()) return Fail(std::move(result.error()));
  return std::move(*result);
}

Result<Value> Composer::TryCall(std::string_view key, Value::List args, const Named& named) {
  const op::Op* op = table_.Find(key);
  if (op == nullptr) return InternalError(fmt::format("{} is not registered", key));
  const op::Schema& schema = op->schema;
  for (size_t i = args.size(); i < schema.args.size(); ++i) {
    args.push_back(schema.args[i].default_value.value_or(Value()));
  }
  for (const auto& [name, value] : named) {
    int i = schema.FindArg(name);
    if (i < 0) return InternalError(fmt::format("{} has no argument {}", key, name));
    args[static_cast<size_t>(i)] = value;
  }
  PAL_TRY(op::CallResult result,
          mode_ == Mode::kInfer ? op::InferOp(*op, args) : op::CallOp(*op, args, generator_));
  if (result.returns.size() == 1) return std::move(result.returns[0]);
  return Value(std::move(result.returns));
}

namespace {

ResultSpec SpecOfTensor(const Tensor& tensor, std::span<const Value> args) {
  for (size_t i = 0; i < args.size(); ++i) {
    int arg = static_cast<int>(i);
    if (args[i].IsTensor() && args[i].tensor().storage == tensor.storage) {
      return ResultSpec::ViewOf(arg, tensor.view());
    }
    if (!args[i].IsList()) continue;
    const Value::List& list = args[i].list();
    for (size_t j = 0; j < list.size(); ++j) {
      if (!list[j].IsTensor() || list[j].tensor().storage != tensor.storage) continue;
      return ResultSpec::ViewOf(arg, tensor.view(), static_cast<int>(j));
    }
  }
  return ResultSpec::Fresh(tensor.view());
}

ResultSpec SpecOf(const Value& value, std::span<const Value> args) {
  if (value.IsTensor()) return SpecOfTensor(value.tensor(), args);
  if (value.IsNone()) return ResultSpec::None();
  if (!value.IsList()) return ResultSpec::Number(value);
  std::vector<ResultSpec> items;
  for (const Value& item : value.list()) items.push_back(SpecOf(item, args));
  return ResultSpec::List(std::move(items));
}

Status ComposedMeta(const op::OpTable& table, Composition compose, MetaCall& call) {
  Composer composer(table, Composer::Mode::kInfer, nullptr);
  Value value = compose(composer, call.args);
  PAL_TRY(composer.status());
  if (call.op.schema.returns.size() == 1) {
    call.results.push_back(SpecOf(value, call.args));
    return {};
  }
  for (const Value& item : value.list()) call.results.push_back(SpecOf(item, call.args));
  return {};
}

// Copies the fresh ones among the composed tensors to the results, in order.
Status StoreFresh(const Value& value, KernelCall& call, size_t& next) {
  if (value.IsList()) {
    for (const Value& item : value.list()) PAL_TRY(StoreFresh(item, call, next));
    return {};
  }
  if (!value.IsTensor()) return {};
  if (SpecOfTensor(value.tensor(), call.args).kind != ResultSpec::Kind::kFresh) return {};
  return CopyTo(value.tensor(), call.results[next++]);
}

Status ComposedKernel(const op::OpTable& table, Composition compose, KernelCall& call) {
  if (call.results.empty()) return {};
  Composer composer(table, Composer::Mode::kRun, call.generator);
  Value value = compose(composer, call.args);
  PAL_TRY(composer.status());
  size_t next = 0;
  return StoreFresh(value, call, next);
}

}  // namespace

Status RegisterComposed(op::OpTable& table, std::span<const ComposedRow> rows) {
  const op::OpTable* used = &table;
  for (const ComposedRow& row : rows) {
    op::Op op;
    PAL_TRY(op.schema, op::ParseSchema(row.schema));
    Composition compose = row.compose;
    op.meta = [used, compose](MetaCall& call) { return ComposedMeta(*used, compose, call); };
    op.kernel = [used, compose](KernelCall& call) { return ComposedKernel(*used, compose, call); };
    PAL_TRY(table.Register(std::move(op)));
  }
  return {};
}

}  // namespace palimpsest::kernels
