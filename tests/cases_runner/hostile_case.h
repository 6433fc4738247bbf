// What one hostile file leads to, judged in the process that tried it.
#pragma once

#include "json.h"
#include "palimpsest/program.h"
#include "tally.h"

namespace cases {

// `c` is a case of cases.json, `file` the unpacked file, `folder` holds the case's base.
Outcome JudgeHostileFile(const Json& c, const std::string& file, const std::string& folder,
                         const palimpsest::Operators& ops);

}  // namespace cases
