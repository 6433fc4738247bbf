// Writes JSON text: a thin face of RapidJSON's writer with one call per pair.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace palimpsest::report {

// REQUIRES: Begin and End calls are balanced; inside an object every value has a key.
class JsonText {
 public:
  JsonText();
  ~JsonText();
  JsonText(const JsonText&) = delete;
  JsonText& operator=(const JsonText&) = delete;

  JsonText& BeginObject();
  JsonText& EndObject();
  JsonText& BeginList();
  JsonText& EndList();
  JsonText& Key(std::string_view key);
  JsonText& Text(std::string_view value);
  JsonText& Number(int64_t value);
  // Not a number and infinities become the strings "nan", "inf", "-inf".
  JsonText& Number(double value);
  JsonText& Truth(bool value);
  JsonText& Null();
  std::string Take();

 private:
  struct Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace palimpsest::report
