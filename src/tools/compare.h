// Differences between two runs of one program: the interpreter's and the compiled one's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "palimpsest/value.h"

namespace palimpsest::tools {

// Everything that a caller can see after a call, with names for messages.
struct Observed {
  struct Item {
    std::string name;  // "result add", "input x", "state cache"
    Value value;
  };
  std::vector<Item> items;
};

// A copy of the values with the same sharing: tensors of one storage share one in the copy.
Result<std::vector<Value>> CloneSharing(const std::vector<Value>& values);

// The first difference in words: type, sizes, strides, elements (floats within 1e-5 relative and
// absolute), who shares memory with whom at which distance.
std::optional<std::string> FirstDifference(const Observed& actual, const Observed& expected);

}  // namespace palimpsest::tools
