// Python's arithmetic on numbers: _operator.*, torch.sym_*, math.*.
//
// Integers are exact: a result beyond 64 bits is refused, not wrapped. // and % round toward minus
// infinity; / gives a float.
#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "kernels/builtin_row.h"
#include "kernels/symbolic.h"

namespace palimpsest::kernels {
namespace {

using op::MetaCall;
using op::ResultSpec;
using Args = std::span<const Value>;

bool IsInteger(const Value& v) { return v.Is<int64_t>() || v.Is<bool>(); }
bool AllIntegers(Args args) {
  for (const Value& v : args) {
    if (!IsInteger(v)) return false;
  }
  return true;
}

Error TooLarge() {
  return BadInput("a number of the program does not fit 64 bits", "number_out_of_range");
}
Error DivisionByZero() { return Refused("division_by_zero", "division by zero"); }

using IntegerFn = bool (*)(int64_t, int64_t, int64_t*);  // true: overflow
using RealFn = double (*)(double, double);

template <IntegerFn kInteger, RealFn kReal>
Result<Value> Arithmetic(Args a) {
  if (!AllIntegers(a)) return Value(kReal(a[0].ToDouble(), a[1].ToDouble()));
  int64_t result;
  if (kInteger(a[0].ToInt(), a[1].ToInt(), &result)) return TooLarge();
  return Value(result);
}

bool AddInt(int64_t x, int64_t y, int64_t* r) { return __builtin_add_overflow(x, y, r); }
bool SubInt(int64_t x, int64_t y, int64_t* r) { return __builtin_sub_overflow(x, y, r); }
bool MulInt(int64_t x, int64_t y, int64_t* r) { return __builtin_mul_overflow(x, y, r); }
double AddReal(double x, double y) { return x + y; }
double SubReal(double x, double y) { return x - y; }
double MulReal(double x, double y) { return x * y; }

Result<Value> FloorDivide(Args a) {
  if (!AllIntegers(a)) {
    double y = a[1].ToDouble();
    if (y == 0) return DivisionByZero();
    return Value(std::floor(a[0].ToDouble() / y));
  }
  int64_t x = a[0].ToInt(), y = a[1].ToInt();
  if (y == 0) return DivisionByZero();
  if (y == -1) {
    int64_t negated;
    if (SubInt(0, x, &negated)) return TooLarge();
    return Value(negated);
  }
  int64_t quotient = x / y;
  return Value(x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient);
}

Result<Value> Modulo(Args a) {
  if (!AllIntegers(a)) {
    double x = a[0].ToDouble(), y = a[1].ToDouble();
    if (y == 0) return DivisionByZero();
    double remainder = std::fmod(x, y);
    return Value(remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder);
  }
  int64_t x = a[0].ToInt(), y = a[1].ToInt();
  if (y == 0) return DivisionByZero();
  if (y == -1) return Value(int64_t{0});
  int64_t remainder = x % y;
  return Value(remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder);
}

Result<Value> TrueDivide(Args a) {
  double y = a[1].ToDouble();
  if (y == 0) return DivisionByZero();
  return Value(a[0].ToDouble() / y);
}

Result<Value> Power(Args a) {
  if (!AllIntegers(a) || a[1].ToInt() < 0) {
    return Value(std::pow(a[0].ToDouble(), a[1].ToDouble()));
  }
  int64_t base = a[0].ToInt(), exponent = a[1].ToInt(), result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && MulInt(result, base, &result)) return TooLarge();
    exponent >>= 1;
    if (exponent > 0 && MulInt(base, base, &base)) return TooLarge();
  }
  return Value(result);
}

// Exact where both are integers: doubles would lose the low bits.
template <typename Compare>
Result<Value> Comparison(Args a) {
  if (AllIntegers(a)) return Value(Compare()(a[0].ToInt(), a[1].ToInt()));
  return Value(Compare()(a[0].ToDouble(), a[1].ToDouble()));
}

template <typename Bits>
Result<Value> Bitwise(Args a) {
  if (!AllIntegers(a)) return Refused("unsupported_dtype", "bitwise operation on a float");
  int64_t result = Bits()(a[0].ToInt(), a[1].ToInt());
  return a[0].Is<bool>() && a[1].Is<bool>() ? Value(result != 0) : Value(result);
}

Result<Value> Negative(Args a) {
  if (!IsInteger(a[0])) return Value(-a[0].ToDouble());
  int64_t result;
  if (SubInt(0, a[0].ToInt(), &result)) return TooLarge();
  return Value(result);
}
Result<Value> Positive(Args a) { return a[0].Is<bool>() ? Value(a[0].ToInt()) : a[0]; }
Result<Value> Absolute(Args a) {
  if (!IsInteger(a[0])) return Value(std::abs(a[0].ToDouble()));
  return a[0].ToInt() < 0 ? Negative(a) : Result<Value>(Value(a[0].ToInt()));
}
Result<Value> Inverted(Args a) {
  if (!IsInteger(a[0])) return Refused("unsupported_dtype", "bitwise operation on a float");
  return Value(~a[0].ToInt());
}
Result<Value> Not(Args a) { return Value(!a[0].ToBool()); }
Result<Value> ToFloat(Args a) { return Value(a[0].ToDouble()); }

