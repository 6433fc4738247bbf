#include "import/json.h"

#include <fmt/format.h>
#include <rapidjson/encodedstream.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <limits>

#include "base/check.h"
#include "import/archive.h"

namespace palimpsest::importing {

// ---- the tape

void JsonTape::Clear() {
  tokens_.clear();
  open_.clear();
  chars_.clear();
}

Json JsonTape::root() const { return tokens_.empty() ? Json() : Json(this, 0); }

JsonTape::Token& JsonTape::Put(Kind kind) {
  Token& token = tokens_.emplace_back();
  token.kind = kind;
  return token;
}

void JsonTape::PutNull() { Put(Kind::kNull); }
void JsonTape::PutBool(bool v) { Put(Kind::kBool).b = v; }
void JsonTape::PutInt(int64_t v) { Put(Kind::kInt).i = v; }
void JsonTape::PutDouble(double v) { Put(Kind::kDouble).d = v; }
void JsonTape::PutString(std::string_view v) {
  Token& token = Put(Kind::kString);
  token.count = static_cast<uint32_t>(v.size());
  token.chars = chars_.size();
  chars_ += v;
}
void JsonTape::Open(Kind kind) {
  open_.push_back(static_cast<uint32_t>(tokens_.size()));
  Put(kind);
}
void JsonTape::Close(uint32_t count) {
  PAL_CHECK(!open_.empty(), "a container is closed that was not opened");
  Token& token = tokens_[open_.back()];
  token.count = count;
  token.end = static_cast<uint32_t>(tokens_.size());
  open_.pop_back();
}

// ---- values

std::optional<bool> Json::AsBool() const {
  if (!Is(Kind::kBool)) return std::nullopt;
  return token().b;
}
std::optional<int64_t> Json::AsInt() const {
  if (!Is(Kind::kInt)) return std::nullopt;
  return token().i;
}
std::optional<double> Json::AsDouble() const {
  if (Is(Kind::kDouble)) return token().d;
  if (Is(Kind::kInt)) return static_cast<double>(token().i);
  std::optional<std::string_view> word = AsString();
  if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (word == "Infinity") return std::numeric_limits<double>::infinity();
  if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}
std::optional<std::string_view> Json::AsString() const {
  if (!Is(Kind::kString)) return std::nullopt;
  return std::string_view(tape_->chars_).substr(token().chars, token().count);
}

Json Json::operator[](std::string_view key) const {
  Json found;
  if (!IsObject()) return found;
  for (uint32_t at = at_ + 1; at < token().end; at = Next(at + 1)) {
    if (Json(tape_, at).AsString() == key) found = Json(tape_, at + 1);
  }
  return found;
}

std::optional<std::pair<std::string_view, Json>> Json::OnlyMember() const {
  if (!IsObject() || token().count != 1) return std::nullopt;
  return std::pair(*Json(tape_, at_ + 1).AsString(), Json(tape_, at_ + 2));
}

// ---- the parser

namespace {

using Kind = JsonTape::Kind;
using rapidjson::SizeType;

// Receives RapidJSON's events. Each returns false to stop; `fault` says why.
class Handler {
 public:
  Handler(JsonTape& whole, const std::vector<JsonSplit>& splits) : whole_(whole), splits_(splits) {}

  bool Null() {
    return Scalar([](JsonTape& t) { t.PutNull(); });
  }
  bool Bool(bool v) {
    return Scalar([=](JsonTape& t) { t.PutBool(v); });
  }
  bool Int(int v) { return Int64(v); }
  bool Uint(unsigned v) { return Int64(v); }
  bool Int64(int64_t v) {
    return Scalar([=](JsonTape& t) { t.PutInt(v); });
  }
  // Beyond int64 it becomes a number that no integer field may hold.
  bool Uint64(uint64_t v) {
    if (v <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Int64(static_cast<int64_t>(v));
    }
    return Double(static_cast<double>(v));
  }
  bool Double(double v) {
    return Scalar([=](JsonTape& t) { t.PutDouble(v); });
  }
  bool RawNumber(const char*, SizeType, bool) { return false; }
  bool String(const char* s, SizeType n, bool) {
    return Scalar([=](JsonTape& t) { t.PutString({s, n}); });
  }
  bool Key(const char* s, SizeType n, bool) {
    if (split_ == nullptr) {
      if (depth_ <= kTracked) key_.assign(s, n);
      whole_.PutString({s, n});
    } else if (depth_ == split_depth_) {
      key_.assign(s, n);
    } else {
      piece_.PutString({s, n});
    }
    return true;
  }
  bool StartObject() { return Start(Kind::kObject); }
  bool StartArray() { return Start(Kind::kArray); }
  bool EndObject(SizeType n) { return End(n); }
  bool EndArray(SizeType n) { return End(n); }

