// The expression trees behind SymInt (symbol.h). Only symbol*.cc include this.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/symbol.h"

namespace palimpsest {

// How tightly an expression binds in infix notation, loosest first: Python's order.
enum class SymBinding : uint8_t {
  kOrWord,
  kAndWord,
  kNot,
  kCompare,
  kOr,
  kAnd,
  kShift,
  kSum,
  kProduct,
  kPower,
  kAtom,
};

// A function or operator of expressions: one row of the table in symbol_functions.cc.
struct SymFunction {
  std::string_view name;   // sympy's: "Add", "FloorDiv", "StrictLessThan"
  std::string_view infix;  // "+", "//", "<"; empty: printed as name(args)
  SymBinding binding = SymBinding::kAtom;
  size_t min_args = 1, max_args = 1;
  // Null for Piecewise and Where, which evaluate only the branch that they take.
  Result<SymNumber> (*evaluate)(std::span<const SymNumber> args) = nullptr;
};

// Null if nobody knows the name.
const SymFunction* FindSymFunction(std::string_view name);
const SymFunction* FindSymInfix(std::string_view infix);

struct SymNode {
  const SymFunction* function = nullptr;  // null: a symbol or a number
  std::string symbol;                     // empty: a number
  SymNumber number;
  std::vector<SymRef> args;
  int depth = 1;
};

// Note [Depth of expressions]: printing, evaluating and destroying a tree recurse, so a tree deeper
// than this is refused when it is made. Sums and products are flat: a long one is not a deep one.
inline constexpr int kMaxSymDepth = 200;

SymRef MakeNumber(SymNumber number);
SymRef MakeInt(int64_t value);
SymRef MakeSymbol(std::string_view name);
// Sums of sums and products of products become flat; integer constants are folded in sums, products
// and negations of constants only. Errors: too deep, wrong number of arguments.
Result<SymRef> MakeCall(const SymFunction& function, std::vector<SymRef> args);
SymInt ToSymInt(SymRef expr);
inline bool IsIntNode(const SymRef& e) {
  return e->function == nullptr && e->symbol.empty() && e->number.kind == SymNumber::Kind::kInt;
}

}  // namespace palimpsest
