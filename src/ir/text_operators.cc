#include "ir/text_operators.h"

#include <array>
#include <utility>

namespace palimpsest::ir {
namespace {

using Row = std::pair<std::string_view, std::string_view>;

constexpr std::array<Row, 18> kInfix = {{
    {"+", "_operator.add"},
    {"-", "_operator.sub"},
    {"*", "_operator.mul"},
    {"//", "_operator.floordiv"},
    {"/", "_operator.truediv"},
    {"%", "_operator.mod"},
    {"**", "_operator.pow"},
    {"==", "_operator.eq"},
    {"!=", "_operator.ne"},
    {"<", "_operator.lt"},
    {"<=", "_operator.le"},
    {">", "_operator.gt"},
    {">=", "_operator.ge"},
    {"&", "_operator.and_"},
    {"|", "_operator.or_"},
    {"^", "_operator.xor"},
    {"<<", "_operator.lshift"},
    {">>", "_operator.rshift"},
}};
constexpr std::array<Row, 3> kPrefix = {{
    {"-", "_operator.neg"},
    {"+", "_operator.pos"},
    {"~", "_operator.invert"},
}};

template <size_t N>
std::string_view Right(const std::array<Row, N>& rows, std::string_view left) {
  for (const auto& [symbol, target] : rows) {
    if (symbol == left) return target;
  }
  return "";
}

template <size_t N>
std::string_view Left(const std::array<Row, N>& rows, std::string_view right) {
  if (!right.starts_with("_operator.")) return "";
  for (const auto& [symbol, target] : rows) {
    if (target == right) return symbol;
  }
  return "";
}

}  // namespace

std::string_view TargetOfInfix(std::string_view infix) { return Right(kInfix, infix); }
std::string_view InfixOfTarget(std::string_view target) { return Left(kInfix, target); }
std::string_view TargetOfPrefix(std::string_view prefix) { return Right(kPrefix, prefix); }
std::string_view PrefixOfTarget(std::string_view target) { return Left(kPrefix, target); }

}  // namespace palimpsest::ir
