// Reading zip archives through minizip, over memory.
//
// minizip walks the directory and says where a payload begins; the payload itself is never read
// through it. That leaves three things to check here: that the payload lies inside the file, that
// its real size is the declared one, and its checksum.

#include "import/archive.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <minizip/unzip.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "palimpsest/tensor.h"

namespace palimpsest::importing {
namespace {

constexpr int kStored = 0;
constexpr int kDeflated = 8;

// ---- minizip's view of memory

struct MemoryStream {
  std::span<const std::byte> data;
  uint64_t at = 0;
};

voidpf OpenStream(voidpf opaque, const void*, int) { return opaque; }
uLong ReadStream(voidpf, voidpf stream, void* buffer, uLong size) {
  auto& s = *static_cast<MemoryStream*>(stream);
  uint64_t n = std::min<uint64_t>(size, s.data.size() - s.at);
  if (n > 0) std::memcpy(buffer, s.data.data() + s.at, n);
  s.at += n;
  return n;
}
uLong WriteStream(voidpf, voidpf, const void*, uLong) { return 0; }
ZPOS64_T TellStream(voidpf, voidpf stream) { return static_cast<MemoryStream*>(stream)->at; }
long SeekStream(voidpf, voidpf stream, ZPOS64_T offset, int origin) {
  auto& s = *static_cast<MemoryStream*>(stream);
  uint64_t base = 0;
  if (origin == ZLIB_FILEFUNC_SEEK_CUR) base = s.at;
  if (origin == ZLIB_FILEFUNC_SEEK_END) base = s.data.size();
  uint64_t at = base + offset;
  if (at < base || at > s.data.size()) return -1;
  s.at = at;
  return 0;
}
int CloseStream(voidpf, voidpf) { return 0; }
int StreamError(voidpf, voidpf) { return 0; }

// ---- raw deflate streams

class Inflater {
 public:
  explicit Inflater(std::span<const std::byte> packed) : packed_(packed) {
    ok_ = inflateInit2(&stream_, -MAX_WBITS) == Z_OK;
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ok_) inflateEnd(&stream_);
  }
  // Fills `out` as far as the stream reaches. Returns the number of bytes, or -1 for garbage.
  int64_t Fill(std::span<std::byte> out) {
    uint64_t filled = 0;
    while (ok_ && !at_end_ && filled < out.size()) {
      uInt room = static_cast<uInt>(std::min<uint64_t>(out.size() - filled, 1u << 30));
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + filled);
      stream_.avail_out = room;
      if (stream_.avail_in == 0) Feed();
      int code = inflate(&stream_, Z_NO_FLUSH);
      filled += room - stream_.avail_out;
      at_end_ = code == Z_STREAM_END;
      bool starved = stream_.avail_in == 0 && fed_ == packed_.size();
      if (code != Z_OK && code != Z_STREAM_END && (code != Z_BUF_ERROR || starved)) return -1;
    }
    return ok_ ? static_cast<int64_t>(filled) : -1;
  }
  bool at_end() const { return at_end_; }

 private:
  void Feed() {
    uInt n = static_cast<uInt>(std::min<uint64_t>(packed_.size() - fed_, 1u << 30));
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed_.data() + fed_));
    stream_.avail_in = n;
    fed_ += n;
  }

  std::span<const std::byte> packed_;
  uint64_t fed_ = 0;
  z_stream stream_ = {};
  bool ok_ = false, at_end_ = false;
};

// The size that a deflate stream unpacks to, at most `limit` + 1. -1 for garbage. A first pass in
// constant memory: the declared size may be a lie of any size.
int64_t UnpackedSize(std::span<const std::byte> packed, uint64_t limit) {
  Inflater inflater(packed);
  std::vector<std::byte> scratch(1 << 16);
  uint64_t total = 0;
  while (!inflater.at_end() && total <= limit) {
    int64_t n = inflater.Fill(scratch);
    if (n < 0) return -1;
    total += static_cast<uint64_t>(n);
  }
  return static_cast<int64_t>(std::min(total, limit + 1));
}

}  // namespace

struct Archive::Zip {
  MemoryStream stream;
  unzFile handle = nullptr;
  Zip() = default;
  Zip(const Zip&) = delete;
  Zip& operator=(const Zip&) = delete;
  ~Zip() {
    if (handle != nullptr) unzClose(handle);
  }
};

std::string Shown(std::string_view text) {
  constexpr size_t kMax = 80;
  std::string result;
  for (char c : text.substr(0, kMax)) {
    bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    result += control ? '?' : c;
  }
  if (text.size() > kMax) result += fmt::format("... ({} characters)", text.size());
  return result;
}

