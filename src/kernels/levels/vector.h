// The builder of vectors: element-wise functions evaluated on a register of elements at once.
//
// Vector<T> has the functions of Number<T> (pointwise_number.h) for all types but complex ones. A
// bool is a byte that is 0 or 1. Functions without a vector form run element by element: Each.
#pragma once

#include <cstring>

#include "kernels/levels/level.h"
#include "kernels/levels/register.h"
#include "kernels/pointwise_number.h"

namespace palimpsest::kernels::PAL_LEVEL {

template <typename T>
class Vector {
 public:
  using One = Number<T, Level>;
  using Lane = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
  static constexpr int64_t kLanes = kRegister / int64_t{sizeof(T)};
  using V = RegisterOf<Lane>;
  using I = RegisterOf<IntOf<sizeof(T)>>;
  using U = RegisterOf<std::make_unsigned_t<IntOf<sizeof(T)>>>;
  struct Mask {
    I bits;  // 0 or -1
  };
  using Bytes = SmallRegisterOf<int8_t, kLanes>;

  static constexpr bool kIsBool = One::kIsBool;
  static constexpr bool kIsInt = One::kIsInt;
  static constexpr bool kIsFloat = One::kIsFloat;
  static constexpr bool kIsComplex = false;

  explicit Vector(const LoopContext& context) : one_(context) {}

  // ---- Memory.
  static V Splat(T x) { return static_cast<Lane>(x) - V{}; }  // not x + 0: -0.0 stays
  static V FromMemory(V raw) {
    if constexpr (kIsBool) {
      return (V)((raw != 0) & 1);  // a byte of a bool tensor may hold anything
    } else {
      return raw;
    }
  }
  static Mask FromBools(Bytes raw) { return {__builtin_convertvector(raw != 0, I)}; }
  static Bytes ToBools(Mask mask) { return __builtin_convertvector(mask.bits, Bytes) & 1; }

  // ---- Numbers.
  V Param(int i) const { return Splat(one_.Param(i)); }
  V Const(double c) const { return Splat(one_.Const(c)); }
  V Largest() const { return Splat(one_.Largest()); }
  V Smallest() const { return Splat(one_.Smallest()); }

  // ---- Arithmetic.
  V Add(V x, V y) const {
    if constexpr (kIsBool)
      return x | y;
    else if constexpr (kIsInt)
      return (V)((U)x + (U)y);
    else
      return x + y;
  }
  V Sub(V x, V y) const {
    if constexpr (kIsBool)
      return x ^ y;
    else if constexpr (kIsInt)
      return (V)((U)x - (U)y);
    else
      return x - y;
  }
  V Mul(V x, V y) const {
    if constexpr (kIsBool)
      return x & y;
    else if constexpr (kIsInt)
      return (V)((U)x * (U)y);
    else
      return x * y;
  }
  V Div(V x, V y) const {
    if constexpr (kIsFloat)
      return x / y;
    else
      return Each([this](T a, T b) { return one_.Div(a, b); }, x, y);
  }
  V Rem(V x, V y) const {
    return Each([this](T a, T b) { return one_.Rem(a, b); }, x, y);
  }
  V Neg(V x) const {
    if constexpr (kIsFloat)
      return -x;
    else
      return (V)(U{} - (U)x);
  }

  // ---- Bits.
  V BitAnd(V x, V y) const { return x & y; }
  V BitOr(V x, V y) const { return x | y; }
  V BitXor(V x, V y) const { return x ^ y; }
  V BitNot(V x) const {
    if constexpr (kIsBool)
      return x ^ 1;
    else
      return ~x;
  }
  V ShiftLeft(V x, V y) const {
    constexpr Lane kMost = 8 * sizeof(T) - 1;
    I inside = (I)(y >= 0) & (I)(y <= kMost);
    return (V)(((U)x << ((U)y & (U)Splat(kMost))) & (U)inside);
  }
  V ShiftRight(V x, V y) const {
    constexpr Lane kMost = 8 * sizeof(T) - 1;
    I inside = (I)(y >= 0) & (I)(y <= kMost);
    return x >> (inside ? y : Splat(kMost));
  }

  // ---- Tests.
  Mask Lt(V x, V y) const { return {(I)(x < y)}; }
  Mask Le(V x, V y) const { return {(I)(x <= y)}; }
  Mask Gt(V x, V y) const { return {(I)(x > y)}; }
  Mask Ge(V x, V y) const { return {(I)(x >= y)}; }
  Mask Eq(V x, V y) const { return {(I)(x == y)}; }
  Mask Ne(V x, V y) const { return {(I)(x != y)}; }
  Mask IsNan(V x) const {
    if constexpr (kIsFloat)
      return {(I)(x != x)};
    else
      return {I{}};
  }
  Mask NonZero(V x) const { return {(I)(x != V{})}; }
  Mask And(Mask a, Mask b) const { return {a.bits & b.bits}; }
  Mask Or(Mask a, Mask b) const { return {a.bits | b.bits}; }
  Mask Not(Mask a) const { return {~a.bits}; }
  V Select(Mask mask, V x, V y) const { return mask.bits ? x : y; }

