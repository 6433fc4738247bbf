#include "import/weights.h"

#include <fmt/format.h>

#include "import/meta.h"
#include "import/storage_bytes.h"
#include "import/torch_save.h"

namespace palimpsest::importing {
namespace {

std::string Title(const std::string& record, const std::string& name) {
  return fmt::format("record '{}': '{}'", record, Shown(name));
}

}  // namespace

Result<Weights> Weights::OpenRaw(const Archive& archive, const std::string& folder,
                                 const std::string& config, const RawOptions& options) {
  Weights weights;
  weights.archive_ = &archive;
  weights.folder_ = folder;
  weights.record_ = folder + config;
  weights.options_ = options;
  PAL_TRY(Bytes bytes, archive.Read(weights.record_));
  PAL_TRY(JsonTape tape, ParseJson(bytes.text(), fmt::format("record '{}'", weights.record_)));
  weights.table_ = std::make_unique<JsonTape>(std::move(tape));
  Json table = weights.table_->root()["config"];
  if (!table.IsObject()) {
    return BadInput(fmt::format("record '{}': there is no table 'config'", weights.record_));
  }
  PAL_TRY(table.ForEachMember([&](std::string_view name, Json entry) -> Status {
    weights.entries_[std::string(name)] = entry;
    return {};
  }));
  return weights;
}

Result<Weights> Weights::OpenPickled(const Archive& archive, const std::string& record) {
  Weights weights;
  weights.archive_ = &archive;
  weights.record_ = record;
  PAL_TRY(Bytes bytes, archive.Read(record));
  PAL_TRY(weights.pickle_,
          ReadTorchSave(bytes, fmt::format("record '{}'", record), StorageUse::kShared));
  const Pickle& pickle = *weights.pickle_;
  if (pickle.kind(pickle.root()) != Pickle::Kind::kDict) {
    return BadInput(fmt::format("record '{}': is no dictionary of tensors", record));
  }
  weights.members_ = pickle.Members(pickle.root());
  return weights;
}

Result<Tensor> Weights::Get(const std::string& name, std::vector<std::string>& remarks) {
  Error missing = BadInput(fmt::format("{} is not there", Title(record_, name)));
  if (!pickle_) {
    auto it = entries_.find(name);
    if (it == entries_.end()) return missing;
    return GetRaw(name, it->second, remarks);
  }
  auto it = members_.find(name);
  if (it == members_.end()) return missing;
  if (pickle_->kind(it->second) != Pickle::Kind::kTensor) {
    return BadInput(fmt::format("{} is no tensor", Title(record_, name)));
  }
  return pickle_->AsTensor(it->second);
}

Result<Tensor> Weights::GetRaw(const std::string& name, Json entry,
                               std::vector<std::string>& remarks) {
  std::string title = Title(record_, name);
  std::optional<std::string_view> path = entry["path_name"].AsString();
  if (!path || path->empty() || path->find('/') != std::string_view::npos) {
    return BadInput(fmt::format("{}: its record is called '{}', which is no plain name", title,
                                Shown(path.value_or("null"))));
  }
  if (entry["use_pickle"].AsBool().value_or(false)) {
    std::string record = folder_ + std::string(*path);
    PAL_TRY(Bytes bytes, archive_->Read(record));
    PAL_TRY(Pickle pickle,
            ReadTorchSave(bytes, fmt::format("record '{}'", record), StorageUse::kShared));
    if (pickle.kind(pickle.root()) != Pickle::Kind::kTensor) {
      return BadInput(fmt::format("{}: its record holds no tensor", title));
    }
    return pickle.AsTensor(pickle.root());
  }
  Json meta = entry["tensor_meta"];
  Result<DType> dtype = DTypeOfCode(meta["dtype"]);
  if (!dtype.ok()) {
    dtype.error().message = fmt::format("{}: {}", title, dtype.error().message);
    return std::move(dtype).error();
  }
  PAL_TRY(Dims sizes, ReadPlainInts(meta["sizes"], title + ": a size"));
  PAL_TRY(Dims strides, ReadPlainInts(meta["strides"], title + ": a stride"));
  PAL_TRY(int64_t offset, ReadPlainInt(meta["storage_offset"], title + ": the offset"));
  PAL_TRY(StorageRef storage, LoadStorage(name, entry, *dtype));
  Result<View> view = CheckedView(*dtype, sizes, strides, offset, storage->bytes(), title);
  if (!view.ok()) {
    if (!options_.mend_strides || sizes.size() != strides.size()) return view.error();
    Result<View> dense = CheckedContiguousView(*dtype, sizes, storage->bytes(), title);
    if (!dense.ok() || dense->numel() * dense->item_size() != storage->bytes()) {
      return view.error();
    }
    remarks.push_back(
        fmt::format("{}: its strides do not fit its record; read as contiguous", title));
    view = std::move(dense);
  }
  return Tensor(std::move(*view), std::move(storage));
}

Result<StorageRef> Weights::LoadStorage(const std::string& name, Json entry, DType dtype) {
  std::string record = folder_ + std::string(entry["path_name"].AsString().value_or(""));
  StorageRef& storage = storages_[record];
  if (storage == nullptr) {
    Result<Bytes> bytes = archive_->Read(record);
    if (!bytes.ok()) {
      bytes.error().message += fmt::format(" (the data of '{}')", Shown(name));
      return std::move(bytes).error();
    }
    PAL_TRY(storage, StorageOfBytes(*bytes, StorageUse::kShared, options_.swap_bytes, dtype));
  }
  return storage;
}

}  // namespace palimpsest::importing