Result<Bytes> MapFile(const std::string& path) {
  auto fault = [&](const char* what) {
    return BadInput(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
  };
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fault("cannot be opened");
  struct stat status = {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    return BadInput(fmt::format("{}: is not a file", path));
  }
  size_t size = static_cast<size_t>(status.st_size);
  if (size == 0) {
    close(fd);
    return Bytes{};
  }
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  int mmap_errno = errno;
  close(fd);
  if (memory == MAP_FAILED) {
    errno = mmap_errno;
    return fault("cannot be mapped");
  }
  Bytes bytes;
  bytes.data = {static_cast<const std::byte*>(memory), size};
  bytes.owner = std::shared_ptr<const void>(
      memory, [size](const void* p) { munmap(const_cast<void*>(p), size); });
  return bytes;
}

Result<Archive> Archive::Open(Bytes file, std::string name) {
  Archive archive;
  archive.name_ = std::move(name);
  archive.file_ = std::move(file);
  archive.zip_ = std::make_shared<Zip>();
  archive.zip_->stream.data = archive.file_.data;
  zlib_filefunc64_def functions = {OpenStream, ReadStream,  WriteStream, TellStream,
                                   SeekStream, CloseStream, StreamError, &archive.zip_->stream};
  archive.zip_->handle = unzOpen2_64(archive.name_.c_str(), &functions);
  if (archive.zip_->handle == nullptr) {
    return BadInput(
        fmt::format("{}: is not a zip archive, or is cut off: no directory of records at its end",
                    archive.name_));
  }
  PAL_TRY(archive.ReadDirectory());
  return archive;
}

Status Archive::ReadDirectory() {
  unzFile zip = zip_->handle;
  unz_global_info64 info = {};
  unzGetGlobalInfo64(zip, &info);
  std::vector<char> name_buffer(1 << 16);
  for (uint64_t i = 0; i < info.number_entry; ++i) {
    int code = i == 0 ? unzGoToFirstFile(zip) : unzGoToNextFile(zip);
    unz_file_info64 file = {};
    unz64_file_pos pos = {};
    if (code == UNZ_OK) {
      code = unzGetCurrentFileInfo64(zip, &file, name_buffer.data(), name_buffer.size(), nullptr, 0,
                                     nullptr, 0);
    }
    if (code == UNZ_OK) code = unzGetFilePos64(zip, &pos);
    if (code != UNZ_OK || file.size_filename >= name_buffer.size()) {
      return BadInput(fmt::format("{}: the directory of records is damaged at record {} of {}",
                                  name_, i + 1, info.number_entry));
    }
    Entry entry;
    entry.directory_pos = pos.pos_in_zip_directory;
    entry.number = pos.num_of_file;
    entry.stored_size = file.compressed_size;
    entry.size = file.uncompressed_size;
    entry.crc = static_cast<uint32_t>(file.crc);
    entry.method = static_cast<int>(file.compression_method);
    entry.encrypted = (file.flag & 1) != 0;
    std::string name(name_buffer.data(), file.size_filename);
    if (!entries_.emplace(name, entry).second) return Fault(name, "there are two of this name");
    names_.push_back(std::move(name));
  }
  return {};
}

Error Archive::Fault(std::string_view record, const std::string& what) const {
  return BadInput(fmt::format("{}: record '{}': {}", name_, Shown(record), what));
}

// Where the record's bytes lie, packed or not.
Result<Bytes> Archive::Payload(std::string_view record, const Entry& entry) const {
  unz64_file_pos pos = {entry.directory_pos, entry.number};
  int method = 0, level = 0;
  if (unzGoToFilePos64(zip_->handle, &pos) != UNZ_OK ||
      unzOpenCurrentFile2(zip_->handle, &method, &level, /*raw=*/1) != UNZ_OK) {
    return Fault(record, "its local header is damaged or not there");
  }
  uint64_t begin = unzGetCurrentFileZStreamPos64(zip_->handle);
  unzCloseCurrentFile(zip_->handle);
  uint64_t file_size = file_.data.size();
  if (begin > file_size || entry.stored_size > file_size - begin) {
    return Fault(record,
                 fmt::format("its {} bytes reach beyond the end of the file", entry.stored_size));
  }
  return Bytes{file_.data.subspan(begin, entry.stored_size), file_.owner};
}

Result<Bytes> Archive::Unpack(std::string_view record, const Entry& entry,
                              const Bytes& packed) const {
  int64_t real = UnpackedSize(packed.data, entry.size);
  if (real < 0) return Fault(record, "its compressed data is damaged");
  if (static_cast<uint64_t>(real) != entry.size) {
    return Fault(record,
                 fmt::format("it declares {} bytes, but its compressed data holds {}{}", entry.size,
                             real > static_cast<int64_t>(entry.size) ? "at least " : "", real));
  }
  PAL_TRY(StorageRef storage, AllocateStorage(real));
  std::span<std::byte> out(storage->data(), entry.size);
  Inflater inflater(packed.data);
  if (inflater.Fill(out) != real) return Fault(record, "its compressed data is damaged");
  return Bytes{out, storage};
}

Result<Bytes> Archive::Read(std::string_view record) const {
  auto it = entries_.find(record);
  if (it == entries_.end()) {
    return BadInput(fmt::format("{}: there is no record '{}'", name_, Shown(record)));
  }
  const Entry& entry = it->second;
  if (entry.encrypted) return Fault(record, "it is encrypted");
  if (entry.method != kStored && entry.method != kDeflated) {
    return Fault(record, fmt::format("compression method {} (0 and 8 are known)", entry.method));
  }
  PAL_TRY(Bytes bytes, Payload(record, entry));
  if (entry.method == kStored && entry.size != entry.stored_size) {
    return Fault(record, fmt::format("it is stored in {} bytes, but declares {}", entry.stored_size,
                                     entry.size));
  }
  if (entry.method == kDeflated) {
    PAL_TRY(bytes, Unpack(record, entry, bytes));
  }
  // Some writers leave the checksum out.
  if (entry.crc != 0) {
    uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data.data()), bytes.data.size());
    if (crc != entry.crc) {
      return Fault(
          record, fmt::format("its checksum is {:08x}, the directory says {:08x}", crc, entry.crc));
    }
  }
  return bytes;
}

}  // namespace palimpsest::importing
