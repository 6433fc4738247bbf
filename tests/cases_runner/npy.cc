#include "npy.h"

#include "json.h"

namespace cases {

palimpsest::Result<std::string> ReadNpyElements(const std::string& path) {
  PAL_TRY(std::string file, ReadFile(path));
  constexpr size_t kFixed = 10;  // magic, version, length of the header
  if (file.size() < kFixed || file.substr(0, 6) != "\x93NUMPY" || file[6] != 1) {
    return palimpsest::BadInput(path + " is no .npy file of format 1.0");
  }
  size_t header = static_cast<uint8_t>(file[8]) + 256u * static_cast<uint8_t>(file[9]);
  bool row_major = file.substr(kFixed, header).find("'fortran_order': False") != std::string::npos;
  if (!row_major || file.size() < kFixed + header) {
    return palimpsest::BadInput(path + " is not stored in row-major order");
  }
  return file.substr(kFixed + header);
}

}  // namespace cases
