#include "import/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "import/archive.h"
#include "import/storage_bytes.h"

namespace palimpsest::importing {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr char kOwnOrder = std::endian::native == std::endian::little ? '<' : '>';

struct TypeName {
  std::string_view name;  // without the byte order
  DType dtype;
};
constexpr TypeName kTypes[] = {
    {"b1", DType::kB8},  {"u1", DType::kU8},  {"i1", DType::kI8},  {"i2", DType::kI16},
    {"i4", DType::kI32}, {"i8", DType::kI64}, {"f2", DType::kF16}, {"u2", DType::kBF16},
    {"f4", DType::kF32}, {"f8", DType::kF64}, {"c8", DType::kC64}, {"c16", DType::kC128},
};

struct Header {
  DType dtype = DType::kF32;
  bool swap = false;
  bool fortran = false;
  Dims shape;
};

// Reads a Python dictionary of three known keys: {'descr': '<f4', 'fortran_order': False,
// 'shape': (3, 4), }
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  Result<Header> Read() {
    if (!Eat("{")) return Expected("'{'");
    int seen = 0;
    while (!Eat("}")) {
      PAL_TRY(std::string_view key, ReadString());
      if (!Eat(":")) return Expected("':'");
      if (key == "descr") {
        PAL_TRY(ReadType());
      } else if (key == "fortran_order") {
        PAL_TRY(ReadOrder());
      } else if (key == "shape") {
        PAL_TRY(ReadShape());
      } else {
        return BadInput(fmt::format("unknown key '{}' in its header", Shown(key)));
      }
      ++seen;
      if (!Eat(",") && !(SkipSpace(), text_.starts_with("}"))) return Expected("',' or '}'");
    }
    if (seen != 3) return BadInput("its header does not have three keys");
    return header_;
  }

 private:
  void SkipSpace() {
    size_t n = text_.find_first_not_of(" \t\n");
    text_.remove_prefix(std::min(n, text_.size()));
  }
  bool Eat(std::string_view token) {
    SkipSpace();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  Error Expected(const char* what) const {
    return BadInput(
        fmt::format("{} is expected in its header before '{}'", what, Shown(text_.substr(0, 20))));
  }
  Result<std::string_view> ReadString() {
    SkipSpace();
    char quote = text_.empty() ? '\0' : text_[0];
    size_t end = quote == '\'' || quote == '"' ? text_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) return Expected("a string");
    std::string_view result = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return result;
  }
  Status ReadType() {
    PAL_TRY(std::string_view descr, ReadString());
    char order = descr.empty() ? '\0' : descr[0];
    if (order == '<' || order == '>' || order == '|' || order == '=') {
      for (const TypeName& type : kTypes) {
        if (type.name != descr.substr(1)) continue;
        header_.dtype = type.dtype;
        header_.swap = (order == '<' || order == '>') && order != kOwnOrder;
        return {};
      }
    }
    return BadInput(fmt::format("elements of type '{}'", Shown(descr)));
  }
  Status ReadOrder() {
    header_.fortran = Eat("True");
    if (!header_.fortran && !Eat("False")) return Expected("True or False");
    return {};
  }
  Status ReadShape() {
    if (!Eat("(")) return Expected("'('");
    while (!Eat(")")) {
      SkipSpace();
      int64_t size = 0;
      auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) return Expected("a size");
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      header_.shape.push_back(size);
      if (!Eat(",") && !text_.starts_with(")")) return Expected("',' or ')'");
    }
    return {};
  }

  std::string_view text_;
  Header header_;
};

// The strides of a contiguous array whose first dim is the fastest. Sizes are checked.
Dims FortranStrides(const Dims& sizes) {
  Dims strides(sizes.size());
  int64_t stride = 1;
  for (size_t d = 0; d < strides.size(); ++d) {
    strides[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

// Calls f(address) for each element, the last dim fastest.
template <typename F>
void ForEachElement(const Tensor& tensor, F&& f) {
  int64_t numel = tensor.numel();
  Dims at(tensor.dim());
  const std::byte* address = numel > 0 ? tensor.data() : nullptr;
  for (int64_t i = 0; i < numel; ++i) {
    f(address);
    for (size_t d = tensor.dim(); d-- > 0;) {
      address += tensor.strides[d] * tensor.item_size();
      if (++at[d] < tensor.sizes[d]) break;
      address -= tensor.strides[d] * tensor.sizes[d] * tensor.item_size();
      at[d] = 0;
    }
  }
}

std::string HeaderOf(const Tensor& tensor) {
  std::string_view name;
  for (const TypeName& type : kTypes) {
    if (type.dtype == tensor.dtype) name = type.name;
  }
  std::string shape;
  for (int64_t size : tensor.sizes) shape += fmt::format("{}, ", size);
  if (tensor.dim() > 1) shape.resize(shape.size() - 2);
  if (tensor.dim() == 1) shape.resize(shape.size() - 1);
  char order = tensor.item_size() == 1 ? '|' : kOwnOrder;
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   order, name, shape);
  // The whole head is a multiple of 64 bytes and ends with a newline.
  size_t fixed = kMagic.size() + 4;
  size_t padded = (fixed + header.size() + 1 + 63) / 64 * 64;
  header.append(padded - fixed - header.size() - 1, ' ');
  header += '\n';
  return header;
}

}  // namespace

Result<Tensor> ParseNpy(std::span<const std::byte> data, const std::string& name) {
  std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
  auto fault = [&](const std::string& what) { return BadInput(fmt::format("{}: {}", name, what)); };
  if (!text.starts_with(kMagic) || text.size() < 12) return fault("is no .npy file");
  int version = text[6];
  if (version < 1 || version > 3) return fault(fmt::format("unknown format version {}", version));
  size_t length_bytes = version == 1 ? 2 : 4;
  size_t header_size = 0;
  for (size_t i = length_bytes; i-- > 0;) {
    header_size = header_size << 8 | static_cast<unsigned char>(text[8 + i]);
  }
  size_t begin = 8 + length_bytes;
  if (header_size > text.size() - begin) return fault("its header is cut off");
  Result<Header> header = HeaderReader(text.substr(begin, header_size)).Read();
  if (!header.ok()) return fault(header.error().message);
  Bytes payload{data.subspan(begin + header_size), nullptr};
  auto payload_size = static_cast<int64_t>(payload.data.size());
  PAL_TRY(View view,
          CheckedContiguousView(header->dtype, header->shape, payload_size, name + ": the array"));
  if (header->fortran) view.strides = FortranStrides(view.sizes);
  payload.data = payload.data.first(static_cast<size_t>(view.numel() * view.item_size()));
  PAL_TRY(StorageRef storage,
          StorageOfBytes(payload, StorageUse::kPrivate, header->swap, header->dtype));
  return Tensor(std::move(view), std::move(storage));
}

Result<Tensor> ReadNpy(const std::string& path) {
  PAL_TRY(Bytes file, MapFile(path));
  return ParseNpy(file.data, path);
}

Status WriteNpy(const Tensor& tensor, const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"), std::fclose);
  auto fault = [&] {
    return RuntimeFailure(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  };
  if (file == nullptr) return fault();
  std::string header = HeaderOf(tensor);
  std::string head(kMagic);
  head +=
      {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  head += header;
  bool good = std::fwrite(head.data(), 1, head.size(), file.get()) == head.size();
  auto item = static_cast<size_t>(tensor.item_size());
  ForEachElement(tensor, [&](const std::byte* element) {
    good = good && std::fwrite(element, 1, item, file.get()) == item;
  });
  if (!good || std::fflush(file.get()) != 0) return fault();
  return {};
}

}  // namespace palimpsest::importing
