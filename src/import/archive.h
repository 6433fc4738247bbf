// Archive: the records of a zip file in memory, by name.
//
// Only the central directory is believed (torch writes zeros into the local headers). Stored
// records are handed out where they lie, so that a mapped file is never copied; deflated ones are
// unpacked into memory of exactly their real size. A record inside an archive may be an archive
// again.
//
// Refused, always as kBadInput with the name of the file and the record: records that reach beyond
// the file, declared sizes that are not the real ones, wrong checksums (0 counts as "not written"),
// encryption, two records of one name. Nothing is ever written to disk, so names are only keys.
//
// Not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/result.h"

namespace palimpsest::importing {

// A piece of memory and what keeps it alive.
struct Bytes {
  std::span<const std::byte> data;
  std::shared_ptr<const void> owner;
  std::string_view text() const {
    return {reinterpret_cast<const char*>(data.data()), data.size()};
  }
};

// Maps a whole file, read-only.
Result<Bytes> MapFile(const std::string& path);

class Archive {
 public:
  // `name`: how errors call the archive.
  static Result<Archive> Open(Bytes file, std::string name);
  // Names in the order of the directory.
  const std::vector<std::string>& names() const { return names_; }
  bool Has(std::string_view record) const { return entries_.contains(record); }
  // The whole record, checked.
  Result<Bytes> Read(std::string_view record) const;
  const std::string& name() const { return name_; }

 private:
  struct Entry {
    uint64_t directory_pos = 0, number = 0;  // minizip's coordinates
    uint64_t stored_size = 0, size = 0;
    uint32_t crc = 0;
    int method = 0;
    bool encrypted = false;
  };
  struct Zip;  // minizip's handle and the memory that it reads

  Status ReadDirectory();
  Error Fault(std::string_view record, const std::string& what) const;
  Result<Bytes> Payload(std::string_view record, const Entry& entry) const;
  Result<Bytes> Unpack(std::string_view record, const Entry& entry, const Bytes& packed) const;

  std::string name_;
  Bytes file_;
  std::shared_ptr<Zip> zip_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<std::string> names_;
};

// `text` for an error message: control characters replaced, cut after 80 characters.
std::string Shown(std::string_view text);

}  // namespace palimpsest::importing
