// --input and --inputs: values for a program's inputs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/result.h"
#include "palimpsest/value.h"
#include "tools/command_line.h"

namespace palimpsest::tools {

// Per name the value that the command line gives it. Errors: kUsage for an option that cannot be
// read or a name that is no input; kBadInput for a file.
Result<std::vector<std::optional<Value>>> ReadInputOptions(const CommandLine& command,
                                                           const std::vector<std::string>& names);

// The part behind "NAME=": "@x.npy", "f32[2,3][3,1]:rand(7)", "3", "0.5", "True", "None".
Result<Value> ParseInputValue(std::string_view text);

}  // namespace palimpsest::tools
