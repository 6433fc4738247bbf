// Elements of .npy files of format 1.0, row-major, as the fixtures store them.
#pragma once

#include <string>

#include "palimpsest/result.h"

namespace cases {

// The raw elements after the header. The manifest says type and shape.
palimpsest::Result<std::string> ReadNpyElements(const std::string& path);

}  // namespace cases
