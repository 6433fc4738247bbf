// Elements of caselib's tensors: the walk in row-major order, arithmetic that wraps, the contracts.
//
// tests/cases/caselib.md is the description. Everything is sequential and unbuffered: operands that
// share memory give defined results.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "palimpsest/operator_library.h"

namespace caselib {

using palimpsest::DType;
using palimpsest::plugin::ContractError;
using palimpsest::plugin::NewTensor;
using palimpsest::plugin::Require;
using palimpsest::plugin::Tensor;

using Sizes = std::span<const int64_t>;

// Calls f(offsets) for each index tuple of `sizes`, row-major; offsets in elements, one per
// operand.
template <size_t K, typename F>
void Walk(Sizes sizes, const std::array<Sizes, K>& strides, F&& f) {
  for (int64_t s : sizes) {
    if (s == 0) return;
  }
  std::vector<int64_t> index(sizes.size(), 0);
  std::array<int64_t, K> offsets = {};
  while (true) {
    f(offsets);
    size_t d = sizes.size();
    while (d > 0) {
      --d;
      if (++index[d] < sizes[d]) {
        for (size_t k = 0; k < K; ++k) offsets[k] += strides[k][d];
        break;
      }
      for (size_t k = 0; k < K; ++k) offsets[k] -= strides[k][d] * (sizes[d] - 1);
      index[d] = 0;
      if (d == 0) return;
    }
    if (sizes.empty()) return;
  }
}

// f(T* first element of each operand) for each index tuple; operands have the sizes of `first`.
template <typename T, typename F>
void ForEach(const Tensor& a, T* pa, F&& f) {
  Walk<1>(a.sizes(), {a.strides()}, [&](const auto& o) { f(pa[o[0]]); });
}
template <typename A, typename B, typename F>
void ForEach(const Tensor& a, A* pa, const Tensor& b, B* pb, F&& f) {
  Walk<2>(a.sizes(), {a.strides(), b.strides()}, [&](const auto& o) { f(pa[o[0]], pb[o[1]]); });
}
template <typename A, typename B, typename C, typename F>
void ForEach(const Tensor& a, A* pa, const Tensor& b, B* pb, const Tensor& c, C* pc, F&& f) {
  Walk<3>(a.sizes(), {a.strides(), b.strides(), c.strides()},
          [&](const auto& o) { f(pa[o[0]], pb[o[1]], pc[o[2]]); });
}

// Integers wrap, floats round.
template <typename T>
T Plus(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a + b;
  } else {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  }
}
template <typename T>
T Minus(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a - b;
  } else {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
  }
}

// A double as an element: rounded, for integers truncated towards zero.
template <typename T>
T FromDouble(double v) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(v);
  } else {
    // -min is a power of two: exact as a double.
    constexpr double kEnd = -static_cast<double>(std::numeric_limits<T>::min());
    double whole = std::trunc(v);
    Require(whole >= -kEnd && whole < kEnd, "value out of range");
    return static_cast<T>(whole);
  }
}
template <typename T>
T Times(T v, double s) {
  if constexpr (std::is_floating_point_v<T>) {
    return v * static_cast<T>(s);
  } else {
    return FromDouble<T>(static_cast<double>(v) * s);
  }
}

// The sum over all elements: in double, of integers in 64 bits; then an element again.
template <typename T>
T Total(const Tensor& x) {
  std::conditional_t<std::is_floating_point_v<T>, double, int64_t> sum = 0;
  ForEach(x, x.data<const T>(), [&](T v) { sum = Plus(sum, static_cast<decltype(sum)>(v)); });
  return static_cast<T>(sum);
}

// ---- Contracts, for meta.
inline void RequireType(const Tensor& t) {
  DType d = t.dtype();
  Require(d == DType::kF32 || d == DType::kF64 || d == DType::kI64 || d == DType::kI32,
          "element type");
}
inline void RequireSameType(std::initializer_list<Tensor> tensors) {
  for (const Tensor& t : tensors) {
    RequireType(t);
    Require(t.dtype() == tensors.begin()->dtype(), "element types differ");
  }
}
inline bool SameSizes(Sizes a, Sizes b) {
  return std::vector<int64_t>(a.begin(), a.end()) == std::vector<int64_t>(b.begin(), b.end());
}
inline void RequireAlike(std::initializer_list<Tensor> tensors) {
  RequireSameType(tensors);
  for (const Tensor& t : tensors) {
    Require(SameSizes(t.sizes(), tensors.begin()->sizes()), "sizes differ");
  }
}

// Calls f with a value of the tensor's element type.
template <typename F>
void Dispatch(const Tensor& t, F&& f) {
  switch (t.dtype()) {
    case DType::kF32:
      return f(float{});
    case DType::kF64:
      return f(double{});
    case DType::kI64:
      return f(int64_t{});
    case DType::kI32:
      return f(int32_t{});
    default:
      throw ContractError("element type");
  }
}

}  // namespace caselib
