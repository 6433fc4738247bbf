// Loads operators from shared libraries (palimpsest/plugin.h) and registers them like built-in
// ones.
//
// Every operator of a library gets traits.custom. Either all operators of a library are registered
// or none. A library is never unloaded.
#pragma once

#include <string>

#include "op/op.h"
#include "palimpsest/plugin.h"

namespace palimpsest::op {

// Errors: kBadInput for a file that cannot be loaded, has another ABI version (both numbers) or a
// bad schema; kUsage for a name that exists.
Status LoadPlugin(const std::string& path, OpTable& table);
// The same for operators that are linked into the program. `name` is for error texts.
Status RegisterPlugin(PalimpsestRegisterFn register_fn, const std::string& name, OpTable& table);

}  // namespace palimpsest::op
