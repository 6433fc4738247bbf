// Weights: parameters, buffers and constants of a program file, by full name.
//
// Raw (2.9 and later): a JSON table and one record per storage. Pickled (2.6 to 2.8): one
// torch.save dictionary. Names that the file puts on one storage share a Storage; storages are read
// when a tensor on them is first asked for.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "import/archive.h"
#include "import/json.h"
#include "import/pickle.h"
#include "palimpsest/tensor.h"

namespace palimpsest::importing {

struct RawOptions {
  bool swap_bytes = false;  // written by a machine of the other byte order
  // PyTorch 2.9.0 wrote some weights contiguously and described the strides that they had before:
  // where the description does not fit the record, read the record as contiguous.
  bool mend_strides = false;
};

class Weights {
 public:
  // `folder`: where the records lie, with its slash; `config`: the record of the table.
  static Result<Weights> OpenRaw(const Archive& archive, const std::string& folder,
                                 const std::string& config, const RawOptions& options);
  static Result<Weights> OpenPickled(const Archive& archive, const std::string& record);

  Result<Tensor> Get(const std::string& name, std::vector<std::string>& remarks);

 private:
  Result<Tensor> GetRaw(const std::string& name, Json entry, std::vector<std::string>& remarks);
  Result<StorageRef> LoadStorage(const std::string& name, Json entry, DType dtype);

  const Archive* archive_ = nullptr;
  std::string folder_, record_;  // record_: of the table or the dictionary
  RawOptions options_;
  std::unique_ptr<JsonTape> table_;                          // raw
  std::unordered_map<std::string, Json> entries_;            // raw
  std::map<std::string, StorageRef, std::less<>> storages_;  // raw, by record
  std::optional<Pickle> pickle_;                             // pickled
  std::unordered_map<std::string, Pickle::Ref> members_;
};

}  // namespace palimpsest::importing
