#include "functionalize/emitter.h"

#include <fmt/format.h>

#include "base/check.h"

namespace palimpsest::functionalize {
namespace {

template <typename... Ts>
bool AssignConstant(const Value& value, ir::Argument* result) {
  return ((value.Is<Ts>() && (*result = ir::Argument(value.As<Ts>()), true)) || ...);
}

}  // namespace

ir::Type TypeOf(const View& view) {
  ir::Type type;
  type.kind = ir::Type::Kind::kTensor;
  type.tensor.dtype = view.dtype;
  type.tensor.sizes.assign(view.sizes.begin(), view.sizes.end());
  type.tensor.strides.emplace(view.strides.begin(), view.strides.end());
  type.tensor.has_device = true;
  return type;
}

ir::Type TypeOf(const Value& value) {
  if (value.IsTensor()) return TypeOf(value.tensor().view());
  ir::Type type;
  if (value.IsList()) type.kind = ir::Type::Kind::kList;
  return type;
}

ir::Argument Constant(const Value& value) {
  if (value.IsList()) {
    ir::Argument::List list;
    for (const Value& v : value.list()) list.push_back(Constant(v));
    return ir::Argument(std::move(list));
  }
  ir::Argument result;
  bool known = AssignConstant<bool, int64_t, double, std::complex<double>, std::string, DType,
                              MemoryFormat, LayoutKind, Device>(value, &result);
  PAL_CHECK(known || value.IsNone(), "a tensor where a constant is expected");
  return result;
}

Result<const op::Op*> Emitter::Find(const std::string& key) const {
  const op::OpTable* table = graph_->table();
  const op::Op* op = table == nullptr ? nullptr : table->Find(key);
  if (op == nullptr) return InternalError(fmt::format("operator {} is not registered", key));
  return op;
}

ir::NodeId Emitter::Append(ir::Node node, std::string stem) {
  node.place = place_;
  node.text_line = text_line_;
  node.name = graph_->FreshName(stem);
  return graph_->Append(std::move(node));
}

ir::NodeId Emitter::Call(const op::Op& op, std::string stem, std::vector<ir::Argument> args,
                         ir::Type type) {
  ir::Node node;
  node.op = &op;
  node.target = op.schema.Target();
  node.args = std::move(args);
  node.type = std::move(type);
  return Append(std::move(node), std::move(stem));
}

Result<ir::NodeId> Emitter::Call(const std::string& key, std::vector<ir::Argument> args,
                                 const View& result) {
  PAL_TRY(const op::Op* op, Find(key));
  for (size_t i = args.size(); i < op->schema.args.size(); ++i) {
    const std::optional<Value>& value = op->schema.args[i].default_value;
    args.push_back(value ? ir::Argument::FromValue(*value) : ir::Argument());
  }
  return Call(*op, op->schema.name, std::move(args), TypeOf(result));
}

ir::NodeId Emitter::HigherOrder(const char* target, std::string stem,
                                std::vector<ir::Argument> args,
                                std::vector<ir::NamedArgument> kwargs) {
  ir::Node node;
  node.target = target;
  node.args = std::move(args);
  node.kwargs = std::move(kwargs);
  node.type.kind = ir::Type::Kind::kList;
  return Append(std::move(node), std::move(stem));
}

ir::NodeId Emitter::GetItem(ir::NodeId list, int64_t index, std::string stem, ir::Type type) {
  ir::Node node;
  node.kind = ir::Node::Kind::kGetItem;
  node.args.emplace_back(list);
  node.index = index;
  node.type = std::move(type);
  return Append(std::move(node), std::move(stem));
}

}  // namespace palimpsest::functionalize