  Status fault;

 private:
  static constexpr int kTracked = 4;  // no split lies deeper

  template <typename F>
  bool Scalar(F&& put) {
    put(split_ == nullptr ? whole_ : piece_);
    return split_ == nullptr || depth_ > split_depth_ || Deliver();
  }
  bool Start(Kind kind) {
    if (depth_ >= kMaxJsonDepth) {
      fault = BadInput(fmt::format("nested deeper than {} levels", kMaxJsonDepth));
      return false;
    }
    ++depth_;
    if (split_ != nullptr) {
      piece_.Open(kind);
      return true;
    }
    whole_.Open(kind);
    if (depth_ <= kTracked) {
      if (depth_ > 1) path_.push_back(std::move(key_));
      key_.clear();
      for (const JsonSplit& split : splits_) {
        if (split.kind == kind && split.path == path_) {
          split_ = &split;
          split_depth_ = depth_;
        }
      }
    }
    return true;
  }
  bool End(SizeType count) {
    --depth_;
    if (split_ != nullptr && depth_ >= split_depth_) {
      piece_.Close(count);
      return depth_ > split_depth_ || Deliver();
    }
    whole_.Close(split_ == nullptr ? count : 0);
    split_ = nullptr;
    key_.clear();
    if (depth_ < kTracked && depth_ > 0) path_.pop_back();
    return true;
  }
  bool Deliver() {
    if (split_->piece) fault = split_->piece(key_, piece_.root());
    piece_.Clear();
    key_.clear();
    return fault.ok();
  }

  JsonTape& whole_;
  const std::vector<JsonSplit>& splits_;
  JsonTape piece_;
  std::vector<std::string> path_;  // keys of the open containers but the root
  std::string key_;
  const JsonSplit* split_ = nullptr;
  int depth_ = 0, split_depth_ = 0;
};

}  // namespace

Result<JsonTape> ParseJson(std::string_view text, const std::string& name,
                           const std::vector<JsonSplit>& splits, JsonNumbers numbers) {
  if (text.size() > std::numeric_limits<uint32_t>::max()) {
    return Unsupported(fmt::format("{}: {} bytes of JSON (4 GiB are read)", name, text.size()));
  }
  JsonTape whole;
  Handler handler(whole, splits);
  rapidjson::MemoryStream memory(text.data(), text.size());
  rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> stream(memory);
  rapidjson::Reader reader;
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag |
                              rapidjson::kParseValidateEncodingFlag;
  constexpr unsigned kPythonFlags = kFlags | rapidjson::kParseNanAndInfFlag;
  rapidjson::ParseResult result = numbers == JsonNumbers::kPython
                                      ? reader.Parse<kPythonFlags>(stream, handler)
                                      : reader.Parse<kFlags>(stream, handler);
  if (!handler.fault.ok()) {
    Error error = std::move(handler.fault.error());
    error.message = fmt::format("{}: {}", name, error.message);
    return error;
  }
  if (result.IsError()) {
    return BadInput(fmt::format("{}: is not JSON: {} (at byte {})", name,
                                rapidjson::GetParseError_En(result.Code()), result.Offset()));
  }
  if (stream.Tell() < text.size()) {
    return BadInput(fmt::format("{}: is not JSON: a zero byte at byte {}", name, stream.Tell()));
  }
  return whole;
}

}  // namespace palimpsest::importing
