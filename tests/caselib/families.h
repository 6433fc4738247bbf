// The three files of caselib's operators; caselib.cc puts them together.
#pragma once

#include "palimpsest/operator_library.h"

namespace caselib {

void DefineElementwise(palimpsest::plugin::Library& m);  // elementwise.cc
void DefineOptional(palimpsest::plugin::Library& m);     // optional.cc: lists, optionals, results
void DefineRows(palimpsest::plugin::Library& m);         // rows.cc: caches, norms, rotary

}  // namespace caselib
