// Built on RapidJSON's reader. Its own document class does not compile with recent compilers.
#include "json.h"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

namespace cases {

using palimpsest::BadInput;
using palimpsest::Result;

// Receives the reader's events. Open arrays and objects wait on a stack.
class JsonBuilder {
 public:
  bool Null() { return Add(Json()); }
  bool Bool(bool v) { return Add(Json(v)); }
  bool Int(int v) { return Add(Json(int64_t{v})); }
  bool Uint(unsigned v) { return Add(Json(int64_t{v})); }
  bool Int64(int64_t v) { return Add(Json(v)); }
  bool Uint64(uint64_t v) {
    bool fits = v <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return Add(fits ? Json(static_cast<int64_t>(v)) : Json(static_cast<double>(v)));
  }
  bool Double(double v) { return Add(Json(v)); }
  bool RawNumber(const char*, unsigned, bool) { return false; }
  bool String(const char* s, unsigned n, bool) { return Add(Json(std::string(s, n))); }
  bool Key(const char* s, unsigned n, bool) {
    open_.back().keys_.emplace_back(s, n);
    return true;
  }
  bool StartObject() { return Open(Json::Kind::kObject); }
  bool StartArray() { return Open(Json::Kind::kArray); }
  bool EndObject(unsigned) { return Close(); }
  bool EndArray(unsigned) { return Close(); }
  Json TakeRoot() { return std::move(root_); }

 private:
  bool Open(Json::Kind kind) {
    open_.emplace_back(kind);
    return true;
  }
  bool Close() {
    Json done = std::move(open_.back());
    open_.pop_back();
    return Add(std::move(done));
  }
  bool Add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else {
      open_.back().items_.push_back(std::move(value));
    }
    return true;
  }

  Json root_;
  std::vector<Json> open_;
};

const Json& Json::Of(Kind kind) const {
  if (kind_ != kind) {
    std::fprintf(stderr, "a case holds a JSON value of kind %d, not %d\n", static_cast<int>(kind_),
                 static_cast<int>(kind));
    std::abort();
  }
  return *this;
}

double Json::Double() const {
  if (kind_ == Kind::kBool) return static_cast<double>(int_);
  if (kind_ != Kind::kString) return double_;
  if (text_ == "inf") return std::numeric_limits<double>::infinity();
  if (text_ == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

const Json& Json::operator[](const char* key) const {
  const Json* value = Find(key);
  if (value == nullptr) {
    std::fprintf(stderr, "a case lacks the key '%s'\n", key);
    std::abort();
  }
  return *value;
}

const Json* Json::Find(std::string_view key) const {
  for (size_t i = 0; i < keys().size(); ++i) {
    if (keys_[i] == key) return &items_[i];
  }
  return nullptr;
}

palimpsest::Dims Json::Dims() const {
  palimpsest::Dims dims;
  for (const Json& value : items()) dims.push_back(value.Int());
  return dims;
}

Result<Json> ParseJson(std::string_view text) {
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag |
                              rapidjson::kParseNanAndInfFlag;
  rapidjson::MemoryStream memory(text.data(), text.size());
  rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> stream(memory);
  rapidjson::Reader reader;
  JsonBuilder builder;
  rapidjson::ParseResult result = reader.Parse<kFlags>(stream, builder);
  if (result.IsError()) return BadInput("no JSON at byte " + std::to_string(result.Offset()));
  return builder.TakeRoot();
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return BadInput("cannot read " + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Result<Json> LoadJson(const std::string& path) {
  PAL_TRY(std::string text, ReadFile(path));
  Result<Json> json = ParseJson(text);
  if (!json.ok()) json.error().message = path + ": " + json.error().message;
  return json;
}

Result<std::vector<Json>> LoadJsonLines(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return BadInput("cannot read " + path);
  std::vector<Json> values;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    Result<Json> json = ParseJson(line);
    if (!json.ok()) {
      return BadInput(path + ":" + std::to_string(number) + ": " + json.error().message);
    }
    values.push_back(std::move(json).value());
  }
  return values;
}

}  // namespace cases
