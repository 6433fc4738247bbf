// What all normalizations share: moments of a slice, parameters as plain arrays, and checks.
//
// Sums are made in double: one rounding to the operand's (or float) precision at the end.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/packed.h"
#include "op/op.h"
#include "palimpsest/value.h"

namespace palimpsest::kernels {

struct Moments {
  double mean = 0;
  double variance = 0;  // biased
};

template <typename T>
Moments MomentsOf(const T* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  double mean = sum / static_cast<double>(n);
  double squares = 0;
  for (int64_t i = 0; i < n; ++i) {
    double distance = static_cast<double>(x[i]) - mean;
    squares += distance * distance;
  }
  return {mean, squares / static_cast<double>(n)};
}

template <typename T>
double MeanSquare(const T* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum / static_cast<double>(n);
}

// An optional parameter in the type of the sums; data<T>() is null where it is absent.
class NormParameter {
 public:
  static Result<NormParameter> Of(const Value& value, DType type);
  template <typename T>
  const T* data() const {
    return tensor_.defined() ? tensor_.data_as<T>() : nullptr;
  }

 private:
  Tensor tensor_;
};

// y = (x - mean) * scale over n elements, then elementwise weight and bias where they are present.
template <typename T>
struct NormRow {
  const T* x;
  T* y;
  int64_t n;
  const T* weight;
  const T* bias;
};
template <typename T>
void Normalize(const NormRow<T>& row, double mean, double scale) {
  T m = static_cast<T>(mean), s = static_cast<T>(scale);
  for (int64_t i = 0; i < row.n; ++i) {
    T y = (row.x[i] - m) * s;
    if (row.weight != nullptr) y *= row.weight[i];
    if (row.bias != nullptr) y += row.bias[i];
    row.y[i] = y;
  }
}

// Refuses element types that PyTorch has no normalization for, and 16-bit or other parameters of an
// operand of another type ("dtype_mismatch"); f32 parameters of a 16-bit operand are fine.
Status CheckNormTypes(const op::MetaCall& call, const Tensor& input,
                      std::initializer_list<const Value*> parameters);
// The type of the moments that native forms return: the parameters', else the input's.
DType MomentType(const Tensor& input, std::initializer_list<const Value*> parameters);

}  // namespace palimpsest::kernels
