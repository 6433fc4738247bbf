// Functions of two and three operands, over a builder (pointwise_number.h).
#pragma once

#include "kernels/unary_functions.h"

namespace palimpsest::kernels::functions {

// Param 0: alpha.
struct AddScaled {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.Add(x, b.Mul(b.Param(0), y));
  }
};
struct SubScaled {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.Sub(x, b.Mul(b.Param(0), y));
  }
};
struct Mul {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.Mul(x, y);
  }
};
struct Div {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.Div(x, y);
  }
};
struct DivTrunc {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    if constexpr (B::kIsFloat)
      return b.Trunc(b.Div(x, y));
    else
      return b.Div(x, y);
  }
};
// Python's //. For floats by way of the exact remainder: floor(x / y) is off where x / y rounds up.
struct DivFloor {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    auto zero = b.Const(0), one = b.Const(1);
    if constexpr (B::kIsFloat) {
      auto rest = b.Rem(x, y);
      auto whole = b.Div(b.Sub(x, rest), y);
      auto wrong_side =
          b.And(b.Ne(rest, zero), b.Ne(BoolToV(b, b.Lt(rest, zero)), BoolToV(b, b.Lt(y, zero))));
      whole = b.Select(wrong_side, b.Sub(whole, one), whole);
      auto down = b.Floor(whole);
      auto rounded = b.Select(b.Gt(b.Sub(whole, down), b.Const(0.5)), b.Add(down, one), down);
      auto result = b.Select(b.Eq(whole, zero), b.CopySign(zero, b.Div(x, y)), rounded);
      return b.Select(b.Eq(y, zero), b.Div(x, y), result);
    } else {
      auto whole = b.Div(x, y);
      auto rest = b.Sub(x, b.Mul(whole, y));
      auto wrong_side =
          b.And(b.Ne(rest, zero), b.Ne(BoolToV(b, b.Lt(rest, zero)), BoolToV(b, b.Lt(y, zero))));
      return b.Select(wrong_side, b.Sub(whole, one), whole);
    }
  }
  template <class B>
  static auto BoolToV(const B& b, typename B::Mask mask) {
    return b.Select(mask, b.Const(1), b.Const(0));
  }
};
// The sign of y.
struct Remainder {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    auto zero = b.Const(0);
    auto rest = b.Rem(x, y);
    auto wrong_side = b.And(b.Ne(rest, zero), b.Ne(DivFloor::BoolToV(b, b.Lt(rest, zero)),
                                                   DivFloor::BoolToV(b, b.Lt(y, zero))));
    return b.Select(wrong_side, b.Add(rest, y), rest);
  }
};
struct Fmod {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.Rem(x, y);
  }
};
// nan if either is nan.
struct Maximum {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.Select(b.Or(b.Gt(x, y), b.IsNan(x)), x, y);
  }
};
struct Minimum {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.Select(b.Or(b.Lt(x, y), b.IsNan(x)), x, y);
  }
};
// The other one if either is nan.
struct Fmax {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.Select(b.Or(b.Ge(x, y), b.IsNan(y)), x, y);
  }
};
struct Fmin {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.Select(b.Or(b.Le(x, y), b.IsNan(y)), x, y);
  }
};
struct Atan2 {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.Atan2(x, y);
  }
};
struct Hypot {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.Hypot(x, y);
  }
};
struct CopySign {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.CopySign(x, y);
  }
};
struct Xlogy {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    auto product = b.Select(b.Eq(x, b.Const(0)), b.Const(0), b.Mul(x, b.Log(y)));
    return b.Select(b.IsNan(y), y, product);
  }
};
struct LogAddExp {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    auto most = Maximum::Apply(b, x, y);
    auto sum = b.Add(most, b.Log1p(b.Exp(b.Neg(b.Abs(b.Sub(x, y))))));
    auto equal_infinities = b.And(b.Eq(x, y), b.Gt(b.Abs(x), b.Largest()));
    return b.Select(equal_infinities, x, sum);
  }
};
struct Pow {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.Pow(x, y);
  }
};
// Param 0: the exponent.
struct PowNumber {
  template <class B>
  static auto Apply(const B& b, typename B::V x) {
    return b.Pow(x, b.Param(0));
  }
};
struct PRelu {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V w) {
    return b.Select(b.Gt(x, b.Const(0)), x, b.Mul(w, x));
  }
};

// ---- Tests.
struct Eq {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.Eq(x, y);
  }
};
struct Ne {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.Ne(x, y);
  }
};
struct Lt {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.Lt(x, y);
  }
};
struct Le {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.Le(x, y);
  }
};
struct Gt {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.Gt(x, y);
  }
};
struct Ge {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.Ge(x, y);
  }
};
struct LogicalAnd {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.And(b.NonZero(x), b.NonZero(y));
  }
};
struct LogicalOr {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.Or(b.NonZero(x), b.NonZero(y));
  }
};
struct LogicalXor {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    auto p = b.NonZero(x), q = b.NonZero(y);
    return b.And(b.Or(p, q), b.Not(b.And(p, q)));
  }
};

// ---- Bits.
struct BitAnd {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.BitAnd(x, y);
  }
};
struct BitOr {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.BitOr(x, y);
  }
};
struct BitXor {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.BitXor(x, y);
  }
};
struct ShiftLeft {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.ShiftLeft(x, y);
  }
};
struct ShiftRight {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return b.ShiftRight(x, y);
  }
};

// ---- Three operands.
struct Where {
  template <class B>
  static auto Apply(const B& b, typename B::Mask mask, typename B::V x, typename B::V y) {
    return b.Select(mask, x, y);
  }
};
// Param 0: the value that goes where the mask is set.
struct MaskedFill {
  template <class B>
  static auto Apply(const B& b, typename B::Mask mask, typename B::V x) {
    return b.Select(mask, b.Param(0), x);
  }
};
// Param 0: value.
struct AddCMul {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y, typename B::V z) {
    return b.Add(x, b.Mul(b.Mul(b.Param(0), y), z));
  }
};
struct AddCDiv {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y, typename B::V z) {
    return b.Add(x, b.Div(b.Mul(b.Param(0), y), z));
  }
};
// From the nearer end, as PyTorch does, so that weight 1 gives exactly the end.
struct Lerp {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y, typename B::V w) {
    auto way = b.Sub(y, x);
    if constexpr (B::kIsFloat) {
      return b.Select(b.Lt(b.Abs(w), b.Const(0.5)), b.Add(x, b.Mul(w, way)),
                      b.Sub(y, b.Mul(way, b.Sub(b.Const(1), w))));
    } else {
      return b.Add(x, b.Mul(w, way));
    }
  }
};
// Param 0: weight.
struct LerpNumber {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V y) {
    return Lerp::Apply(b, x, y, b.Param(0));
  }
};
struct ClampTensors {
  template <class B>
  static auto Apply(const B& b, typename B::V x, typename B::V low, typename B::V high) {
    return Minimum::Apply(b, Maximum::Apply(b, x, low), high);
  }
};

}  // namespace palimpsest::kernels::functions
