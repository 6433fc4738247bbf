// Python's own operators on numbers: `item >= 0` is a call of `_operator.ge`.
#pragma once

#include <string_view>

namespace palimpsest::ir {

// ">=" -> "_operator.ge"; "" if there is none.
std::string_view TargetOfInfix(std::string_view infix);
std::string_view InfixOfTarget(std::string_view target);
// "-" -> "_operator.neg".
std::string_view TargetOfPrefix(std::string_view prefix);
std::string_view PrefixOfTarget(std::string_view target);

}  // namespace palimpsest::ir
