// What torch.save writes: a zip archive with a pickle and one record per storage.
#pragma once

#include <string>

#include "import/archive.h"
#include "import/pickle.h"
#include "import/storage_bytes.h"

namespace palimpsest::importing {

// Tensors with one storage key share one Storage. `name`: how errors call the archive.
Result<Pickle> ReadTorchSave(Bytes bytes, const std::string& name, StorageUse use);

}  // namespace palimpsest::importing
