// Case files: JSON values and files with one value per line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/result.h"
#include "palimpsest/tensor.h"

namespace cases {

// A JSON value. Reading one as another kind than it is, or an absent key, stops the program: cases
// are our own files.
class Json {
 public:
  enum class Kind : uint8_t { kNull, kBool, kInt, kDouble, kString, kArray, kObject };

  Json() = default;
  explicit Json(Kind kind) : kind_(kind) {}
  explicit Json(bool v) : kind_(Kind::kBool), int_(v ? 1 : 0) {}
  explicit Json(int64_t v) : kind_(Kind::kInt), int_(v), double_(static_cast<double>(v)) {}
  explicit Json(double v) : kind_(Kind::kDouble), double_(v) {}
  explicit Json(std::string v) : kind_(Kind::kString), text_(std::move(v)) {}

  bool IsNull() const { return kind_ == Kind::kNull; }
  bool IsBool() const { return kind_ == Kind::kBool; }
  bool IsInt() const { return kind_ == Kind::kInt; }
  bool IsString() const { return kind_ == Kind::kString; }
  bool IsArray() const { return kind_ == Kind::kArray; }

  bool Bool() const { return Of(Kind::kBool).int_ != 0; }
  int64_t Int() const { return Of(Kind::kInt).int_; }
  size_t Index() const { return static_cast<size_t>(Int()); }
  // Any number, or "nan", "inf", "-inf".
  double Double() const;
  const std::string& Text() const { return Of(Kind::kString).text_; }
  const std::vector<Json>& items() const { return Of(Kind::kArray).items_; }
  // Of an object: its keys, and the values in the same order.
  const std::vector<std::string>& keys() const { return Of(Kind::kObject).keys_; }
  const Json& value(size_t i) const { return items_.at(i); }
  size_t size() const { return items().size(); }
  const Json& operator[](size_t i) const { return items().at(i); }
  const Json& operator[](int i) const { return items().at(static_cast<size_t>(i)); }
  const Json& operator[](const char* key) const;
  // nullptr if the key is absent.
  const Json* Find(std::string_view key) const;
  bool Has(std::string_view key) const { return Find(key) != nullptr; }
  // A list of integers.
  palimpsest::Dims Dims() const;

 private:
  friend class JsonBuilder;
  const Json& Of(Kind kind) const;

  Kind kind_ = Kind::kNull;
  int64_t int_ = 0;
  double double_ = 0;
  std::string text_;
  std::vector<Json> items_;
  std::vector<std::string> keys_;
};

// Errors: no such file, no JSON.
palimpsest::Result<Json> ParseJson(std::string_view text);
palimpsest::Result<Json> LoadJson(const std::string& path);
palimpsest::Result<std::vector<Json>> LoadJsonLines(const std::string& path);
palimpsest::Result<std::string> ReadFile(const std::string& path);

}  // namespace cases
