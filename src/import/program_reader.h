// From the JSON text of a program to everything in ImportedProgram but weights and sample inputs.
//
// The text is parsed twice: once for all that is small (signature, results, symbols), once for the
// nodes and the descriptions of values, which are read as they come by and not kept. So the order
// of keys in the file does not matter, and a million nodes cost what their ir::Nodes cost.
#pragma once

#include <string>
#include <string_view>

#include "import/json.h"
#include "import/pt2.h"

namespace palimpsest::importing {

// `record`: how errors call the text.
Result<ImportedProgram> ReadProgram(std::string_view text, const std::string& record,
                                    const op::OpTable& ops,
                                    JsonNumbers numbers = JsonNumbers::kStrict);

}  // namespace palimpsest::importing
