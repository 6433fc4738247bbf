// JSON as a flat list of tokens, and a reader that hands a large text out in pieces.
//
// A program of a million nodes is 400 MB of text; as a tree it would take gigabytes. So its nodes
// are handed out one by one (JsonSplit), and only the rest is kept. RapidJSON does the scanning,
// with its iterative parser: nesting costs memory, not stack, and is limited.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/result.h"

namespace palimpsest::importing {

class Json;

class JsonTape {
 public:
  enum class Kind : uint8_t { kNull, kBool, kInt, kDouble, kString, kArray, kObject };
  struct Token {
    Kind kind = Kind::kNull;
    uint32_t count = 0;  // elements, members, characters
    uint32_t end = 0;    // containers: the token after the last one inside
    union {
      bool b;
      int64_t i = 0;
      double d;
      uint64_t chars;  // strings: place in chars_
    };
  };

  void Clear();
  bool empty() const { return tokens_.empty(); }
  Json root() const;
  // Events, in the order of the text. Object members are a string (the key) and a value.
  void PutNull();
  void PutBool(bool v);
  void PutInt(int64_t v);
  void PutDouble(double v);
  void PutString(std::string_view v);
  void Open(Kind kind);
  void Close(uint32_t count);

 private:
  friend class Json;
  Token& Put(Kind kind);
  std::vector<Token> tokens_;
  std::vector<uint32_t> open_;
  std::string chars_;
};

// A value on a tape. `Json()` stands for "not there": it is of no kind and has nothing inside.
class Json {
 public:
  using Kind = JsonTape::Kind;
  Json() = default;
  Json(const JsonTape* tape, uint32_t at) : tape_(tape), at_(at) {}

  bool IsThere() const { return tape_ != nullptr; }
  bool Is(Kind kind) const { return IsThere() && token().kind == kind; }
  bool IsNull() const { return Is(Kind::kNull); }
  // Not there and null are the same to every reader of a .pt2.
  bool IsAbsent() const { return !IsThere() || IsNull(); }
  bool IsArray() const { return Is(Kind::kArray); }
  bool IsObject() const { return Is(Kind::kObject); }

  std::optional<bool> AsBool() const;
  std::optional<int64_t> AsInt() const;
  // A number, or one of the strings "NaN", "Infinity", "-Infinity".
  std::optional<double> AsDouble() const;
  std::optional<std::string_view> AsString() const;

  size_t size() const { return IsArray() || IsObject() ? token().count : 0; }
  // The member of this name (the last, as in Python); not there if there is none.
  Json operator[](std::string_view key) const;
  // f(Json) -> Status for each element.
  template <typename F>
  Status ForEach(F&& f) const {
    if (!IsArray()) return {};
    for (uint32_t at = at_ + 1; at < token().end; at = Next(at)) PAL_TRY(f(Json(tape_, at)));
    return {};
  }
  // f(std::string_view key, Json) -> Status for each member.
  template <typename F>
  Status ForEachMember(F&& f) const {
    if (!IsObject()) return {};
    for (uint32_t at = at_ + 1; at < token().end; at = Next(at + 1)) {
      PAL_TRY(f(*Json(tape_, at).AsString(), Json(tape_, at + 1)));
    }
    return {};
  }
  // The first member; a union is an object with exactly one.
  std::optional<std::pair<std::string_view, Json>> OnlyMember() const;

 private:
  const JsonTape::Token& token() const { return tape_->tokens_[at_]; }
  uint32_t Next(uint32_t at) const {
    const JsonTape::Token& t = tape_->tokens_[at];
    return t.kind == Kind::kArray || t.kind == Kind::kObject ? t.end : at + 1;
  }
  const JsonTape* tape_ = nullptr;
  uint32_t at_ = 0;
};

// Deepest nesting that is read: a thousand is more than any program has, and the readers of
// subgraphs may recurse that deep.
inline constexpr int kMaxJsonDepth = 256;

// A container that is handed out piece by piece and left out of the tape.
struct JsonSplit {
  std::vector<std::string> path;  // the keys that lead to it from the root
  JsonTape::Kind kind;            // another kind at that path is read as usual
  // Gets each element (key empty) or member, valid during the call. Empty: pieces are dropped.
  std::function<Status(std::string_view key, Json piece)> piece;
};

enum class JsonNumbers : uint8_t {
  kStrict,
  kPython,  // NaN, Infinity and -Infinity too: PyTorch 2.6 writes them, later versions quote them
};

// `name`: how errors call the text.
Result<JsonTape> ParseJson(std::string_view text, const std::string& name,
                           const std::vector<JsonSplit>& splits = {},
                           JsonNumbers numbers = JsonNumbers::kStrict);

}  // namespace palimpsest::importing
