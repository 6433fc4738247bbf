// For tests: writes small zip files.
#pragma once

#include <gtest/gtest.h>
#include <minizip/zip.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

namespace palimpsest::importing {

// The path of a new file in the temporary folder with these records.
inline std::string WriteZip(const std::string& name,
                            const std::vector<std::pair<std::string, std::string>>& records,
                            bool deflate) {
  std::string path = testing::TempDir() + std::to_string(getpid()) + "_" + name;
  zipFile zip = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  EXPECT_NE(zip, nullptr);
  for (const auto& [record, content] : records) {
    zip_fileinfo info = {};
    EXPECT_EQ(zipOpenNewFileInZip64(zip, record.c_str(), &info, nullptr, 0, nullptr, 0, nullptr,
                                    deflate ? Z_DEFLATED : 0, deflate ? 6 : 0, 0),
              ZIP_OK);
    EXPECT_EQ(zipWriteInFileInZip(zip, content.data(), static_cast<unsigned>(content.size())),
              ZIP_OK);
    EXPECT_EQ(zipCloseFileInZip(zip), ZIP_OK);
  }
  EXPECT_EQ(zipClose(zip, nullptr), ZIP_OK);
  return path;
}

}  // namespace palimpsest::importing
