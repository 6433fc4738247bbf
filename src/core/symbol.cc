#include "core/symbol.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/scanner.h"
#include "core/symbol_node.h"

namespace palimpsest {
namespace {

// ---- printing

SymBinding BindingOf(const SymRef& e) {
  if (e->function != nullptr) return e->function->binding;
  bool negative = e->symbol.empty() &&
                  (e->number.kind == SymNumber::Kind::kFloat ? e->number.f < 0 : e->number.i < 0);
  return negative ? SymBinding::kSum : SymBinding::kAtom;
}

std::string Print(const SymRef& e);

std::string PrintWithin(const SymRef& e, SymBinding outer) {
  std::string text = Print(e);
  return BindingOf(e) <= outer ? "(" + text + ")" : text;
}

// "2*s0 - 3": a term with a negative factor in front is subtracted.
std::string PrintSum(const SymNode& sum) {
  std::string text;
  for (const SymRef& term : sum.args) {
    bool bare = BindingOf(term) >= SymBinding::kSum;  // a sum within a sum is flat already
    std::string part = bare ? Print(term) : "(" + Print(term) + ")";
    if (text.empty()) {
      text = part;
    } else if (part.starts_with('-')) {
      text += " - " + part.substr(1);
    } else {
      text += " + " + part;
    }
  }
  return text;
}

std::string PrintProduct(const SymNode& product) {
  std::string text;
  for (const SymRef& factor : product.args) {
    if (text.empty() && IsIntNode(factor)) {
      text = factor->number.i == -1 ? "-" : fmt::format("{}*", factor->number.i);
    } else {
      text += PrintWithin(factor, SymBinding::kProduct) + "*";
    }
  }
  text.pop_back();
  return text;
}

std::string PrintArguments(const SymNode& node) {
  std::string text;
  bool pairs = node.function->name == "Piecewise";
  for (size_t i = 0; i < node.args.size(); ++i) {
    if (i > 0) text += ", ";
    bool opens = pairs && i % 2 == 0, closes = pairs && i % 2 == 1;
    text += (opens ? "(" : "") + Print(node.args[i]) + (closes ? ")" : "");
  }
  return text;
}

std::string PrintNumber(const SymNumber& n) {
  switch (n.kind) {
    case SymNumber::Kind::kInt:
      return fmt::format("{}", n.i);
    case SymNumber::Kind::kFloat:
      return PythonRepr(n.f);
    case SymNumber::Kind::kBool:
      return n.i != 0 ? "True" : "False";
  }
  return "";
}

std::string Print(const SymRef& e) {
  if (e->function == nullptr) return e->symbol.empty() ? PrintNumber(e->number) : e->symbol;
  const SymFunction& f = *e->function;
  if (f.name == "Add") return PrintSum(*e);
  if (f.name == "Mul") return PrintProduct(*e);
  if (f.infix.empty()) return fmt::format("{}({})", f.name, PrintArguments(*e));
  if (e->args.size() == 1) {
    return fmt::format("{}{}", f.infix, PrintWithin(e->args[0], SymBinding::kPower));
  }
  std::string text;
  bool spaced = f.binding < SymBinding::kProduct;
  for (const SymRef& arg : e->args) {
    if (!text.empty()) text += spaced ? fmt::format(" {} ", f.infix) : std::string(f.infix);
    text += PrintWithin(arg, f.binding);
  }
  return text;
}

// ---- evaluation

Result<SymNumber> Eval(const SymNode& e, const SymBindings& bindings) {
  if (e.function == nullptr) {
    if (e.symbol.empty()) return e.number;
    auto it = bindings.find(e.symbol);
    if (it == bindings.end()) {
      return BadInput(fmt::format("the symbol {} has no value", e.symbol));
    }
    return it->second;
  }
  auto truth = [](const SymNumber& n) {
    return n.kind == SymNumber::Kind::kFloat ? n.f != 0 : n.i != 0;
  };
  if (e.function->name == "Where") {
    PAL_TRY(SymNumber condition, Eval(*e.args[0], bindings));
    return Eval(*e.args[truth(condition) ? 1 : 2], bindings);
  }
  if (e.function->name == "Piecewise") {
    for (size_t i = 0; i + 1 < e.args.size(); i += 2) {
      PAL_TRY(SymNumber condition, Eval(*e.args[i + 1], bindings));
      if (truth(condition)) return Eval(*e.args[i], bindings);
    }
    return BadInput("no case of Piecewise holds");
  }
  std::vector<SymNumber> values;
  values.reserve(e.args.size());
  for (const SymRef& arg : e.args) {
    PAL_TRY(SymNumber value, Eval(*arg, bindings));
    values.push_back(value);
  }
  return e.function->evaluate(values);
}

void CollectSymbols(const SymNode& e, std::set<std::string>& names) {
  if (!e.symbol.empty()) names.insert(e.symbol);
  for (const SymRef& arg : e.args) CollectSymbols(*arg, names);
}

// ---- construction

// a + (b + c) -> a + b + c.
std::vector<SymRef> Flatten(const SymFunction& f, std::vector<SymRef> args) {
  std::vector<SymRef> flat;
  for (SymRef& arg : args) {
    if (arg->function == &f) {
      flat.insert(flat.end(), arg->args.begin(), arg->args.end());
    } else {
      flat.push_back(std::move(arg));
    }
  }
  return flat;
}

// Folds several integer constants of a sum or product into one: last in sums, first in products. A
// single one stays where it is, so that texts keep their order.
std::vector<SymRef> FoldConstants(bool is_sum, std::vector<SymRef> args) {
  int64_t neutral = is_sum ? 0 : 1;
  auto constants = std::count_if(args.begin(), args.end(), IsIntNode);
  bool keep = constants == 0 ||
              (constants == 1 && std::none_of(args.begin(), args.end(), [&](const SymRef& e) {
                 return IsIntNode(e) && e->number.i == neutral;
               }));
  if (keep) return args;
  int64_t constant = neutral;
  std::vector<SymRef> rest;
  for (const SymRef& arg : args) {
    if (!IsIntNode(arg)) {
      rest.push_back(arg);
      continue;
    }
    bool overflow = is_sum ? __builtin_add_overflow(constant, arg->number.i, &constant)
                           : __builtin_mul_overflow(constant, arg->number.i, &constant);
    if (overflow) return args;
  }
  if (rest.empty()) return {MakeInt(constant)};
  if (constant == neutral) return rest;
  rest.insert(is_sum ? rest.end() : rest.begin(), MakeInt(constant));
  return rest;
}

}  // namespace

SymRef MakeNumber(SymNumber number) {
  auto node = std::make_shared<SymNode>();
  node->number = number;
  return node;
}

SymRef MakeInt(int64_t value) { return MakeNumber({SymNumber::Kind::kInt, value, 0}); }

SymRef MakeSymbol(std::string_view name) {
  auto node = std::make_shared<SymNode>();
  node->symbol = name;
  return node;
}

Result<SymRef> MakeCall(const SymFunction& function, std::vector<SymRef> args) {
  bool is_sum = function.name == "Add", is_product = function.name == "Mul";
  if (is_sum || is_product) {
    args = FoldConstants(is_sum, Flatten(function, std::move(args)));
    if (args.size() == 1) return args[0];
  }
  if (function.name == "Identity" && args.size() == 1) return args[0];
  if (args.size() < function.min_args || args.size() > function.max_args) {
    return BadInput(fmt::format("{} does not take {} arguments", function.name, args.size()));
  }
  auto node = std::make_shared<SymNode>();
  node->function = &function;
  for (const SymRef& arg : args) node->depth = std::max(node->depth, arg->depth + 1);
  if (node->depth > kMaxSymDepth) return BadInput("the expression is nested too deeply");
  node->args = std::move(args);
  return SymRef(std::move(node));
}

SymInt ToSymInt(SymRef expr) {
  if (IsIntNode(expr)) return SymInt(expr->number.i);
  return SymInt(std::move(expr));
}

std::optional<std::string> SymInt::AsSymbol() const {
  if (expr_ == nullptr || expr_->symbol.empty()) return std::nullopt;
  return expr_->symbol;
}

std::string SymInt::ToString() const {
  return expr_ == nullptr ? fmt::format("{}", value_) : Print(expr_);
}

bool operator==(const SymInt& a, const SymInt& b) {
  if (a.IsConstant() || b.IsConstant()) {
    return a.IsConstant() && b.IsConstant() && a.value_ == b.value_;
  }
  return a.expr_ == b.expr_ || a.ToString() == b.ToString();
}

Result<SymNumber> Evaluate(const SymInt& expr, const SymBindings& bindings) {
  if (expr.IsConstant()) return SymNumber{SymNumber::Kind::kInt, expr.value(), 0};
  Result<SymNumber> value = Eval(*expr.expr(), bindings);
  if (!value.ok()) value.error().message += fmt::format(" (in {})", expr.ToString());
  return value;
}

Result<int64_t> EvaluateInt(const SymInt& expr, const SymBindings& bindings) {
  PAL_TRY(SymNumber value, Evaluate(expr, bindings));
  if (value.kind != SymNumber::Kind::kFloat) return value.i;
  constexpr double kLimit = 9007199254740992.0;  // 2^53: beyond it a double skips integers
  if (value.f >= -kLimit && value.f <= kLimit) {
    auto integer = static_cast<int64_t>(value.f);
    if (static_cast<double>(integer) == value.f) return integer;
  }
  return BadInput(
      fmt::format("{} is {}, which is no integer", expr.ToString(), PythonRepr(value.f)));
}

std::vector<std::string> SymbolsOf(const SymInt& expr) {
  std::set<std::string> names;
  if (!expr.IsConstant()) CollectSymbols(*expr.expr(), names);
  return {names.begin(), names.end()};
}

}  // namespace palimpsest
