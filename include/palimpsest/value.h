// Value: what an operator is handed and what it returns, at run time: None, a number, a string, a
// tensor, a list. With shape-only tensors it is also what metadata inference computes.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "palimpsest/dtype.h"
#include "palimpsest/scalar.h"
#include "palimpsest/tensor.h"

namespace palimpsest {

struct Device {
  std::string type = "cpu";
  int index = -1;
  friend bool operator==(const Device&, const Device&) = default;
};
enum class LayoutKind : uint8_t { kStrided, kOther };

class Value {
 public:
  using List = std::vector<Value>;

  Value() = default;
  Value(bool v) : v_(v) {}                       // NOLINT
  Value(int64_t v) : v_(v) {}                    // NOLINT
  Value(int v) : v_(static_cast<int64_t>(v)) {}  // NOLINT
  Value(double v) : v_(v) {}                     // NOLINT
  Value(std::complex<double> v) : v_(v) {}       // NOLINT
  Value(std::string v) : v_(std::move(v)) {}     // NOLINT
  Value(const char* v) : v_(std::string(v)) {}   // NOLINT
  Value(DType v) : v_(v) {}                      // NOLINT
  Value(MemoryFormat v) : v_(v) {}               // NOLINT
  Value(LayoutKind v) : v_(v) {}                 // NOLINT
  Value(Device v) : v_(std::move(v)) {}          // NOLINT
  Value(Tensor v) : v_(std::move(v)) {}          // NOLINT
  Value(List v) : v_(std::move(v)) {}            // NOLINT
  static Value Ints(std::span<const int64_t> values) {
    return Value(List(values.begin(), values.end()));
  }

  bool IsNone() const { return std::holds_alternative<std::monostate>(v_); }
  template <typename T>
  bool Is() const {
    return std::holds_alternative<T>(v_);
  }
  template <typename T>
  const T& As() const {
    return std::get<T>(v_);
  }
  template <typename T>
  T& As() {
    return std::get<T>(v_);
  }
  bool IsTensor() const { return Is<Tensor>(); }
  const Tensor& tensor() const { return As<Tensor>(); }
  bool IsList() const { return Is<List>(); }
  const List& list() const { return As<List>(); }
  // bool, int, float or complex.
  bool IsNumber() const {
    return Is<bool>() || Is<int64_t>() || Is<double>() || Is<std::complex<double>>();
  }
  Scalar ToScalar() const;  // requires IsNumber()
  int64_t ToInt() const;    // int, bool, or a float without fraction
  double ToDouble() const;  // any real number
  bool ToBool() const;      // any real number
  Dims ToDims() const;      // list of ints (requires it); an int gives one element
  std::optional<int64_t> ToOptionalInt() const;
  std::optional<DType> ToOptionalDType() const;
  std::optional<MemoryFormat> ToOptionalMemoryFormat() const;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::complex<double>, std::string, DType,
               MemoryFormat, LayoutKind, Device, Tensor, List>
      v_;
};

// Calls f(const Tensor&) for each tensor in the value, lists included, in order.
template <typename F>
void ForEachTensor(const Value& value, F&& f) {
  if (value.IsTensor()) {
    f(value.tensor());
  } else if (value.IsList()) {
    for (const Value& v : value.list()) ForEachTensor(v, f);
  }
}

}  // namespace palimpsest
