#include "report/json_text.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>

namespace palimpsest::report {

struct JsonText::Writer {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> json{buffer};
};

JsonText::JsonText() : writer_(std::make_unique<Writer>()) {}
JsonText::~JsonText() = default;

JsonText& JsonText::BeginObject() {
  writer_->json.StartObject();
  return *this;
}
JsonText& JsonText::EndObject() {
  writer_->json.EndObject();
  return *this;
}
JsonText& JsonText::BeginList() {
  writer_->json.StartArray();
  return *this;
}
JsonText& JsonText::EndList() {
  writer_->json.EndArray();
  return *this;
}
JsonText& JsonText::Key(std::string_view key) {
  writer_->json.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
  return *this;
}
JsonText& JsonText::Text(std::string_view value) {
  writer_->json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  return *this;
}
JsonText& JsonText::Number(int64_t value) {
  writer_->json.Int64(value);
  return *this;
}
JsonText& JsonText::Number(double value) {
  if (std::isnan(value)) return Text("nan");
  if (std::isinf(value)) return Text(value > 0 ? "inf" : "-inf");
  writer_->json.Double(value);
  return *this;
}
JsonText& JsonText::Truth(bool value) {
  writer_->json.Bool(value);
  return *this;
}
JsonText& JsonText::Null() {
  writer_->json.Null();
  return *this;
}

std::string JsonText::Take() { return {writer_->buffer.GetString(), writer_->buffer.GetSize()}; }

}  // namespace palimpsest::report
