// Symbolic integers: the sizes of an exported program before a call binds them ("2*s77 + 1").
//
// Two notations are read: infix, as printed in annotations ("2*s77 + 1", "u0 >= 0", "Max(1, s0)",
// "s0//2", "Mod(s0, 2)"), and sympy's srepr, as in .pt2 files ("Mul(Integer(2), Symbol('s77',
// ...))"). One notation is printed: infix. Nothing is ever evaluated as code. Expressions are
// immutable and shared; depth is limited (Note [Depth of expressions] in symbol.cc).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "palimpsest/result.h"
#include "palimpsest/small_vector.h"

namespace palimpsest {

struct SymNode;  // symbol.cc
using SymRef = std::shared_ptr<const SymNode>;

// A number while expressions are evaluated: Python's int, float or bool.
struct SymNumber {
  enum class Kind : uint8_t { kInt, kFloat, kBool } kind = Kind::kInt;
  int64_t i = 0;  // kInt, kBool
  double f = 0;   // kFloat
};
using SymBindings = std::map<std::string, SymNumber, std::less<>>;

class SymInt {
 public:
  SymInt(int64_t value = 0) : value_(value) {}  // NOLINT
  explicit SymInt(SymRef expr) : expr_(std::move(expr)) {}
  bool IsConstant() const { return expr_ == nullptr; }
  int64_t value() const { return value_; }  // requires IsConstant()
  const SymRef& expr() const { return expr_; }
  // The symbol's name if the expression is one bare symbol.
  std::optional<std::string> AsSymbol() const;
  std::string ToString() const;                              // infix
  friend bool operator==(const SymInt& a, const SymInt& b);  // same text

 private:
  int64_t value_ = 0;
  SymRef expr_;
};

// Errors (kBadInput): the column and what was expected.
Result<SymInt> ParseInfix(std::string_view text);
Result<SymInt> ParseSrepr(std::string_view text);
// Python's semantics: // and % round toward minus infinity, / gives a float. Errors: unbound symbol
// (named), overflow, division by zero.
Result<SymNumber> Evaluate(const SymInt& expr, const SymBindings& bindings);
Result<int64_t> EvaluateInt(const SymInt& expr, const SymBindings& bindings);
// The names of all symbols, sorted.
std::vector<std::string> SymbolsOf(const SymInt& expr);

}  // namespace palimpsest
