// Does an argument fit the type of its slot? Tensors are not told from numbers where a node stands:
// that is known only when the program runs.

#include <fmt/format.h>

#include "import/graph_reader.h"

namespace palimpsest::importing {
namespace {

using ir::Argument;
using op::BaseType;
using Postfix = op::SchemaType::Postfix;

bool FitsBase(const op::SchemaType& type, const Argument& a) {
  bool integer = a.Is<int64_t>() || a.Is<bool>();
  bool real = integer || a.Is<double>();
  bool number = real || a.Is<std::complex<double>>();
  switch (type.base) {
    case BaseType::kTensor:
    case BaseType::kScalar:
    case BaseType::kComplex:
      return a.IsNode() || number;
    case BaseType::kInt:
    case BaseType::kSymInt:
      return a.IsNode() || integer;
    case BaseType::kBool:
    case BaseType::kSymBool:
      return a.IsNode() || integer;
    case BaseType::kFloat:
      return a.IsNode() || real;
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
  return false;
}

// With the first `n` postfixes of the type only.
bool Fits(const op::SchemaType& type, size_t n, const Argument& a) {
  if (n == 0) return FitsBase(type, a);
  if (type.postfixes[n - 1] == Postfix::kOptional) return a.IsNone() || Fits(type, n - 1, a);
  if (!a.IsList()) {
    // A node may be a list; one number stands for all of an int[2].
    return a.IsNode() || (type.list_size && Fits(type, n - 1, a));
  }
  for (const Argument& item : a.list()) {
    if (!Fits(type, n - 1, item)) return false;
  }
  return true;
}

const char* KindOf(const Argument& a) {
  if (a.IsNone()) return "None";
  if (a.Is<bool>()) return "a bool";
  if (a.Is<int64_t>()) return "an int";
  if (a.Is<double>()) return "a float";
  if (a.Is<std::complex<double>>()) return "a complex number";
  if (a.Is<std::string>()) return "a string";
  if (a.IsNode()) return "a value";
  if (a.IsList()) return "a list";
  if (a.Is<ir::OpRef>()) return "an operator";
  if (a.Is<ir::SubgraphRef>()) return "a graph";
  return "a constant";
}

const char* NameOf(BaseType base) {
  switch (base) {
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
      return "object";
  }
  return "";
}

}  // namespace

Status CheckArgument(const op::SchemaArg& slot, const Argument& argument) {
  if (Fits(slot.type, slot.type.postfixes.size(), argument)) return {};
  if (argument.IsNone() && slot.default_value && slot.default_value->IsNone()) return {};
  std::string wanted = NameOf(slot.type.base);
  for (Postfix p : slot.type.postfixes) wanted += p == Postfix::kList ? "[]" : "?";
  return BadInput(
      fmt::format("argument '{}' is {}, {} is expected", slot.name, KindOf(argument), wanted));
}

}  // namespace palimpsest::importing
