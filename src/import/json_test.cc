#include "import/json.h"

#include <gtest/gtest.h>

#include <cmath>

namespace palimpsest::importing {
namespace {

// A compact rendering: what was read, not how it was written.
std::string Render(Json value) {
  using Kind = JsonTape::Kind;
  std::string out;
  if (!value.IsThere()) return "-";
  if (value.IsNull()) return "null";
  if (auto b = value.AsBool()) return *b ? "true" : "false";
  if (auto i = value.AsInt()) return std::to_string(*i);
  if (auto s = value.AsString()) return "'" + std::string(*s) + "'";
  if (value.Is(Kind::kDouble)) return "f" + std::to_string(*value.AsDouble());
  if (value.IsArray()) {
    out = "[";
    EXPECT_TRUE(value
                    .ForEach([&](Json item) -> Status {
                      out += Render(item) + " ";
                      return {};
                    })
                    .ok());
    return out + "]";
  }
  out = "{";
  EXPECT_TRUE(value
                  .ForEachMember([&](std::string_view key, Json item) -> Status {
                    out += std::string(key) + ":" + Render(item) + " ";
                    return {};
                  })
                  .ok());
  return out + "}";
}

TEST(Json, Reads) {
  const std::pair<const char*, const char*> cases[] = {
      {"[1, -2, 9223372036854775807, -9223372036854775808]",
       "[1 -2 9223372036854775807 -9223372036854775808 ]"},
      {"[9223372036854775808]", "[f9223372036854775808.000000 ]"},
      {"{\"a\": {\"b\": [true, null]}, \"c\": \"x\\u0041\"}", "{a:{b:[true null ] } c:'xA' }"},
      {"[1.5, 1e3]", "[f1.500000 f1000.000000 ]"},
      {"{}", "{}"},
      {"\"text\"", "'text'"},
  };
  for (const auto& [text, expected] : cases) {
    Result<JsonTape> tape = ParseJson(text, "t");
    ASSERT_TRUE(tape.ok()) << text << ": " << tape.error().message;
    EXPECT_EQ(Render(tape->root()), expected) << text;
  }
}

TEST(Json, NonFiniteNumbersInBothSpellings) {
  Result<JsonTape> tape =
      ParseJson(R"({"a": NaN, "b": -Infinity, "c": "Infinity", "d": "NaN", "e": "inf"})", "t", {},
                JsonNumbers::kPython);
  ASSERT_TRUE(tape.ok());
  Json root = tape->root();
  EXPECT_TRUE(std::isnan(*root["a"].AsDouble()));
  EXPECT_EQ(*root["b"].AsDouble(), -INFINITY);
  EXPECT_EQ(*root["c"].AsDouble(), INFINITY);
  EXPECT_TRUE(std::isnan(*root["d"].AsDouble()));
  EXPECT_FALSE(root["e"].AsDouble().has_value());
  EXPECT_FALSE(root["missing"].IsThere());
  EXPECT_FALSE(root["missing"]["deeper"].AsInt().has_value());
}

TEST(Json, LastOfEqualKeys) {
  Result<JsonTape> tape = ParseJson(R"({"a": 1, "a": [2]})", "t");
  ASSERT_TRUE(tape.ok());
  EXPECT_EQ(Render(tape->root()["a"]), "[2 ]");
}

TEST(Json, Refuses) {
  const std::string deep(100000, '[');
  const std::string cases[] = {"",         "{",          "[1]]",
                               "{'a': 1}", "[Infinity]", "[1" + std::string(400, '0') + "]",
                               "\"\\q\"",  "\"\xff\"",   std::string("[1]\0[2]", 7),
                               deep};
  for (const std::string& text : cases) {
    Result<JsonTape> tape = ParseJson(text, "record 'x'");
    ASSERT_FALSE(tape.ok()) << text;
    EXPECT_EQ(tape.error().kind, ErrorKind::kBadInput);
    EXPECT_TRUE(tape.error().message.starts_with("record 'x': ")) << tape.error().message;
  }
}

TEST(Json, HandsOutPieces) {
  std::string pieces;
  auto note = [&](std::string_view key, Json piece) -> Status {
    pieces += std::string(key) + "=" + Render(piece) + ";";
    return {};
  };
  using Kind = JsonTape::Kind;
  Result<JsonTape> tape =
      ParseJson(R"({"g": {"nodes": [1, {"x": [2]}, "s"], "v": {"a": 1, "b": {"c": []}}, "k": 3},
                    "nodes": [4]})",
                "t", {{{"g", "nodes"}, Kind::kArray, note}, {{"g", "v"}, Kind::kObject, note}});
  ASSERT_TRUE(tape.ok()) << tape.error().message;
  EXPECT_EQ(pieces, "=1;={x:[2 ] };='s';a=1;b={c:[] };");
  EXPECT_EQ(Render(tape->root()), "{g:{nodes:[] v:{} k:3 } nodes:[4 ] }");
}

TEST(Json, PieceOfAnotherKindStaysInTheWhole) {
  Result<JsonTape> tape =
      ParseJson(R"({"nodes": {"a": 1}})", "t", {{{"nodes"}, JsonTape::Kind::kArray, {}}});
  ASSERT_TRUE(tape.ok());
  EXPECT_EQ(Render(tape->root()), "{nodes:{a:1 } }");
}

TEST(Json, AFailingPieceStops) {
  int seen = 0;
  auto fail = [&](std::string_view, Json) -> Status {
    ++seen;
    return BadInput("no");
  };
  Result<JsonTape> tape =
      ParseJson("{\"n\": [1, 2]}", "t", {{{"n"}, JsonTape::Kind::kArray, fail}});
  ASSERT_FALSE(tape.ok());
  EXPECT_EQ(tape.error().message, "t: no");
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace palimpsest::importing
