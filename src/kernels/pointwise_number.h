// The builder of plain numbers: element-wise functions evaluated at once.
//
// An element-wise operator is written once, as a function over a *builder*: it never computes, it
// asks the builder to. With Number<T> the builder computes with one element of type T; a code
// generator will be another builder, whose values are machine values.
//
//   struct Silu {
//     template <class B>
//     static auto Apply(const B& b, typename B::V x) {
//       return b.Div(x, b.Add(b.Const(1), b.Exp(b.Neg(x))));
//     }
//   };
//
// A builder has: V, Mask, the kind of V at compile time (kIsBool, kIsInt, kIsFloat, kIsComplex),
// Const, Param (the call's numbers, converted to V), and the functions below. 16-bit floats have no
// instance: they are computed in float and rounded once.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numbers>
#include <type_traits>

#include "kernels/loop_table.h"

namespace palimpsest::kernels {

template <typename T>
struct RealPart {
  using Type = T;
};
template <typename P>
struct RealPart<std::complex<P>> {
  using Type = P;
};

// Level: whose code this is (levels/level.h). Instances of two levels must not be one function for
// the linker.
template <typename T, class Level>
class Number {
 public:
  using V = T;
  using Mask = bool;
  static constexpr bool kIsBool = std::is_same_v<T, bool>;
  static constexpr bool kIsInt = std::is_integral_v<T> && !kIsBool;
  static constexpr bool kIsFloat = std::is_floating_point_v<T>;
  static constexpr bool kIsComplex = !std::is_arithmetic_v<T>;

  explicit Number(const LoopContext& context) : context_(context) {}

  V Param(int i) const { return static_cast<const T*>(context_.params)[i]; }
  V Const(double c) const {
    if constexpr (kIsBool) {
      return c != 0;
    } else {
      return T(static_cast<typename RealPart<T>::Type>(c));
    }
  }
  V Largest() const { return std::numeric_limits<T>::max(); }
  V Smallest() const { return std::numeric_limits<T>::lowest(); }

  // Integers wrap; bools are added as "or" and multiplied as "and".
  V Add(V x, V y) const {
    if constexpr (kIsBool)
      return x || y;
    else if constexpr (kIsInt)
      return Wrap(Bits(x) + Bits(y));
    else
      return x + y;
  }
  V Sub(V x, V y) const {
    if constexpr (kIsBool)
      return x != y;
    else if constexpr (kIsInt)
      return Wrap(Bits(x) - Bits(y));
    else
      return x - y;
  }
  V Mul(V x, V y) const {
    if constexpr (kIsBool)
      return x && y;
    else if constexpr (kIsInt)
      return Wrap(Bits(x) * Bits(y));
    else
      return x * y;
  }
  // True division; of integers: towards zero, and division by zero fails the call.
  V Div(V x, V y) const {
    if constexpr (kIsInt) {
      if (y == 0) return Fail();
      if constexpr (std::is_signed_v<T>) {
        if (y == -1) return Neg(x);
      }
      return static_cast<T>(x / y);
    } else {
      return x / y;
    }
  }
  // C's remainder: the sign of x.
  V Rem(V x, V y) const {
    if constexpr (kIsInt) {
      if (y == 0) return Fail();
      if constexpr (std::is_signed_v<T>) {
        if (y == -1) return 0;
      }
      return static_cast<T>(x % y);
    } else {
      return std::fmod(x, y);
    }
  }
  V Neg(V x) const {
    if constexpr (kIsInt)
      return Wrap(uint64_t{0} - Bits(x));
    else
      return -x;
  }

  V BitAnd(V x, V y) const { return static_cast<T>(x & y); }
  V BitOr(V x, V y) const { return static_cast<T>(x | y); }
  V BitXor(V x, V y) const { return static_cast<T>(x ^ y); }
  V BitNot(V x) const {
    if constexpr (kIsBool)
      return !x;
    else
      return static_cast<T>(~x);
  }
  // Shifts by less than 0 or by the width and more give what shifting bit by bit would.
  V ShiftLeft(V x, V y) const {
    if (y < 0 || y >= static_cast<V>(8 * sizeof(T))) return 0;
    return Wrap(Bits(x) << y);
  }
  V ShiftRight(V x, V y) const {
    constexpr int kMost = 8 * sizeof(T) - 1;
    if (y < 0 || y > kMost) return static_cast<T>(x >> kMost);
    return static_cast<T>(x >> y);
  }

