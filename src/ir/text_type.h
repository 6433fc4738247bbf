// Annotations: "f32[4, 3][3, 1]cpu", "Sym(u0 >= 0)". Part of text.h's reader.
#pragma once

#include <string_view>

#include "ir/graph.h"
#include "palimpsest/result.h"

namespace palimpsest::ir {

// `text` without its quotes. Errors: kBadInput; kUnsupported for an element type that we lack.
Result<Type> ParseType(std::string_view text);

}  // namespace palimpsest::ir
