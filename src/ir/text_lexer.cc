#include "ir/text_lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/scanner.h"

namespace palimpsest::ir {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsWord(char c) { return IsWordStart(c) || IsDigit(c); }

bool IsDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}

// The length of "I1130 23:14:57.525000 16289 torch/x.py:411] [0/0] [__aot_graphs] "; 0 if there is
// none. torchrun puts "[rank0]:" before it.
size_t PrefixLength(std::string_view line) {
  size_t begin = 0;
  if (line.starts_with("[rank")) {
    size_t colon = line.find("]:");
    if (colon == std::string_view::npos) return 0;
    begin = colon + 2;
  }
  std::string_view rest = line.substr(begin);
  constexpr std::string_view kLevels = "VDIWEC";
  bool starts = rest.size() > 12 && kLevels.find(rest[0]) != std::string_view::npos &&
                IsDigits(rest.substr(1, 4)) && rest[5] == ' ' && IsDigits(rest.substr(6, 2)) &&
                rest[8] == ':';
  if (!starts) return 0;
  size_t end = rest.find("] ");
  size_t colon = rest.rfind(':', end);
  if (end == std::string_view::npos || !IsDigits(rest.substr(colon + 1, end - colon - 1))) {
    // The line may end with the bracket: an empty log line.
    return rest.ends_with(']') && end == std::string_view::npos ? line.size() : 0;
  }
  end += 1;
  while (rest.substr(end).starts_with(" [")) {
    size_t close = rest.find(']', end);
    if (close == std::string_view::npos) break;
    end = close + 1;
  }
  if (end < rest.size() && rest[end] == ' ') ++end;
  return begin + end;
}

// The operators, the longest first.
constexpr std::array<std::string_view, 9> kLongOperators = {
    "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "->"};
constexpr std::string_view kOperators = "()[]{},:;=+-*/%<>&|^~@.";

}  // namespace

bool LineReader::Next(Line* line) {
  if (pos_ >= text_.size()) return false;
  size_t end = std::min(text_.find('\n', pos_), text_.size());
  std::string_view text = text_.substr(pos_, end - pos_);
  pos_ = end + 1;
  line->number = ++number_;
  size_t prefix = PrefixLength(text);
  line->has_prefix = prefix != 0;
  text.remove_prefix(prefix);
  size_t indent = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(indent);
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  line->indent = indent;
  line->text = text;
  return true;
}

Error LineReader::At(const char* place, std::string_view message) const {
  return At(place, BadInput(std::string(message)));
}

Error LineReader::At(const char* place, Error error) const {
  size_t offset = std::min(static_cast<size_t>(place - text_.data()), text_.size());
  size_t begin = offset == 0 ? std::string_view::npos : text_.rfind('\n', offset - 1);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  size_t end = std::min(text_.find('\n', offset), text_.size());
  auto number = std::count(text_.begin(), text_.begin() + static_cast<int64_t>(begin), '\n') + 1;
  size_t column = offset - begin;
  error.place = fmt::format("{}:{}:{}", file_.empty() ? "<text>" : file_, number, column + 1);

  // Long lines are cut around the column.
  constexpr size_t kWidth = 100, kBefore = 60;
  std::string_view line = text_.substr(begin, end - begin);
  size_t cut = line.size() > kWidth && column > kBefore ? column - kBefore : 0;
  std::string shown(line.substr(cut, kWidth));
  std::replace(shown.begin(), shown.end(), '\t', ' ');
  if (!shown.empty() && shown.back() == '\r') shown.pop_back();
  error.message += fmt::format("\n  {}\n  {}^", shown, std::string(column - cut, ' '));
  return error;
}

Lexer::Lexer(LineReader& lines, std::string_view rest_of_line)
    : lines_(lines), rest_(rest_of_line) {
  ReadToken();
}

Token Lexer::Next() {
  Token token = token_;
  Advance();
  return token;
}

void Lexer::Advance() {
  if (token_.kind == Token::Kind::kEnd || token_.kind == Token::Kind::kBad) return;
  ReadToken();
}

bool Lexer::Accept(std::string_view punct) {
  if (!token_.Is(punct)) return false;
  Advance();
  return true;
}

Status Lexer::Expect(std::string_view punct) {
  if (Accept(punct)) return {};
  return Expected(fmt::format("'{}'", punct));
}

Error Lexer::Expected(std::string_view what) const {
  bool is_string = token_.kind == Token::Kind::kBad && (token_.text == "'" || token_.text == "\"");
  if (is_string) return lines_.At(token_.text.data(), "the string has no end");
  std::string found = token_.kind == Token::Kind::kEnd ? "the end of the line"
                      : token_.kind == Token::Kind::kString
                          ? std::string("a string")
                          : fmt::format("'{}'", token_.text.substr(0, 40));
  return lines_.At(token_.text.data(), fmt::format("expected {} but found {}", what, found));
}

bool Lexer::IsFollowedBy(char next) const {
  size_t i = std::min(rest_.find_first_not_of(" \t"), rest_.size());
  return i < rest_.size() && rest_[i] == next && !rest_.substr(i + 1).starts_with('=');
}

// Reads a string with its quotes at the front of rest_.
bool Lexer::ReadString() {
  size_t i = 1;
  while (i < rest_.size() && rest_[i] != rest_[0]) i += rest_[i] == '\\' ? 2 : 1;
  bool closed = i < rest_.size();
  token_ = {closed ? Token::Kind::kString : Token::Kind::kBad, rest_.substr(0, closed ? i + 1 : 1)};
  return closed;
}

void Lexer::ReadToken() {
  while (true) {
    size_t spaces = std::min(rest_.find_first_not_of(" \t"), rest_.size());
    rest_.remove_prefix(spaces);
    if (!rest_.empty() && rest_[0] != '#') break;
    token_ = {Token::Kind::kEnd, rest_.substr(0, 0)};
    Line line;
    if (depth_ == 0 || !lines_.Next(&line)) return;
    rest_ = line.text;
  }
  char c = rest_[0];
  bool is_integer = false, is_imaginary = false;
  if (IsWordStart(c)) {
    size_t n = 1;
    while (n < rest_.size() && (IsWord(rest_[n]) || (rest_[n] == '.' && n + 1 < rest_.size() &&
                                                     IsWordStart(rest_[n + 1])))) {
      ++n;
    }
    token_ = {Token::Kind::kName, rest_.substr(0, n)};
  } else if (size_t n = NumberLength(rest_, &is_integer, &is_imaginary); n > 0) {
    token_ = {Token::Kind::kNumber, rest_.substr(0, n)};
  } else if (c == '\'' || c == '"') {
    ReadString();
  } else {
    auto is_front = [&](std::string_view op) { return rest_.starts_with(op); };
    bool is_long = std::any_of(kLongOperators.begin(), kLongOperators.end(), is_front);
    bool known = is_long || kOperators.find(c) != std::string_view::npos;
    token_ = {known ? Token::Kind::kPunct : Token::Kind::kBad, rest_.substr(0, is_long ? 2 : 1)};
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
  }
  rest_.remove_prefix(token_.text.size());
}

}  // namespace palimpsest::ir
