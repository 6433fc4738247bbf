#include "ir/bind.h"

#include <fmt/format.h>

#include "ir/compare.h"

namespace palimpsest::ir {
namespace {

using op::BaseType;

bool IsNumber(const Argument& a) {
  return a.Is<bool>() || a.Is<int64_t>() || a.Is<double>() || a.Is<std::complex<double>>();
}

// Can a constant stand for one element of this type? Nodes are checked when they have values.
bool Fits(BaseType base, const Argument& a) {
  if (a.IsNode() || a.IsNone()) return true;
  switch (base) {
    case BaseType::kTensor:
    case BaseType::kScalar:
    case BaseType::kComplex:
      return IsNumber(a);
    case BaseType::kInt:
    case BaseType::kSymInt:
      return a.Is<bool>() || a.Is<int64_t>() || a.Is<DType>() || a.Is<MemoryFormat>() ||
             a.Is<LayoutKind>();
    case BaseType::kFloat:
      return a.Is<bool>() || a.Is<int64_t>() || a.Is<double>();
    case BaseType::kBool:
    case BaseType::kSymBool:
      return a.Is<bool>() || a.Is<int64_t>();
    case BaseType::kString:
      return a.Is<std::string>();
    case BaseType::kDevice:
      return a.Is<Device>() || a.Is<std::string>();
    case BaseType::kScalarType:
      return a.Is<DType>();
    case BaseType::kLayout:
      return a.Is<LayoutKind>();
    case BaseType::kMemoryFormat:
      return a.Is<MemoryFormat>();
    case BaseType::kGenerator:
      return false;
    case BaseType::kOther:
      return true;
  }
  return true;
}

// One element: int -> float in a float slot, string -> device in a device slot.
bool ConvertElement(BaseType base, Argument& a) {
  if (!Fits(base, a)) return false;
  if (base == BaseType::kFloat && a.Is<int64_t>()) a = static_cast<double>(a.As<int64_t>());
  if (base == BaseType::kDevice && a.Is<std::string>()) a = Device{a.As<std::string>(), -1};
  if (base == BaseType::kBool && a.Is<int64_t>()) a = a.As<int64_t>() != 0;
  return true;
}

bool ConvertSlot(const op::SchemaType& type, Argument& a) {
  if (type.base == BaseType::kOther || a.IsNone()) return true;
  if (!type.IsList()) return ConvertElement(type.base, a);
  if (!a.IsList()) {
    if (a.IsNode() && !type.list_size) return true;  // a list value
    if (!type.list_size || !ConvertElement(type.base, a)) return false;
    a = Argument(Argument::List(static_cast<size_t>(*type.list_size), a));
    return true;
  }
  size_t lists = 0;
  for (auto p : type.postfixes) lists += p == op::SchemaType::Postfix::kList ? 1 : 0;
  if (lists > 1) return true;  // Tensor[][]: nobody's kernel takes it
  for (Argument& item : a.As<Argument::List>()) {
    if (!ConvertElement(type.base, item)) return false;
  }
  return true;
}

std::string_view KindOf(const Argument& a) {
  if (a.IsNone()) return "None";
  if (a.IsNode()) return "a value";
  if (a.IsList()) return "this list";
  if (IsNumber(a)) return "this number";
  if (a.Is<std::string>()) return "a string";
  if (a.Is<DType>()) return "an element type";
  return "a constant of this kind";
}

}  // namespace

Status BindCall(Node& node, std::vector<Argument> positional, std::vector<NamedArgument> keywords) {
  const op::Schema& schema = node.op->schema;
  std::vector<std::string> names;
  names.reserve(keywords.size());
  for (const NamedArgument& k : keywords) names.push_back(k.name);
  PAL_TRY(op::Binding binding, op::BindArguments(schema, positional.size(), names));
  node.args.clear();
  node.args.reserve(schema.args.size());
  node.kwargs.clear();
  for (size_t i = 0; i < schema.args.size(); ++i) {
    const op::SchemaArg& slot = schema.args[i];
    if (!binding.source[i]) {
      node.args.push_back(Argument::FromValue(*slot.default_value));
      continue;
    }
    int source = *binding.source[i];
    Argument value = source >= 0 ? std::move(positional[static_cast<size_t>(source)])
                                 : std::move(keywords[static_cast<size_t>(-1 - source)].value);
    if (!ConvertSlot(slot.type, value)) {
      return BadInput(fmt::format("{}: argument '{}' takes {}, not {}; its schema is {}",
                                  schema.Key(), slot.name, slot.type.ToString(), KindOf(value),
                                  schema.ToString()));
    }
    node.args.push_back(std::move(value));
  }
  return {};
}

CallText ArgumentsAsWritten(const Node& node) {
  CallText text;
  if (node.op == nullptr) {
    for (const Argument& arg : node.args) text.positional.push_back(&arg);
    for (const NamedArgument& arg : node.kwargs) text.keywords.emplace_back(arg.name, &arg.value);
    return text;
  }
  const std::vector<op::SchemaArg>& slots = node.op->schema.args;
  size_t count = std::min(slots.size(), node.args.size());
  auto is_default = [&](size_t i) {
    return slots[i].default_value &&
           SameArgument(node.args[i], Argument::FromValue(*slots[i].default_value));
  };
  size_t positional = 0;  // positional arguments reach to the last that is no default
  for (size_t i = 0; i < count; ++i) {
    if (!slots[i].keyword_only && !is_default(i)) positional = i + 1;
  }
  for (size_t i = 0; i < count; ++i) {
    if (i < positional) {
      text.positional.push_back(&node.args[i]);
    } else if (slots[i].keyword_only && !is_default(i)) {
      text.keywords.emplace_back(slots[i].name, &node.args[i]);
    }
  }
  return text;
}

}  // namespace palimpsest::ir
