#include "ir/emitter.h"

#include <fmt/format.h>

namespace palimpsest::ir {

Type TypeOf(const View& view) {
  Type type;
  type.kind = Type::Kind::kTensor;
  type.tensor.dtype = view.dtype;
  type.tensor.sizes.assign(view.sizes.begin(), view.sizes.end());
  type.tensor.strides.emplace(view.strides.begin(), view.strides.end());
  type.tensor.has_device = true;
  return type;
}

Type TypeOf(const Value& value) {
  if (value.IsTensor()) return TypeOf(value.tensor().view());
  Type type;
  if (value.IsList()) type.kind = Type::Kind::kList;
  return type;
}

Result<const op::Op*> Emitter::Find(const std::string& key) const {
  const op::OpTable* table = graph_->table();
  const op::Op* op = table == nullptr ? nullptr : table->Find(key);
  if (op == nullptr) return InternalError(fmt::format("operator {} is not registered", key));
  return op;
}

NodeId Emitter::Append(Node node, std::string stem) {
  node.place = place_;
  node.text_line = text_line_;
  node.name = graph_->FreshName(stem);
  return graph_->Append(std::move(node));
}

NodeId Emitter::Call(const op::Op& op, std::string stem, std::vector<Argument> args, Type type) {
  Node node;
  node.op = &op;
  node.target = op.schema.Target();
  node.args = std::move(args);
  node.type = std::move(type);
  return Append(std::move(node), std::move(stem));
}

Result<NodeId> Emitter::Call(const std::string& key, std::vector<Argument> args, Type type,
                             std::string stem) {
  PAL_TRY(const op::Op* op, Find(key));
  for (size_t i = args.size(); i < op->schema.args.size(); ++i) {
    const std::optional<Value>& value = op->schema.args[i].default_value;
    args.push_back(value ? Argument::FromValue(*value) : Argument());
  }
  // PyTorch's tracer does not name a value as a Python builtin.
  if (stem.empty()) stem = op->schema.name == "slice" ? "slice_1" : op->schema.name;
  return Call(*op, std::move(stem), std::move(args), std::move(type));
}

NodeId Emitter::HigherOrder(const char* target, std::string stem, std::vector<Argument> args,
                            std::vector<NamedArgument> kwargs) {
  Node node;
  node.target = target;
  node.args = std::move(args);
  node.kwargs = std::move(kwargs);
  node.type.kind = Type::Kind::kList;
  return Append(std::move(node), std::move(stem));
}

NodeId Emitter::GetItem(NodeId list, int64_t index, std::string stem, Type type) {
  Node node;
  node.kind = Node::Kind::kGetItem;
  node.args.emplace_back(list);
  node.index = index;
  node.type = std::move(type);
  return Append(std::move(node), std::move(stem));
}

}  // namespace palimpsest::ir
