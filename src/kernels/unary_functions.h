// Functions of one operand, over a builder (pointwise_number.h).
#pragma once

#include <numbers>

namespace palimpsest::kernels::functions {

struct Identity {
  template <class B>
  static auto Apply(const B&, typename B::V x) {
    return x;
  }
};
struct Neg {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Neg(x);
  }
};
struct Abs {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Abs(x);
  }
};
struct BitNot {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.BitNot(x);
  }
};
struct LogicalNot {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Not(b.NonZero(x));
  }
};
// nan has sign 0, as in PyTorch.
struct Sign {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    if constexpr (B::kIsBool) {
      return x;
    } else {
      auto zero = b.Const(0), one = b.Const(1);
      auto low = [&] {
        if constexpr (B::kIsInt)
          return b.Sub(zero, one);
        else
          return b.Const(-1);
      }();
      return b.Select(b.Gt(x, zero), one, b.Select(b.Lt(x, zero), low, zero));
    }
  }
};
struct Square {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Mul(x, x);
  }
};
struct Relu {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Select(b.Lt(x, b.Const(0)), b.Const(0), x);
  }
};
struct IsNan {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.IsNan(x);
  }
};
struct IsFinite {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    if constexpr (B::kIsFloat)
      return b.Le(b.Abs(x), b.Largest());
    else
      return b.Eq(x, x);
  }
};
struct IsInf {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    if constexpr (B::kIsFloat)
      return b.Gt(b.Abs(x), b.Largest());
    else
      return b.Ne(x, x);
  }
};
struct Floor {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Floor(x);
  }
};
struct Ceil {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Ceil(x);
  }
};
struct Trunc {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Trunc(x);
  }
};
struct Round {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.RoundEven(x);
  }
};
// Param 0: ten to the number of decimals, or to its negative; param 1: is it to be divided by?
struct RoundDecimals {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    auto scale = b.Param(0);
    auto ten = b.Pow(b.Const(10), b.Abs(scale));
    return b.Select(b.Lt(scale, b.Const(0)), b.Mul(b.RoundEven(b.Div(x, ten)), ten),
                    b.Div(b.RoundEven(b.Mul(x, ten)), ten));
  }
};
struct Frac {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Sub(x, b.Trunc(x));
  }
};
struct Exp {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Exp(x);
  }
};
struct Exp2 {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Exp2(x);
  }
};
struct Expm1 {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Expm1(x);
  }
};
struct Log {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Log(x);
  }
};
struct Log2 {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Log2(x);
  }
};
struct Log10 {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Log10(x);
  }
};
struct Log1p {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Log1p(x);
  }
};
struct Sqrt {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Sqrt(x);
  }
};
struct Rsqrt {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Div(b.Const(1), b.Sqrt(x));
  }
};
struct Reciprocal {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Div(b.Const(1), x);
  }
};
struct Sin {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Sin(x);
  }
};
struct Cos {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Cos(x);
  }
};
struct Tan {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Tan(x);
  }
};
struct Asin {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Asin(x);
  }
};
struct Acos {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Acos(x);
  }
};
struct Atan {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Atan(x);
  }
};
struct Sinh {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Sinh(x);
  }
};
struct Cosh {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Cosh(x);
  }
};
struct Tanh {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Tanh(x);
  }
};
struct Asinh {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Asinh(x);
  }
};
struct Acosh {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Acosh(x);
  }
};
struct Atanh {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Atanh(x);
  }
};
struct Erf {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Erf(x);
  }
};
struct Erfc {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Erfc(x);
  }
};
struct Sigmoid {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Div(b.Const(1), b.Add(b.Const(1), b.Exp(b.Neg(x))));
  }
};

