#include "op/check_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace palimpsest::op {
namespace {

bool IsWholeNumber(const Value& v) {
  if (v.Is<double>()) return std::trunc(v.As<double>()) == v.As<double>();
  return v.Is<int64_t>() || v.Is<bool>();
}

bool IsRealNumber(const Value& v) { return v.IsNumber() && !v.Is<std::complex<double>>(); }

bool FitsElement(BaseType base, const Value& v) {
  switch (base) {
    case BaseType::kTensor:
      return v.IsTensor() ? v.tensor().defined() : v.IsNumber();
    case BaseType::kScalar:
    case BaseType::kComplex:
      return v.IsNumber();
    case BaseType::kInt:
    case BaseType::kSymInt:
      return IsWholeNumber(v);
    case BaseType::kFloat:
    case BaseType::kBool:
    case BaseType::kSymBool:
      return IsRealNumber(v);
    case BaseType::kString:
      return v.Is<std::string>();
    case BaseType::kDevice:
      return v.Is<Device>();
    case BaseType::kScalarType:
      return v.Is<DType>();
    case BaseType::kLayout:
      return v.Is<LayoutKind>();
    case BaseType::kMemoryFormat:
      return v.Is<MemoryFormat>();
    case BaseType::kGenerator:
    case BaseType::kOther:
      return true;
  }
  return true;
}

bool FitsList(const SchemaType& type, const Value& v) {
  using Postfix = SchemaType::Postfix;
  if (!v.IsList()) return type.list_size && FitsElement(type.base, v);
  if (std::count(type.postfixes.begin(), type.postfixes.end(), Postfix::kList) > 1) return true;
  bool holes = !type.postfixes.empty() && type.postfixes[0] == Postfix::kOptional;
  return std::all_of(v.list().begin(), v.list().end(), [&](const Value& item) {
    return item.IsNone() ? holes : FitsElement(type.base, item);
  });
}

bool Fits(const SchemaArg& arg, const Value& v) {
  if (arg.type.base == BaseType::kOther) return true;
  if (v.IsNone()) {
    return arg.type.IsOptional() || (arg.default_value && arg.default_value->IsNone());
  }
  // A written tensor is memory: a number will not do.
  if (arg.type.is_write() && !arg.type.IsList() && !v.IsTensor()) return false;
  return arg.type.IsList() ? FitsList(arg.type, v) : FitsElement(arg.type.base, v);
}

std::string_view KindOf(const Value& v) {
  if (v.IsNone()) return "None";
  if (v.IsTensor()) return "a tensor";
  if (v.IsList()) return "a list";
  if (v.Is<std::string>()) return "a string";
  if (v.IsNumber()) return "a number";
  return "a value of another kind";
}

}  // namespace

Status CheckArguments(const Schema& schema, std::span<const Value> args) {
  if (args.size() != schema.args.size()) {
    return InternalError(
        fmt::format("{} is called with {} arguments", schema.ToString(), args.size()));
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (Fits(schema.args[i], args[i])) continue;
    return BadInput(fmt::format("{}: argument '{}' does not take {}; its schema is {}",
                                schema.Key(), schema.args[i].name, KindOf(args[i]),
                                schema.ToString()));
  }
  return {};
}

}  // namespace palimpsest::op
