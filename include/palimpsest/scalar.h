// A Python number: bool, int, float or complex. In type promotion the lowest rank ("wrapped
// number").
#pragma once

#include <complex>
#include <cstdint>

#include "palimpsest/dtype.h"

namespace palimpsest {

struct Scalar {
  Category category = Category::kInteger;
  int64_t i = 0;                    // kBool (0 or 1) and kInteger
  std::complex<double> c = {0, 0};  // kFloat (real part) and kComplex

  Scalar() = default;
  static Scalar Bool(bool v) { return {Category::kBool, v ? 1 : 0, {v ? 1.0 : 0.0, 0}}; }
  static Scalar Int(int64_t v) { return {Category::kInteger, v, {static_cast<double>(v), 0}}; }
  static Scalar Float(double v) { return {Category::kFloat, 0, {v, 0}}; }
  static Scalar Complex(std::complex<double> v) { return {Category::kComplex, 0, v}; }
  double AsDouble() const { return IsInt() ? static_cast<double>(i) : c.real(); }
  bool IsInt() const { return category <= Category::kInteger; }
  // The element type of a 0-dim tensor made from the number: b8, i64, f64, c128.
  DType dtype() const {
    switch (category) {
      case Category::kBool:
        return DType::kB8;
      case Category::kInteger:
        return DType::kI64;
      case Category::kFloat:
        return DType::kF64;
      case Category::kComplex:
        return DType::kC128;
    }
    return DType::kF64;
  }

 private:
  Scalar(Category category_in, int64_t i_in, std::complex<double> c_in)
      : category(category_in), i(i_in), c(c_in) {}
};

}  // namespace palimpsest
