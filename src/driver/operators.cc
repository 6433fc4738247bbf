// Operators: the table of built-in operators, and of loaded libraries; single calls.

#include <fmt/format.h>

#include "base/check.h"
#include "driver/program_impl.h"
#include "kernels/builtin.h"
#include "op/plugin_loader.h"

namespace palimpsest {

Operators::Operators() : state_(std::make_shared<State>()) {
  Status status = kernels::RegisterBuiltins(state_->table);
  PAL_CHECK(status.ok(), "built-in operators: {}", status.error().message);
}

Status Operators::LoadLibrary(const std::string& path) {
  PAL_TRY(op::LoadPlugin(path, state_->table));
  state_->libraries.push_back(path);
  return {};
}

std::vector<std::string> Operators::Names() const {
  std::vector<std::string> names;
  for (const op::Op* op : state_->table.All()) names.push_back(op->schema.Key());
  return names;
}

Result<std::vector<Value>> Operators::Call(
    std::string_view name, std::span<const Value> positional,
    const std::vector<std::pair<std::string, Value>>& keywords,
    std::vector<std::string>* warnings) const {
  const op::Op* op = state_->table.Find(name);
  if (op == nullptr) {
    std::string nearest = state_->table.Nearest(name);
    return Error{ErrorKind::kUnknownOperator, "",
                 fmt::format("unknown operator '{}'{}", name,
                             nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)),
                 ""};
  }
  std::vector<std::string> keys;
  for (const auto& [key, value] : keywords) keys.push_back(key);
  PAL_TRY(op::Binding binding, op::BindArguments(op->schema, positional.size(), keys));
  std::vector<Value> args(op->schema.args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    std::optional<int> source = binding.source[i];
    if (!source) {
      args[i] = *op->schema.args[i].default_value;
    } else if (*source >= 0) {
      args[i] = positional[static_cast<size_t>(*source)];
    } else {
      args[i] = keywords[static_cast<size_t>(-1 - *source)].second;
    }
  }
  op::CallResult result;
  PAL_TRY(result, op::CallOp(*op, args, nullptr));
  if (warnings != nullptr) *warnings = std::move(result.warnings);
  return std::move(result.returns);
}

}  // namespace palimpsest
