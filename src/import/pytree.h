// PyTree specs: how torch.export writes down the nesting of inputs and results.
#pragma once

#include <string>
#include <string_view>

#include "import/pickle.h"
#include "import/pt2.h"

namespace palimpsest::importing {

// The JSON text `[1, {"type", "context", "children_spec"}]`. `name`: how errors call it.
Result<PyTree> ParsePyTree(std::string_view text, const std::string& name);

// The leaves of a pickled value that is nested as `tree` says. Errors: it is nested otherwise, or a
// leaf is no tensor, number, string or None.
Result<std::vector<Value>> FlattenPickle(const Pickle& pickle, const PyTree& tree);

}  // namespace palimpsest::importing
