// BindSymbols: do the inputs fit the types that the program declares, and which number is each
// symbol of these types?
//
//   x: "f32[s0, 8]", y: "f32[2*s0]"  called with f32[3, 8], f32[6]  ->  s0 = 3
//
// A dim that is one bare symbol binds it; every other dim, the ranges of the symbols, constant
// sizes and dtypes are checks. Strides are not checked: an exported program does not fix them.
#pragma once

#include <span>

#include "core/symbol.h"
#include "ir/graph.h"
#include "palimpsest/result.h"
#include "palimpsest/value.h"

namespace palimpsest::interpret {

// `inputs`: one per graph input. Errors (kBadInput) name the input and the dim.
Result<SymBindings> BindSymbols(const ir::Graph& graph, std::span<const Value> inputs);

}  // namespace palimpsest::interpret
