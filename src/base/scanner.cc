#include "base/scanner.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>

namespace palimpsest {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsWord(char c) { return IsWordStart(c) || IsDigit(c); }

void AppendUtf8(std::string& out, uint32_t code) {
  auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6));
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3f));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

// Reads `digits` hexadecimal digits at `*pos`.
std::optional<uint32_t> ReadHex(std::string_view body, size_t* pos, size_t digits) {
  if (*pos + digits > body.size()) return std::nullopt;
  uint32_t code = 0;
  const char* first = body.data() + *pos;
  auto [end, error] = std::from_chars(first, first + digits, code, 16);
  if (error != std::errc() || end != first + digits || code > 0x10ffff) return std::nullopt;
  *pos += digits;
  return code;
}

// One escape after the backslash at `*pos`.
bool AppendEscape(std::string_view body, size_t* pos, std::string& out) {
  char c = body[(*pos)++];
  size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (digits != 0) {
    std::optional<uint32_t> code = ReadHex(body, pos, digits);
    if (!code) return false;
    AppendUtf8(out, *code);
    return true;
  }
  switch (c) {
    case 'n':
      out += '\n';
      return true;
    case 't':
      out += '\t';
      return true;
    case 'r':
      out += '\r';
      return true;
    case 'a':
      out += '\a';
      return true;
    case 'b':
      out += '\b';
      return true;
    case 'f':
      out += '\f';
      return true;
    case 'v':
      out += '\v';
      return true;
    case '0':
      out += '\0';
      return true;
    case '\n':
      return true;
    case '\\':
    case '\'':
    case '"':
      out += c;
      return true;
    default:
      out += '\\';
      out += c;
      return true;  // as Python keeps unknown escapes
  }
}

}  // namespace

void Scanner::SkipSpaces() {
  while (pos_ < text_.size() && IsSpace(text_[pos_])) ++pos_;
}

bool Scanner::AtEnd() {
  SkipSpaces();
  return pos_ >= text_.size();
}

char Scanner::Peek() { return AtEnd() ? '\0' : text_[pos_]; }

bool Scanner::Accept(std::string_view token) {
  SkipSpaces();
  if (!rest().starts_with(token)) return false;
  pos_ += token.size();
  return true;
}

bool Scanner::AcceptWord(std::string_view word) {
  size_t before = pos_;
  if (Ident() == word) return true;
  pos_ = before;
  return false;
}

Status Scanner::Expect(std::string_view token) {
  if (Accept(token)) return {};
  return Expected(fmt::format("'{}'", token));
}

std::string_view Scanner::Ident() {
  SkipSpaces();
  size_t begin = pos_;
  if (pos_ < text_.size() && IsWordStart(text_[pos_])) {
    while (pos_ < text_.size() && IsWord(text_[pos_])) ++pos_;
  }
  return text_.substr(begin, pos_ - begin);
}

Result<PythonNumber> Scanner::Number() {
  SkipSpaces();
  size_t begin = pos_;
  bool negative = Accept("-");
  SkipSpaces();
  bool is_integer = false, is_imaginary = false;
  size_t length = NumberLength(rest(), &is_integer, &is_imaginary);
  if (length == 0) {
    Error error = Expected("a number");
    pos_ = begin;
    return error;
  }
  std::string digits = (negative ? "-" : "") + std::string(text_.substr(pos_, length));
  pos_ += length;
  if (is_imaginary) {
    digits.pop_back();
    return PythonNumber(std::complex<double>(0, ParseFloat(digits)));
  }
  if (!is_integer) return PythonNumber(ParseFloat(digits));
  std::optional<int64_t> value = ParseInteger(digits);
  if (!value) return At(begin, "the integer does not fit 64 bits");
  return PythonNumber(*value);
}

Result<std::string> Scanner::Quoted() {
  SkipSpaces();
  if (pos_ >= text_.size() || (text_[pos_] != '\'' && text_[pos_] != '"')) {
    return Expected("a quoted string");
  }
  size_t begin = pos_++;
  while (pos_ < text_.size() && text_[pos_] != text_[begin]) pos_ += text_[pos_] == '\\' ? 2 : 1;
  if (pos_ >= text_.size()) {
    pos_ = text_.size();
    return At(begin, "the string has no end");
  }
  std::optional<std::string> value = UnescapePython(text_.substr(begin + 1, pos_ - begin - 1));
  ++pos_;
  if (!value) return At(begin, "the string has a broken escape");
  return *std::move(value);
}