// ---- Activations.
struct GeluErf {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Gelu(x);
  }
};
struct GeluTanh {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    constexpr double kBeta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    auto cube = b.Mul(b.Mul(x, x), x);
    auto inner = b.Mul(b.Const(kBeta), b.Add(x, b.Mul(b.Const(0.044715), cube)));
    return b.Mul(b.Mul(b.Const(0.5), x), b.Add(b.Const(1), b.Tanh(inner)));
  }
};
struct Silu {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Div(x, b.Add(b.Const(1), b.Exp(b.Neg(x))));
  }
};
struct Mish {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Mul(x, b.Tanh(b.Log1p(b.Exp(x))));
  }
};
// alpha, scale, input_scale.
struct Elu {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    auto low = b.Mul(b.Mul(b.Expm1(b.Mul(x, b.Param(2))), b.Param(0)), b.Param(1));
    return b.Select(b.Le(x, b.Const(0)), low, b.Mul(x, b.Param(1)));
  }
};
struct Selu {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    constexpr double kAlpha = 1.6732632423543772848170429916717;
    constexpr double kScale = 1.0507009873554804934193349852946;
    auto low = b.Mul(b.Expm1(x), b.Const(kAlpha * kScale));
    return b.Select(b.Le(x, b.Const(0)), low, b.Mul(x, b.Const(kScale)));
  }
};
struct Celu {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    auto low = b.Mul(b.Expm1(b.Div(x, b.Param(0))), b.Param(0));
    return b.Select(b.Le(x, b.Const(0)), low, x);
  }
};
// min(max(x, low), high); nan stays nan.
struct Clamp {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return Between(b, x, b.Param(0), b.Param(1));
  }
  template <class B>
  static auto Between(const B& b, typename B::V x, typename B::V low, typename B::V high) {
    auto raised = b.Select(b.Lt(x, low), low, x);
    return b.Select(b.Gt(raised, high), high, raised);
  }
};
struct ClampMin {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Select(b.Lt(x, b.Param(0)), b.Param(0), x);
  }
};
struct ClampMax {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Select(b.Gt(x, b.Param(0)), b.Param(0), x);
  }
};
struct Relu6 {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return Clamp::Between(b, x, b.Const(0), b.Const(6));
  }
};
struct HardSigmoid {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    auto six = Clamp::Between(b, b.Add(x, b.Const(3)), b.Const(0), b.Const(6));
    return b.Div(six, b.Const(6));
  }
};
struct HardSwish {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    auto six = Clamp::Between(b, b.Add(x, b.Const(3)), b.Const(0), b.Const(6));
    return b.Div(b.Mul(x, six), b.Const(6));
  }
};
struct LeakyRelu {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Select(b.Gt(x, b.Const(0)), x, b.Mul(x, b.Param(0)));
  }
};
// beta, threshold.
struct Softplus {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    auto scaled = b.Mul(x, b.Param(0));
    return b.Select(b.Gt(scaled, b.Param(1)), x, b.Div(b.Log1p(b.Exp(scaled)), b.Param(0)));
  }
};
struct LogSigmoid {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    auto low = b.Select(b.Lt(x, b.Const(0)), x, b.Const(0));
    return b.Sub(low, b.Log1p(b.Exp(b.Neg(b.Abs(x)))));
  }
};
struct HardShrink {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    auto inside = b.And(b.Ge(x, b.Neg(b.Param(0))), b.Le(x, b.Param(0)));
    return b.Select(inside, b.Const(0), x);
  }
};
struct SoftShrink {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    auto lambda = b.Param(0);
    auto low = b.Select(b.Lt(x, b.Neg(lambda)), b.Add(x, lambda), b.Mul(x, b.Const(0)));
    return b.Select(b.Gt(x, lambda), b.Sub(x, lambda), low);
  }
};
struct Threshold {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Select(b.Le(x, b.Param(0)), b.Param(1), x);
  }
};
// Replacements of nan, inf, -inf.
struct NanToNum {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    if constexpr (B::kIsFloat) {
      auto high = b.Select(b.Gt(x, b.Largest()), b.Param(1), x);
      auto low = b.Select(b.Lt(x, b.Smallest()), b.Param(2), high);
      return b.Select(b.IsNan(x), b.Param(0), low);
    } else {
      return x;
    }
  }
};

}  // namespace palimpsest::kernels::functions
