// What `palimpsest explain --json` prints.
//
//   {"schema": "palimpsest.explain/1", "copied_bytes": 0, "clones": 0, "bases": [{"name": "cache",
//    "bytes": 96, "verdict": "in place", "copied_bytes": 0, "reader": "", "writer": "",
//    "reader_at": "", "writer_at": "", "why": ""}], ...}
//
// Keys are only ever added; a change of meaning gets another schema number.
#pragma once

#include <string>

#include "palimpsest/program.h"

namespace palimpsest::report {

std::string ToJson(const Explanation& explanation);

}  // namespace palimpsest::report