Error Scanner::Expected(std::string_view what) {
  SkipSpaces();
  std::string found = "the end";
  if (pos_ < text_.size()) {
    size_t n = 1;
    if (IsWord(text_[pos_])) {
      while (pos_ + n < text_.size() && n < 30 && IsWord(text_[pos_ + n])) ++n;
    }
    found = fmt::format("'{}'", text_.substr(pos_, n));
  }
  return At(pos_, fmt::format("expected {} but found {}", what, found));
}

Error Scanner::At(size_t position, std::string_view message) const {
  // Long texts are cut around the column: the caret stays in sight.
  constexpr size_t kBefore = 60, kAfter = 40;
  size_t begin = position > kBefore + 10 ? position - kBefore : 0;
  std::string shown(text_.substr(begin, position - begin + kAfter));
  for (char& c : shown) c = IsSpace(c) ? ' ' : c;
  return BadInput(fmt::format("column {}: {}\n  {}\n  {}^", position + 1, message, shown,
                              std::string(position - begin, ' ')));
}

size_t NumberLength(std::string_view text, bool* is_integer, bool* is_imaginary) {
  size_t n = 0;
  auto digits = [&] {
    size_t begin = n;
    while (n < text.size() && IsDigit(text[n])) ++n;
    return n - begin;
  };
  *is_integer = true;
  *is_imaginary = false;
  size_t count = digits();
  if (n < text.size() && text[n] == '.') {
    ++n;
    count += digits();
    *is_integer = false;
  }
  if (count == 0) return 0;
  if (n < text.size() && (text[n] == 'e' || text[n] == 'E')) {
    size_t before = n++;
    if (n < text.size() && (text[n] == '+' || text[n] == '-')) ++n;
    if (digits() == 0) {
      n = before;
    } else {
      *is_integer = false;
    }
  }
  if (n < text.size() && text[n] == 'j') {
    ++n;
    *is_imaginary = true;
    *is_integer = false;
  }
  return n;
}

std::optional<int64_t> ParseInteger(std::string_view digits) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

double ParseFloat(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    // from_chars leaves the value alone: too large is infinite, too small is zero.
    bool negative = text.starts_with('-');
    size_t e = text.find_first_of("eE");
    bool tiny = e != std::string_view::npos && text.substr(e + 1).starts_with('-');
    double magnitude = tiny ? 0.0 : HUGE_VAL;
    return negative ? -magnitude : magnitude;
  }
  return value;
}

std::optional<std::string> UnescapePython(std::string_view body) {
  std::string out;
  out.reserve(body.size());
  for (size_t i = 0; i < body.size();) {
    if (body[i] != '\\') {
      out += body[i++];
      continue;
    }
    if (++i >= body.size() || !AppendEscape(body, &i, out)) return std::nullopt;
  }
  return out;
}

std::string PythonRepr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  double magnitude = std::fabs(value);
  bool scientific = magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e16);
  auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, value,
                    scientific ? std::chars_format::scientific : std::chars_format::fixed);
  std::string text(buffer, end);
  if (!scientific && text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string PythonRepr(std::complex<double> value) {
  auto part = [](double v) {
    std::string text = PythonRepr(v);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text;
  };
  double re = value.real(), im = value.imag();
  if (re == 0 && !std::signbit(re)) return part(im) + "j";
  bool negative = std::signbit(im) && !std::isnan(im);
  return fmt::format("({}{}{}j)", part(re), negative ? "" : "+", part(im));
}

std::string PythonRepr(std::string_view text) {
  bool has_single = text.find('\'') != std::string_view::npos;
  bool has_double = text.find('"') != std::string_view::npos;
  char quote = has_single && !has_double ? '"' : '\'';
  std::string out(1, quote);
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        if (c == quote) {
          out += '\\';
          out += c;
        } else if (byte < 0x20 || byte == 0x7f) {
          out += fmt::format("\\x{:02x}", byte);
        } else {
          out += c;
        }
    }
  }
  return out + quote;
}

}  // namespace palimpsest
