// Arrays in NumPy's .npy files: formats 1.0 to 3.0 are read, 1.0 is written.
//
// bfloat16 has no name in NumPy: it is kept as unsigned 16-bit integers, which palimpsest has no
// other use for. Elements of the other byte order are swapped, Fortran order becomes strides.
#pragma once

#include <span>
#include <string>

#include "palimpsest/result.h"
#include "palimpsest/tensor.h"

namespace palimpsest::importing {

// The tensor has memory of its own, of exactly the array's bytes. Errors (kBadInput) name the file.
Result<Tensor> ReadNpy(const std::string& path);
// The same from memory. `name`: how errors call it.
Result<Tensor> ParseNpy(std::span<const std::byte> data, const std::string& name);

// The elements in row-major order, whatever the tensor's strides.
Status WriteNpy(const Tensor& tensor, const std::string& path);

}  // namespace palimpsest::importing