// A real number that was rounded to a whole one.
Result<Value> WholeNumber(double x) {
  if (!(x >= -0x1p63 && x < 0x1p63)) return TooLarge();
  return Value(static_cast<int64_t>(x));
}
template <double (*kRound)(double)>
Result<Value> Rounded(Args a) {
  if (IsInteger(a[0])) return Value(a[0].ToInt());
  return WholeNumber(kRound(a[0].ToDouble()));
}
double Truncate(double x) { return std::trunc(x); }
double Ceiling(double x) { return std::ceil(x); }
double Floor(double x) { return std::floor(x); }
double Nearest(double x) { return std::nearbyint(x); }
template <double (*kFunction)(double)>
Result<Value> RealFunction(Args a) {
  return Value(kFunction(a[0].ToDouble()));
}
double SquareRoot(double x) { return std::sqrt(x); }

// The larger (smaller) one; a float if one of them is one.
template <typename Before>
Result<Value> Choice(Args a) {
  bool second = AllIntegers(a) ? Before()(a[1].ToInt(), a[0].ToInt())
                               : Before()(a[1].ToDouble(), a[0].ToDouble());
  const Value& chosen = second ? a[1] : a[0];
  return AllIntegers(a) ? chosen : Value(chosen.ToDouble());
}
Result<Value> IfThenElse(Args a) { return a[0].ToBool() ? a[1] : a[2]; }

struct NumberRow {
  const char* name;
  int arguments;
  Result<Value> (*evaluate)(Args);
};
const NumberRow kRows[] = {
    {"_operator::add", 2, Arithmetic<AddInt, AddReal>},
    {"_operator::sub", 2, Arithmetic<SubInt, SubReal>},
    {"_operator::mul", 2, Arithmetic<MulInt, MulReal>},
    {"_operator::floordiv", 2, FloorDivide},
    {"_operator::truediv", 2, TrueDivide},
    {"_operator::mod", 2, Modulo},
    {"_operator::pow", 2, Power},
    {"_operator::neg", 1, Negative},
    {"_operator::pos", 1, Positive},
    {"_operator::abs", 1, Absolute},
    {"_operator::invert", 1, Inverted},
    {"_operator::not_", 1, Not},
    {"_operator::eq", 2, Comparison<std::equal_to<>>},
    {"_operator::ne", 2, Comparison<std::not_equal_to<>>},
    {"_operator::lt", 2, Comparison<std::less<>>},
    {"_operator::le", 2, Comparison<std::less_equal<>>},
    {"_operator::gt", 2, Comparison<std::greater<>>},
    {"_operator::ge", 2, Comparison<std::greater_equal<>>},
    {"_operator::and_", 2, Bitwise<std::bit_and<>>},
    {"_operator::or_", 2, Bitwise<std::bit_or<>>},
    {"_operator::xor", 2, Bitwise<std::bit_xor<>>},
    {"torch::sym_int", 1, Rounded<Truncate>},
    {"torch::sym_float", 1, ToFloat},
    {"torch::sym_not", 1, Not},
    {"torch::sym_max", 2, Choice<std::greater<>>},
    {"torch::sym_min", 2, Choice<std::less<>>},
    {"torch::sym_ite", 3, IfThenElse},
    {"torch::_sym_sqrt", 1, RealFunction<SquareRoot>},
    {"math::trunc", 1, Rounded<Truncate>},
    {"math::ceil", 1, Rounded<Ceiling>},
    {"math::floor", 1, Rounded<Floor>},
    {"math::sqrt", 1, RealFunction<SquareRoot>},
    {"builtins::round", 1, Rounded<Nearest>},
    {"builtins::abs", 1, Absolute},
};

}  // namespace

Status RegisterNumberArithmetic(op::OpTable& table) {
  std::vector<BuiltinRow> rows;
  for (const NumberRow& row : kRows) {
    std::string schema = std::string(row.name) + "(";
    for (int i = 0; i < row.arguments; ++i) {
      schema += fmt::format("{}Scalar {}", i == 0 ? "" : ", ", "abc"[i]);
    }
    rows.push_back({schema + ") -> Scalar", [evaluate = row.evaluate](MetaCall& call) -> Status {
                      for (const Value& v : call.args) {
                        if (!v.Is<std::complex<double>>()) continue;
                        return Unsupported(
                            fmt::format("{} of complex numbers", call.op.schema.Key()));
                      }
                      PAL_TRY(Value number, evaluate(call.args));
                      call.results.push_back(ResultSpec::Number(std::move(number)));
                      return {};
                    }});
  }
  return RegisterBuiltinRows(table, std::move(rows));
}

}  // namespace palimpsest::kernels
