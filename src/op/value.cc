#include "palimpsest/value.h"

#include "base/check.h"

namespace palimpsest {

Scalar Value::ToScalar() const {
  if (Is<bool>()) return Scalar::Bool(As<bool>());
  if (Is<int64_t>()) return Scalar::Int(As<int64_t>());
  if (Is<double>()) return Scalar::Float(As<double>());
  PAL_CHECK(Is<std::complex<double>>(), "a number is expected");
  return Scalar::Complex(As<std::complex<double>>());
}

int64_t Value::ToInt() const {
  if (Is<bool>()) return As<bool>() ? 1 : 0;
  if (Is<double>()) return static_cast<int64_t>(As<double>());
  PAL_CHECK(Is<int64_t>(), "an integer is expected");
  return As<int64_t>();
}

double Value::ToDouble() const {
  if (Is<double>()) return As<double>();
  return static_cast<double>(ToInt());
}

bool Value::ToBool() const { return Is<bool>() ? As<bool>() : ToDouble() != 0; }

Dims Value::ToDims() const {
  if (!IsList()) return Dims{ToInt()};
  Dims dims;
  for (const Value& v : list()) dims.push_back(v.ToInt());
  return dims;
}

std::optional<int64_t> Value::ToOptionalInt() const {
  if (IsNone()) return std::nullopt;
  return ToInt();
}
std::optional<DType> Value::ToOptionalDType() const {
  if (IsNone()) return std::nullopt;
  return As<DType>();
}
std::optional<MemoryFormat> Value::ToOptionalMemoryFormat() const {
  if (IsNone()) return std::nullopt;
  return As<MemoryFormat>();
}

}  // namespace palimpsest
