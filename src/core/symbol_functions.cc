// The functions of symbolic expressions and what they compute: Python's semantics on int, float and
// bool. `//` and `%` round toward minus infinity; int overflow is an error, never a wrong size.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/symbol_node.h"

namespace palimpsest {
namespace {

using Args = std::span<const SymNumber>;
using Kind = SymNumber::Kind;

SymNumber Int(int64_t v) { return {Kind::kInt, v, 0}; }
SymNumber Float(double v) { return {Kind::kFloat, 0, v}; }
SymNumber Bool(bool v) { return {Kind::kBool, v ? 1 : 0, 0}; }
bool IsFloat(const SymNumber& n) { return n.kind == Kind::kFloat; }
double AsFloat(const SymNumber& n) { return IsFloat(n) ? n.f : static_cast<double>(n.i); }
bool Truth(const SymNumber& n) { return IsFloat(n) ? n.f != 0 : n.i != 0; }

Error Overflow() { return BadInput("the value does not fit 64 bits"); }
Error ByZero() { return BadInput("division by zero"); }

Result<SymNumber> ToInt(double v) {
  if (!(v >= -9.2e18 && v <= 9.2e18)) return Overflow();
  return Int(static_cast<int64_t>(v));
}

bool AnyFloat(Args a) { return std::any_of(a.begin(), a.end(), IsFloat); }

Result<SymNumber> Add(Args a) {
  if (AnyFloat(a)) {
    double sum = 0;
    for (const SymNumber& n : a) sum += AsFloat(n);
    return Float(sum);
  }
  int64_t sum = 0;
  for (const SymNumber& n : a) {
    if (__builtin_add_overflow(sum, n.i, &sum)) return Overflow();
  }
  return Int(sum);
}

Result<SymNumber> Mul(Args a) {
  if (AnyFloat(a)) {
    double product = 1;
    for (const SymNumber& n : a) product *= AsFloat(n);
    return Float(product);
  }
  int64_t product = 1;
  for (const SymNumber& n : a) {
    if (__builtin_mul_overflow(product, n.i, &product)) return Overflow();
  }
  return Int(product);
}

Result<SymNumber> Pow(Args a) {
  if (AnyFloat(a) || a[1].i < 0) return Float(std::pow(AsFloat(a[0]), AsFloat(a[1])));
  int64_t result = 1, base = a[0].i;
  for (int64_t e = a[1].i; e > 0; e >>= 1) {
    if ((e & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return Overflow();
    if (e > 1 && __builtin_mul_overflow(base, base, &base)) return Overflow();
  }
  return Int(result);
}

Result<SymNumber> FloatPow(Args a) { return Float(std::pow(AsFloat(a[0]), AsFloat(a[1]))); }

// Quotient and remainder that round toward minus infinity.
Result<SymNumber> FloorDiv(Args a) {
  if (!Truth(a[1])) return ByZero();
  if (AnyFloat(a)) return Float(std::floor(AsFloat(a[0]) / AsFloat(a[1])));
  int64_t x = a[0].i, y = a[1].i;
  if (y == -1) {
    if (__builtin_sub_overflow(int64_t{0}, x, &x)) return Overflow();
    return Int(x);
  }
  int64_t q = x / y;
  return Int(x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q);
}

Result<SymNumber> Mod(Args a) {
  if (!Truth(a[1])) return ByZero();
  if (AnyFloat(a)) {
    double x = AsFloat(a[0]), y = AsFloat(a[1]), r = std::fmod(x, y);
    return Float(r != 0 && (r < 0) != (y < 0) ? r + y : r);
  }
  int64_t x = a[0].i, y = a[1].i;
  if (y == -1) return Int(0);
  int64_t r = x % y;
  return Int(r != 0 && (r < 0) != (y < 0) ? r + y : r);
}

Result<SymNumber> CeilDiv(Args a) {
  PAL_TRY(SymNumber q, FloorDiv(a));
  PAL_TRY(SymNumber r, Mod(a));
  return Truth(r) ? Int(q.i + 1) : q;
}

Result<SymNumber> ModularIndexing(Args a) {
  std::array<SymNumber, 2> step = {a[0], a[1]};
  PAL_TRY(step[0], FloorDiv(step));
  step[1] = a[2];
  return Mod(step);
}

// sympy's exact quotient: an integer where it divides.
Result<SymNumber> Divide(Args a) {
  if (!Truth(a[1])) return ByZero();
  bool exact = !AnyFloat(a) && a[1].i != -1 && a[0].i % a[1].i == 0;
  if (exact) return Int(a[0].i / a[1].i);
  return Float(AsFloat(a[0]) / AsFloat(a[1]));
}

Result<SymNumber> TrueDiv(Args a) {
  if (!Truth(a[1])) return ByZero();
  return Float(AsFloat(a[0]) / AsFloat(a[1]));
}

// -1, 0 or 1; 2 if a float is nan.
int Compare(const SymNumber& x, const SymNumber& y) {
  if (!IsFloat(x) && !IsFloat(y)) return x.i < y.i ? -1 : x.i > y.i ? 1 : 0;
  double a = AsFloat(x), b = AsFloat(y);
  return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2;
}

Result<SymNumber> Less(Args a) { return Bool(Compare(a[0], a[1]) == -1); }
Result<SymNumber> Greater(Args a) { return Bool(Compare(a[0], a[1]) == 1); }
Result<SymNumber> Equal(Args a) { return Bool(Compare(a[0], a[1]) == 0); }
Result<SymNumber> NotEqual(Args a) { return Bool(Compare(a[0], a[1]) != 0); }
Result<SymNumber> LessEqual(Args a) {
  int order = Compare(a[0], a[1]);
  return Bool(order == -1 || order == 0);
}
Result<SymNumber> GreaterEqual(Args a) {
  int order = Compare(a[0], a[1]);
  return Bool(order == 1 || order == 0);
}

Result<SymNumber> Max(Args a) {
  SymNumber best = a[0];
  for (const SymNumber& n : a) best = Compare(n, best) == 1 ? n : best;
  return best;
}
Result<SymNumber> Min(Args a) {
  SymNumber best = a[0];
  for (const SymNumber& n : a) best = Compare(n, best) == -1 ? n : best;
  return best;
}

Result<SymNumber> And(Args a) { return Bool(std::all_of(a.begin(), a.end(), Truth)); }
Result<SymNumber> Or(Args a) { return Bool(std::any_of(a.begin(), a.end(), Truth)); }
Result<SymNumber> Not(Args a) { return Bool(!Truth(a[0])); }

Result<SymNumber> LeftShift(Args a) {
  if (a[1].i < 0 || a[1].i > 62) return Overflow();
  int64_t result = 0;
  if (__builtin_mul_overflow(a[0].i, int64_t{1} << a[1].i, &result)) return Overflow();
  return Int(result);
}
Result<SymNumber> RightShift(Args a) {
  if (a[1].i < 0) return Overflow();
  return Int(a[0].i >> std::min<int64_t>(a[1].i, 63));
}

Result<SymNumber> ToFloat(Args a) { return Float(AsFloat(a[0])); }
Result<SymNumber> TruncToInt(Args a) { return IsFloat(a[0]) ? ToInt(std::trunc(a[0].f)) : a[0]; }
Result<SymNumber> TruncToFloat(Args a) { return Float(std::trunc(AsFloat(a[0]))); }
Result<SymNumber> FloorToInt(Args a) { return IsFloat(a[0]) ? ToInt(std::floor(a[0].f)) : a[0]; }
Result<SymNumber> CeilToInt(Args a) { return IsFloat(a[0]) ? ToInt(std::ceil(a[0].f)) : a[0]; }
Result<SymNumber> RoundToInt(Args a) {
  return IsFloat(a[0]) ? ToInt(std::nearbyint(a[0].f)) : a[0];  // half to even, as Python
}
Result<SymNumber> RoundDecimal(Args a) {
  double scale = std::pow(10.0, AsFloat(a[1]));
  return Float(std::nearbyint(AsFloat(a[0]) * scale) / scale);
}
Result<SymNumber> Abs(Args a) {
  if (IsFloat(a[0])) return Float(std::fabs(a[0].f));
  int64_t v = a[0].i;
  if (v < 0 && __builtin_sub_overflow(int64_t{0}, v, &v)) return Overflow();
  return Int(v);
}

template <double (*kFunction)(double)>
Result<SymNumber> Real(Args a) {
  return Float(kFunction(AsFloat(a[0])));
}

// Flat sums are built term by term, in quadratic time: longer ones are refused.
constexpr size_t kMany = 4096;

constexpr std::array kFunctions = std::to_array<SymFunction>({
    {"Add", "+", SymBinding::kSum, 1, kMany, Add},
    {"Mul", "*", SymBinding::kProduct, 1, kMany, Mul},
    {"Divide", "/", SymBinding::kProduct, 2, 2, Divide},
    {"FloorDiv", "//", SymBinding::kProduct, 2, 2, FloorDiv},
    {"PythonRemainder", "%", SymBinding::kProduct, 2, 2, Mod},
    {"Pow", "**", SymBinding::kPower, 2, 2, Pow},
    {"StrictLessThan", "<", SymBinding::kCompare, 2, 2, Less},
    {"LessThan", "<=", SymBinding::kCompare, 2, 2, LessEqual},
    {"StrictGreaterThan", ">", SymBinding::kCompare, 2, 2, Greater},
    {"GreaterThan", ">=", SymBinding::kCompare, 2, 2, GreaterEqual},
    {"And", "&", SymBinding::kAnd, 1, kMany, And},
    {"Or", "|", SymBinding::kOr, 1, kMany, Or},
    {"Not", "~", SymBinding::kPower, 1, 1, Not},
    {"LShift", "<<", SymBinding::kShift, 2, 2, LeftShift},
    {"RShift", ">>", SymBinding::kShift, 2, 2, RightShift},
    {"Eq", "", SymBinding::kAtom, 2, 2, Equal},
    {"Ne", "", SymBinding::kAtom, 2, 2, NotEqual},
    {"Max", "", SymBinding::kAtom, 1, kMany, Max},
    {"Min", "", SymBinding::kAtom, 1, kMany, Min},
    {"Mod", "", SymBinding::kAtom, 2, 2, Mod},
    {"PythonMod", "", SymBinding::kAtom, 2, 2, Mod},
    {"CeilDiv", "", SymBinding::kAtom, 2, 2, CeilDiv},
    {"ModularIndexing", "", SymBinding::kAtom, 3, 3, ModularIndexing},
    {"Piecewise", "", SymBinding::kAtom, 2, kMany, nullptr},
    {"Where", "", SymBinding::kAtom, 3, 3, nullptr},
    {"IntTrueDiv", "", SymBinding::kAtom, 2, 2, TrueDiv},
    {"FloatTrueDiv", "", SymBinding::kAtom, 2, 2, TrueDiv},
    {"PowByNatural", "", SymBinding::kAtom, 2, 2, Pow},
    {"FloatPow", "", SymBinding::kAtom, 2, 2, FloatPow},
    {"ToFloat", "", SymBinding::kAtom, 1, 1, ToFloat},
    {"TruncToInt", "", SymBinding::kAtom, 1, 1, TruncToInt},
    {"TruncToFloat", "", SymBinding::kAtom, 1, 1, TruncToFloat},
    {"FloorToInt", "", SymBinding::kAtom, 1, 1, FloorToInt},
    {"CeilToInt", "", SymBinding::kAtom, 1, 1, CeilToInt},
    {"RoundToInt", "", SymBinding::kAtom, 1, 1, RoundToInt},
    {"RoundDecimal", "", SymBinding::kAtom, 2, 2, RoundDecimal},
    {"Abs", "", SymBinding::kAtom, 1, 1, Abs},
    {"Identity", "", SymBinding::kAtom, 1, 1, nullptr},  // vanishes when it is made
    {"OpaqueUnaryFn_sqrt", "", SymBinding::kAtom, 1, 1, Real<std::sqrt>},
    {"OpaqueUnaryFn_exp", "", SymBinding::kAtom, 1, 1, Real<std::exp>},
    {"OpaqueUnaryFn_log", "", SymBinding::kAtom, 1, 1, Real<std::log>},
    {"OpaqueUnaryFn_log2", "", SymBinding::kAtom, 1, 1, Real<std::log2>},
    {"OpaqueUnaryFn_sin", "", SymBinding::kAtom, 1, 1, Real<std::sin>},
    {"OpaqueUnaryFn_cos", "", SymBinding::kAtom, 1, 1, Real<std::cos>},
    {"OpaqueUnaryFn_tan", "", SymBinding::kAtom, 1, 1, Real<std::tan>},
    {"OpaqueUnaryFn_asin", "", SymBinding::kAtom, 1, 1, Real<std::asin>},
    {"OpaqueUnaryFn_acos", "", SymBinding::kAtom, 1, 1, Real<std::acos>},
    {"OpaqueUnaryFn_atan", "", SymBinding::kAtom, 1, 1, Real<std::atan>},
    {"OpaqueUnaryFn_sinh", "", SymBinding::kAtom, 1, 1, Real<std::sinh>},
    {"OpaqueUnaryFn_cosh", "", SymBinding::kAtom, 1, 1, Real<std::cosh>},
    {"OpaqueUnaryFn_tanh", "", SymBinding::kAtom, 1, 1, Real<std::tanh>},
});

// Other names for the rows above.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kAliases = {{
    {"Equality", "Eq"},
    {"Unequality", "Ne"},
    {"CleanDiv", "FloorDiv"},
    {"floor", "FloorToInt"},
    {"ceiling", "CeilToInt"},
}};

}  // namespace

const SymFunction* FindSymFunction(std::string_view name) {
  for (const auto& [alias, meant] : kAliases) {
    if (name == alias) name = meant;
  }
  for (const SymFunction& f : kFunctions) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

const SymFunction* FindSymInfix(std::string_view infix) {
  if (infix == "==") return FindSymFunction("Eq");
  if (infix == "!=") return FindSymFunction("Ne");
  for (const SymFunction& f : kFunctions) {
    if (f.infix == infix) return &f;
  }
  return nullptr;
}

}  // namespace palimpsest
