// From the bytes of a record to a Storage.
#pragma once

#include "import/archive.h"
#include "palimpsest/dtype.h"
#include "palimpsest/result.h"
#include "palimpsest/tensor.h"

namespace palimpsest::importing {

enum class StorageUse : uint8_t {
  kShared,   // the bytes themselves where they lie on a multiple of 64, else a copy; never written
  kPrivate,  // always a copy: the program may write it
};

// `swap`: the bytes were written by a machine of the other byte order; elements are of `dtype`.
Result<StorageRef> StorageOfBytes(const Bytes& bytes, StorageUse use, bool swap, DType dtype);

// The record `byteorder` of an archive, if any: true for "big". Errors: neither big nor little.
Result<bool> IsBigEndian(const Archive& archive, const std::string& record);

// A view whose numbers come from a file: sizes, strides and offset are not negative, at most 64
// dims, and the last element lies inside `storage_bytes`. `what` names the tensor.
Result<View> CheckedView(DType dtype, const Dims& sizes, const Dims& strides, int64_t offset,
                         int64_t storage_bytes, const std::string& what);

// The same for a contiguous tensor, of which only the sizes are known.
Result<View> CheckedContiguousView(DType dtype, const Dims& sizes, int64_t storage_bytes,
                                   const std::string& what);

}  // namespace palimpsest::importing
