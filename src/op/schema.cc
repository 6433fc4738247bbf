#include "op/schema.h"

#include <fmt/format.h>

#include "base/scanner.h"

namespace palimpsest::op {
namespace {

std::string_view BaseName(const SchemaType& type) {
  switch (type.base) {
    case BaseType::kTensor:
      return "Tensor";
    case BaseType::kScalar:
      return "Scalar";
    case BaseType::kInt:
      return "int";
    case BaseType::kSymInt:
      return "SymInt";
    case BaseType::kFloat:
      return "float";
    case BaseType::kBool:
      return "bool";
    case BaseType::kSymBool:
      return "SymBool";
    case BaseType::kComplex:
      return "complex";
    case BaseType::kString:
      return "str";
    case BaseType::kDevice:
      return "Device";
    case BaseType::kScalarType:
      return "ScalarType";
    case BaseType::kLayout:
      return "Layout";
    case BaseType::kMemoryFormat:
      return "MemoryFormat";
    case BaseType::kGenerator:
      return "Generator";
    case BaseType::kOther:
      return type.other;
  }
  return type.other;
}

std::string AliasText(const AliasInfo& alias) {
  if (alias.before.empty()) return "!";  // a fresh set
  std::string text = "(" + fmt::format("{}", fmt::join(alias.before, "|"));
  if (alias.is_write) text += "!";
  if (!alias.after.empty()) text += fmt::format(" -> {}", fmt::join(alias.after, "|"));
  return text + ")";
}

std::string DefaultText(const Value& value) {
  if (value.IsNone()) return "None";
  if (value.Is<bool>()) return value.As<bool>() ? "True" : "False";
  if (value.Is<int64_t>()) return fmt::format("{}", value.As<int64_t>());
  if (value.Is<double>()) return PythonRepr(value.As<double>());
  if (value.Is<std::complex<double>>()) return PythonRepr(value.As<std::complex<double>>());
  if (value.Is<std::string>()) return PythonRepr(value.As<std::string>());
  if (value.Is<DType>()) return std::string(TorchName(value.As<DType>()));
  if (value.Is<LayoutKind>()) return "strided";
  if (value.Is<Device>()) {
    const Device& d = value.As<Device>();
    return PythonRepr(d.index < 0 ? d.type : fmt::format("{}:{}", d.type, d.index));
  }
  if (value.Is<MemoryFormat>()) {
    switch (value.As<MemoryFormat>()) {
      case MemoryFormat::kContiguous:
        return "contiguous_format";
      case MemoryFormat::kPreserve:
        return "preserve_format";
      case MemoryFormat::kChannelsLast:
        return "channels_last";
      case MemoryFormat::kChannelsLast3d:
        return "channels_last_3d";
    }
  }
  std::string text = "[";
  for (const Value& v : value.list()) text += (text.size() > 1 ? ", " : "") + DefaultText(v);
  return text + "]";
}

std::string ArgText(const SchemaArg& arg) {
  std::string text = arg.type.ToString();
  if (!arg.name.empty()) text += " " + arg.name;
  if (arg.default_value) text += "=" + DefaultText(*arg.default_value);
  return text;
}

std::string ReturnsText(const Schema& schema) {
  if (schema.varret) return "...";
  std::string text;
  for (const SchemaArg& r : schema.returns) text += (text.empty() ? "" : ", ") + ArgText(r);
  // A tuple as the only return, "((T1, T2)[])", would read as two returns.
  bool parentheses = schema.returns.size() != 1 || text.starts_with('(');
  return parentheses ? "(" + text + ")" : text;
}

Error CallError(const Schema& schema, const std::string& message) {
  return BadInput(
      fmt::format("{}: {}; its schema is {}", schema.Key(), message, schema.ToString()));
}

}  // namespace

bool SchemaType::IsList() const {
  for (Postfix p : postfixes) {
    if (p == Postfix::kList) return true;
  }
  return false;
}

bool SchemaType::IsOptional() const {
  return !postfixes.empty() && postfixes.back() == Postfix::kOptional;
}

std::string SchemaType::ToString() const {
  std::string text(BaseName(*this));
  auto annotate = [&](size_t position) {
    if (alias && alias->postfixes == position) text += AliasText(*alias);
    if (list_alias && list_alias->postfixes == position) text += AliasText(*list_alias);
  };
  annotate(0);
  for (size_t i = 0; i < postfixes.size(); ++i) {
    if (postfixes[i] == Postfix::kOptional) {
      text += "?";
    } else {
      text += list_size ? fmt::format("[{}]", *list_size) : "[]";
    }
    annotate(i + 1);
  }
  return text;
}

std::string Schema::Key() const {
  std::string key = ns.empty() ? name : ns + "::" + name;
  return overload.empty() ? key : key + "." + overload;
}

std::string Schema::Target() const {
  if (ns == "_operator" || ns == "torch" || ns == "math") return ns + "." + name;
  return fmt::format("torch.ops.{}.{}.{}", ns, name, overload.empty() ? "default" : overload);
}

int Schema::FindArg(std::string_view arg_name) const {
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].name == arg_name) return static_cast<int>(i);
  }
  return -1;
}

bool Schema::WritesAnything() const {
  for (const SchemaArg& arg : args) {
    if (arg.type.is_write()) return true;
  }
  return false;
}

std::string Schema::ToString() const {
  std::string text = Key() + "(";
  bool first = true, star = false;
  for (const SchemaArg& arg : args) {
    if (!first) text += ", ";
    first = false;
    if (arg.keyword_only && !star) text += "*, ";
    star = star || arg.keyword_only;
    text += ArgText(arg);
  }
  if (vararg) text += first ? "..." : ", ...";
  return text + ") -> " + ReturnsText(*this);
}

Result<Binding> BindArguments(const Schema& schema, size_t positional,
                              const std::vector<std::string>& keywords) {
  Binding binding;
  binding.source.resize(schema.args.size());
  size_t places = 0;
  while (places < schema.args.size() && !schema.args[places].keyword_only) ++places;
  if (positional > places) {
    return CallError(
        schema, fmt::format("{} positional arguments are given, it takes {}", positional, places));
  }
  for (size_t i = 0; i < positional; ++i) binding.source[i] = static_cast<int>(i);
  for (size_t k = 0; k < keywords.size(); ++k) {
    int arg = schema.FindArg(keywords[k]);
    if (arg < 0) return CallError(schema, fmt::format("it has no argument '{}'", keywords[k]));
    std::optional<int>& source = binding.source[static_cast<size_t>(arg)];
    if (source) return CallError(schema, fmt::format("argument '{}' is given twice", keywords[k]));
    source = -1 - static_cast<int>(k);
  }
  for (size_t i = 0; i < schema.args.size(); ++i) {
    if (binding.source[i] || schema.args[i].default_value) continue;
    return CallError(schema, fmt::format("argument '{}' is missing", schema.args[i].name));
  }
  return binding;
}

}  // namespace palimpsest::op
