#include "import/torch_save.h"

#include <fmt/format.h>

#include <map>

namespace palimpsest::importing {

Result<Pickle> ReadTorchSave(Bytes bytes, const std::string& name, StorageUse use) {
  PAL_TRY(Archive archive, Archive::Open(std::move(bytes), name));
  if (archive.names().empty()) return BadInput(fmt::format("{}: an empty archive", name));
  const std::string& first = archive.names().front();
  std::string root = first.substr(0, first.find('/') + 1);
  PAL_TRY(bool swap, IsBigEndian(archive, root + "byteorder"));
  std::map<std::string, StorageRef> storages;
  StorageLoader load = [&](const std::string& key, DType dtype,
                           int64_t needed) -> Result<StorageRef> {
    StorageRef& storage = storages[key];
    if (storage == nullptr) {
      PAL_TRY(Bytes record, archive.Read(root + "data/" + key));
      PAL_TRY(storage, StorageOfBytes(record, use, swap, dtype));
    }
    if (storage->bytes() < needed) {
      return BadInput(fmt::format("{}: record 'data/{}' holds {} bytes, {} are needed", name,
                                  Shown(key), storage->bytes(), needed));
    }
    return storage;
  };
  PAL_TRY(Bytes pickle, archive.Read(root + "data.pkl"));
  return ReadPickle(pickle.text(), name, load);
}

}  // namespace palimpsest::importing
