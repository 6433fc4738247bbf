#include "core/symbol.h"

#include <gtest/gtest.h>

namespace palimpsest {
namespace {

const char* kS = "Symbol('s77', positive=True, integer=True)";

std::string WithS(std::string text) {
  for (size_t at = 0; (at = text.find('@', at)) != std::string::npos;) text.replace(at, 1, kS);
  return text;
}

// Both notations of what torch 2.13 prints for one expression, and the value for s77 = 7, s1 = 3,
// u0 = -5.
TEST(Symbol, BothNotationsAgree) {
  struct Row {
    const char* infix;
    const char* srepr;
    const char* printed;  // null: as `infix`
    double value;
  };
  const Row rows[] = {
      {"2*s77 + 1", "Add(Mul(Integer(2), @), Integer(1))", nullptr, 15},
      {"s1*s77 - 3", "Add(Mul(Symbol('s1'), @), Integer(-3))", nullptr, 18},
      {"3*(((s77 + 1)//2))", "Mul(Integer(3), FloorDiv(Add(@, Integer(1)), Integer(2)))",
       "3*((s77 + 1)//2)", 12},
      {"Mod(u0, 3)", "Mod(Symbol('u0', integer=True), Integer(3))", nullptr, 1},
      {"Max(1, s77)", "Max(Integer(1), @)", nullptr, 7},
      {"s1*s77**2", "Mul(Symbol('s1'), Pow(@, Integer(2)))", nullptr, 147},
      {"CeilDiv(s77, 2)", "CeilDiv(@, Integer(2))", nullptr, 4},
      {"ModularIndexing(s77, 2, 2)", "ModularIndexing(@, Integer(2), Integer(2))", nullptr, 1},
      {"IntTrueDiv(s77, 2)", "IntTrueDiv(@, Integer(2))", nullptr, 3.5},
      {"1.5*ToFloat(s77)", "Mul(Float('1.5', precision=53), ToFloat(@))", nullptr, 10.5},
      {"Eq(u0, 1)", "Equality(Symbol('u0', integer=True), Integer(1))", nullptr, 0},
      {"(u0 > 1) | (s77 < 9)",
       "Or(StrictGreaterThan(Symbol('u0'), Integer(1)), StrictLessThan(@, Integer(9)))", nullptr,
       1},
      {"Piecewise((s77, u0 > 1), (s1, True))",
       "Piecewise(ExprCondPair(@, StrictGreaterThan(Symbol('u0'), Integer(1))), "
       "ExprCondPair(Symbol('s1'), true))",
       nullptr, 3},
      {"-s77", "Mul(Integer(-1), @)", nullptr, -7},
      {"-s1 + s77", "Add(Mul(Integer(-1), Symbol('s1')), @)", nullptr, 4},
      {"2 - s77", "Add(Integer(2), Mul(Integer(-1), @))", nullptr, -5},
      {"s77/2", "Mul(Rational(1, 2), @)", nullptr, 3.5},
      {"s77/s1", "Mul(Pow(Symbol('s1'), Integer(-1)), @)", nullptr, 7.0 / 3},
      {"FloatPow(ToFloat(s77), 0.5)", "FloatPow(ToFloat(@), Float('0.5', precision=53))", nullptr,
       2.6457513110645907},
      {"(s77//2)", "CleanDiv(@, Integer(2))", "s77//2", 3},
      {"((((s77//2)) + 1)//s1)", "FloorDiv(Add(FloorDiv(@, Integer(2)), Integer(1)), Symbol('s1'))",
       "(s77//2 + 1)//s1", 1},
      {"Where(u0 > 1, s77, s1)",
       "Where(StrictGreaterThan(Symbol('u0'), Integer(1)), @, Symbol('s1'))", nullptr, 3},
      {"s77*(s1 + 1)**2", "Mul(@, Pow(Add(Symbol('s1'), Integer(1)), Integer(2)))", nullptr, 112},
      {"(s77)", "Identity(@)", "s77", 7},
      {"u0 >= 0", "GreaterThan(Symbol('u0'), Integer(0))", nullptr, 0},
      {"-5//2", "FloorDiv(Integer(-5), Integer(2))", "(-5)//2", -3},
      {"True", "true", nullptr, 1},
      {"-2**2", "Mul(Integer(-1), Pow(Integer(2), Integer(2)))", nullptr, -4},
  };
  SymBindings bindings = {{"s77", {SymNumber::Kind::kInt, 7, 0}},
                          {"s1", {SymNumber::Kind::kInt, 3, 0}},
                          {"u0", {SymNumber::Kind::kInt, -5, 0}}};
  for (const Row& row : rows) {
    std::string printed = row.printed == nullptr ? row.infix : row.printed;
    Result<SymInt> infix = ParseInfix(row.infix);
    Result<SymInt> srepr = ParseSrepr(WithS(row.srepr));
    ASSERT_TRUE(infix.ok()) << row.infix << ": " << infix.error().message;
    ASSERT_TRUE(srepr.ok()) << row.srepr << ": " << srepr.error().message;
    EXPECT_EQ(infix->ToString(), printed);
    EXPECT_EQ(srepr->ToString(), printed);
    Result<SymInt> again = ParseInfix(printed);
    ASSERT_TRUE(again.ok()) << printed;
    EXPECT_EQ(again->ToString(), printed);
    for (const SymInt& e : {*infix, *srepr, *again}) {
      Result<SymNumber> value = Evaluate(e, bindings);
      ASSERT_TRUE(value.ok()) << printed << ": " << value.error().message;
      double got =
          value->kind == SymNumber::Kind::kFloat ? value->f : static_cast<double>(value->i);
      EXPECT_EQ(got, row.value) << printed;
    }
  }
}

TEST(Symbol, Constants) {
  EXPECT_TRUE(ParseInfix("12")->IsConstant());
  EXPECT_EQ(ParseInfix("-3")->value(), -3);
  EXPECT_EQ(ParseSrepr("Integer(9223372036854775807)")->value(), INT64_MAX);
  EXPECT_EQ(ParseInfix("s0")->AsSymbol(), "s0");
  EXPECT_FALSE(ParseInfix("s0 + 1")->AsSymbol().has_value());
  EXPECT_EQ(SymbolsOf(*ParseInfix("s1*s0 + s1")), (std::vector<std::string>{"s0", "s1"}));
}

TEST(Symbol, RefusesWhatIsNoExpression) {
  for (const char* text : {"", "s0 +", "(s0", "s0)", "f(s0)", "1j", "Max()", "Mod(s0)", "s0 s1",
                           "1 < s0 < 3", "99999999999999999999", "__import__('os')"}) {
    EXPECT_FALSE(ParseInfix(text).ok()) << text;
  }
  for (const char* text :
       {"", "Symbol('a b')", "Symbol(", "Integer('x')", "Integer(1", "Nope(Integer(1))", "s0",
        "Piecewise(Integer(1))", "Mod(Integer(1))", "Integer(1)Integer(2)"}) {
    EXPECT_FALSE(ParseSrepr(text).ok()) << text;
  }
}

TEST(Symbol, DepthIsLimited) {
  std::string open(100000, '('), minus(100000, '-'), srepr, tall = "s0";
  EXPECT_FALSE(ParseInfix(open).ok());
  EXPECT_FALSE(ParseInfix(minus + "s0").ok());
  for (int i = 0; i < 100000; ++i) srepr += "Add(";
  EXPECT_FALSE(ParseSrepr(srepr).ok());
  for (int i = 0; i < 1000; ++i) tall += "//2";
  EXPECT_FALSE(ParseInfix(tall).ok());
  std::string wide = "s0";
  for (int i = 0; i < 2000; ++i) wide += " + s0";
  EXPECT_TRUE(ParseInfix(wide).ok());
}

TEST(Symbol, EvaluationErrors) {
  struct Row {
    const char* text;
    const char* message;
  };
  const Row rows[] = {
      {"s9 + 1", "the symbol s9 has no value (in s9 + 1)"},
      {"s0//(s0 - 4)", "division by zero (in s0//(s0 - 4))"},
      {"s0*9223372036854775807", "the value does not fit 64 bits (in s0*9223372036854775807)"},
      {"s0/3", "s0/3 is 1.3333333333333333, which is no integer"},
  };
  SymBindings bindings = {{"s0", {SymNumber::Kind::kInt, 4, 0}}};
  for (const Row& row : rows) {
    Result<int64_t> value = EvaluateInt(*ParseInfix(row.text), bindings);
    ASSERT_FALSE(value.ok()) << row.text;
    EXPECT_EQ(value.error().message, row.message);
  }
  EXPECT_EQ(*EvaluateInt(*ParseInfix("s0/2"), bindings), 2);
}

}  // namespace
}  // namespace palimpsest
