// CheckArguments: do the values of a call fit the operator's schema?
#pragma once

#include <span>

#include "op/schema.h"
#include "palimpsest/result.h"
#include "palimpsest/value.h"

namespace palimpsest::op {

// Registration puts this before every meta function, so that neither meta functions nor kernels
// meet a string where they expect a tensor, whatever the file or the caller says. Errors:
// kBadInput, naming the argument. Types that we do not model (Dict, classes) are not looked into.
Status CheckArguments(const Schema& schema, std::span<const Value> args);

}  // namespace palimpsest::op