  // ---- Functions.
  V Abs(V x) const {
    if constexpr (kIsFloat)
      return (V)((U)x & ~SignBit());
    else if constexpr (kIsInt && std::is_signed_v<T>)
      return x < 0 ? Neg(x) : x;
    else
      return x;
  }
  V CopySign(V x, V y) const { return (V)(((U)x & ~SignBit()) | ((U)y & SignBit())); }
  V Sqrt(V x) const { return SqrtOf(x); }
  V Floor(V x) const { return FloorOf(x); }
  V Ceil(V x) const { return CeilOf(x); }
  V Trunc(V x) const { return TruncOf(x); }
  V RoundEven(V x) const { return RoundEvenOf(x); }

  V Exp(V x) const {
    return Each([this](T a) { return one_.Exp(a); }, x);
  }
  V Expm1(V x) const {
    return Each([this](T a) { return one_.Expm1(a); }, x);
  }
  V Log(V x) const {
    return Each([this](T a) { return one_.Log(a); }, x);
  }
  V Log1p(V x) const {
    return Each([this](T a) { return one_.Log1p(a); }, x);
  }
  V Tanh(V x) const {
    return Each([this](T a) { return one_.Tanh(a); }, x);
  }
  V Erf(V x) const {
    return Each([this](T a) { return one_.Erf(a); }, x);
  }
  V Gelu(V x) const {
    return Each([this](T a) { return one_.Gelu(a); }, x);
  }
  V Exp2(V x) const {
    return Each([this](T a) { return one_.Exp2(a); }, x);
  }
  V Log2(V x) const {
    return Each([this](T a) { return one_.Log2(a); }, x);
  }
  V Log10(V x) const {
    return Each([this](T a) { return one_.Log10(a); }, x);
  }
  V Sin(V x) const {
    return Each([this](T a) { return one_.Sin(a); }, x);
  }
  V Cos(V x) const {
    return Each([this](T a) { return one_.Cos(a); }, x);
  }
  V Tan(V x) const {
    return Each([this](T a) { return one_.Tan(a); }, x);
  }
  V Asin(V x) const {
    return Each([this](T a) { return one_.Asin(a); }, x);
  }
  V Acos(V x) const {
    return Each([this](T a) { return one_.Acos(a); }, x);
  }
  V Atan(V x) const {
    return Each([this](T a) { return one_.Atan(a); }, x);
  }
  V Sinh(V x) const {
    return Each([this](T a) { return one_.Sinh(a); }, x);
  }
  V Cosh(V x) const {
    return Each([this](T a) { return one_.Cosh(a); }, x);
  }
  V Asinh(V x) const {
    return Each([this](T a) { return one_.Asinh(a); }, x);
  }
  V Acosh(V x) const {
    return Each([this](T a) { return one_.Acosh(a); }, x);
  }
  V Atanh(V x) const {
    return Each([this](T a) { return one_.Atanh(a); }, x);
  }
  V Erfc(V x) const {
    return Each([this](T a) { return one_.Erfc(a); }, x);
  }
  V Pow(V x, V y) const {
    return Each([this](T a, T b) { return one_.Pow(a, b); }, x, y);
  }
  V Atan2(V x, V y) const {
    return Each([this](T a, T b) { return one_.Atan2(a, b); }, x, y);
  }
  V Hypot(V x, V y) const {
    return Each([this](T a, T b) { return one_.Hypot(a, b); }, x, y);
  }

 private:
  static U SignBit() { return (U)Splat(static_cast<T>(-0.0)); }

  template <class F, class... Vs>
  static V Each(F f, Vs... xs) {
    constexpr size_t kBytes = static_cast<size_t>(kRegister);
    alignas(kBytes) Lane in[sizeof...(Vs)][kLanes];
    alignas(kBytes) Lane out[kLanes];
    size_t k = 0;
    (std::memcpy(in[k++], &xs, kBytes), ...);
#pragma GCC unroll 1
    for (int64_t i = 0; i < kLanes; ++i) {
      if constexpr (sizeof...(Vs) == 1) {
        out[i] = f(in[0][i]);
      } else {
        out[i] = f(in[0][i], in[1][i]);
      }
    }
    V result;
    std::memcpy(&result, out, kBytes);
    return result;
  }

  One one_;
};

}  // namespace palimpsest::kernels::PAL_LEVEL
