// Lines and tokens of graph texts. Part of text.h's reader.
//
// A *line* is a line of the file without its log prefix
//   I1130 23:14:57.525000 16289 torch/...py:411] [0/0] [__aot_graphs] LINE
// A statement is one line, or several while a bracket is open.
#pragma once

#include <string>
#include <string_view>

#include "palimpsest/result.h"

namespace palimpsest::ir {

struct Line {
  std::string_view text;  // without prefix, indentation and trailing spaces
  size_t indent = 0;      // spaces before `text`, without the prefix
  int number = 0;         // from 1
  bool has_prefix = false;
};

class LineReader {
 public:
  LineReader(std::string_view text, std::string_view file_name) : text_(text), file_(file_name) {}

  // False at the end of the file.
  bool Next(Line* line);
  // The error of `message` at a place in the file: "FILE:LINE:COL", and the line with a caret.
  Error At(const char* place, std::string_view message) const;
  // The same text around an error that is known by its message only.
  Error At(const char* place, Error error) const;

 private:
  std::string_view text_, file_;
  size_t pos_ = 0;
  int number_ = 0;
};

struct Token {
  enum class Kind : uint8_t {
    kName,    // identifier, dots included: "x", "torch.ops.aten.add.Tensor"
    kNumber,  // without sign
    kString,  // with its quotes
    kPunct,   // one operator or bracket
    kEnd,     // of the statement
    kBad,     // a character or string that begins no token
  };
  Kind kind = Kind::kEnd;
  std::string_view text;
  bool Is(std::string_view punct) const { return kind == Kind::kPunct && text == punct; }
  bool IsName() const { return kind == Kind::kName; }
};

// The tokens of one statement. Reads further lines while a bracket is open.
class Lexer {
 public:
  Lexer(LineReader& lines, std::string_view rest_of_line);

  const Token& Peek() const { return token_; }
  Token Next();
  bool Accept(std::string_view punct);
  Status Expect(std::string_view punct);
  Error Expected(std::string_view what) const;
  // Does the character `next` follow the token in front (but not "==")?
  bool IsFollowedBy(char next) const;
  Error At(const Token& token, std::string_view message) const {
    return lines_.At(token.text.data(), message);
  }
  Error At(const Token& token, Error error) const {
    return lines_.At(token.text.data(), std::move(error));
  }

 private:
  void Advance();
  void ReadToken();
  bool ReadString();

  LineReader& lines_;
  std::string_view rest_;
  int depth_ = 0;  // open brackets
  Token token_;
};

}  // namespace palimpsest::ir