  Mask Lt(V x, V y) const { return x < y; }
  Mask Le(V x, V y) const { return x <= y; }
  Mask Gt(V x, V y) const { return x > y; }
  Mask Ge(V x, V y) const { return x >= y; }
  Mask Eq(V x, V y) const { return x == y; }
  Mask Ne(V x, V y) const { return x != y; }
  Mask IsNan(V x) const {
    if constexpr (kIsFloat)
      return x != x;
    else if constexpr (kIsComplex)
      return x != x;
    else
      return false;
  }
  Mask NonZero(V x) const { return x != V(0); }
  Mask And(Mask a, Mask b) const { return a && b; }
  Mask Or(Mask a, Mask b) const { return a || b; }
  Mask Not(Mask a) const { return !a; }
  V Select(Mask mask, V x, V y) const { return mask ? x : y; }

  auto Abs(V x) const {
    if constexpr (kIsInt && std::is_signed_v<T>)
      return x < 0 ? Neg(x) : x;
    else if constexpr (kIsInt || kIsBool)
      return x;
    else
      return std::abs(x);
  }
  V Exp(V x) const { return std::exp(x); }
  V Log(V x) const { return std::log(x); }
  V Log10(V x) const { return std::log10(x); }
  V Sqrt(V x) const { return std::sqrt(x); }
  V Sin(V x) const { return std::sin(x); }
  V Cos(V x) const { return std::cos(x); }
  V Tan(V x) const { return std::tan(x); }
  V Asin(V x) const { return std::asin(x); }
  V Acos(V x) const { return std::acos(x); }
  V Atan(V x) const { return std::atan(x); }
  V Sinh(V x) const { return std::sinh(x); }
  V Cosh(V x) const { return std::cosh(x); }
  V Tanh(V x) const { return std::tanh(x); }
  V Asinh(V x) const { return std::asinh(x); }
  V Acosh(V x) const { return std::acosh(x); }
  V Atanh(V x) const { return std::atanh(x); }
  // Integers by squaring, where a negative exponent gives what the exact inverse rounds to (0,
  // except for 1 and -1).
  V Pow(V x, V y) const {
    if constexpr (kIsInt) {
      return IntegerPow(x, y);
    } else {
      return std::pow(x, y);
    }
  }
  // Real only.
  V Exp2(V x) const { return std::exp2(x); }
  V Expm1(V x) const { return std::expm1(x); }
  V Log2(V x) const { return std::log2(x); }
  V Log1p(V x) const { return std::log1p(x); }
  V Erf(V x) const { return std::erf(x); }
  // x times the normal distribution's cumulative function.
  V Gelu(V x) const {
    constexpr double kRoot = std::numbers::sqrt2 / 2;
    return Mul(Mul(x, Const(0.5)), Add(Const(1), Erf(Mul(x, Const(kRoot)))));
  }
  V Erfc(V x) const { return std::erfc(x); }
  V Floor(V x) const { return std::floor(x); }
  V Ceil(V x) const { return std::ceil(x); }
  V Trunc(V x) const { return std::trunc(x); }
  V RoundEven(V x) const { return std::nearbyint(x); }
  V Atan2(V x, V y) const { return std::atan2(x, y); }
  V Hypot(V x, V y) const { return std::hypot(x, y); }
  V CopySign(V x, V y) const { return std::copysign(x, y); }

 private:
  static uint64_t Bits(T x) { return static_cast<uint64_t>(x); }
  static T Wrap(uint64_t bits) { return static_cast<T>(bits); }
  V IntegerPow(V x, V y) const {
    if (y < 0) {
      if (x == 1) return 1;
      if (x == static_cast<T>(-1)) return y % 2 == 0 ? T{1} : x;
      return 0;
    }
    V result = 1;
    while (y > 0) {
      if (y & 1) result = Mul(result, x);
      x = Mul(x, x);
      y = static_cast<T>(y >> 1);
    }
    return result;
  }
  V Fail() const {
    *context_.failed = true;
    return 0;
  }

  const LoopContext& context_;
};

}  // namespace palimpsest::kernels
