// Scanner: reads small texts token by token (schemas, symbolic expressions, comment lines), with
// errors that point at the column. And the notation of Python's numbers and strings.
//
//   Scanner s("int[2] size=1");
//   s.Ident();            // "int"
//   s.Accept("[");        // true
//   s.Expected("a name"); // error with column and caret
//
// Spaces before a token are skipped. Not synchronised.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "palimpsest/result.h"

namespace palimpsest {

// An int, a float or a complex number as Python writes it.
using PythonNumber = std::variant<int64_t, double, std::complex<double>>;

class Scanner {
 public:
  explicit Scanner(std::string_view text, size_t position = 0) : text_(text), pos_(position) {}

  size_t position() const { return pos_; }
  void set_position(size_t position) { pos_ = position; }
  std::string_view text() const { return text_; }
  std::string_view rest() const { return text_.substr(pos_); }

  void SkipSpaces();
  bool AtEnd();                            // nothing but spaces is left
  char Peek();                             // next character that is no space; '\0' at the end
  bool Accept(std::string_view token);     // punctuation; not for words
  bool AcceptWord(std::string_view word);  // a whole identifier
  Status Expect(std::string_view token);
  std::string_view Ident();  // letters, digits, '_'; empty if there is none
  // [-] digits, float, or imaginary "1j"; no expression. kBadInput: not a number, or an integer
  // that does not fit 64 bits.
  Result<PythonNumber> Number();
  // '...' or "..." with Python's escapes.
  Result<std::string> Quoted();

  // "column 7: expected WHAT but found 'x'", the text and a caret line.
  Error Expected(std::string_view what);
  Error At(size_t position, std::string_view message) const;

 private:
  std::string_view text_;
  size_t pos_;
};

// The length of the number that `text` begins with (no sign), 0 if there is none; `is_integer` and
// `is_imaginary` say what it is. Words (inf, nan) are not numbers here.
size_t NumberLength(std::string_view text, bool* is_integer, bool* is_imaginary);
// Decimal digits, as scanned by NumberLength. nullopt: an integer beyond 64 bits.
std::optional<int64_t> ParseInteger(std::string_view digits);
double ParseFloat(std::string_view text);

// Decodes the body of a Python string literal (between the quotes). nullopt: a broken escape.
std::optional<std::string> UnescapePython(std::string_view body);

// As Python's repr: "1e-05", "3.0", "inf"; "(1+2j)"; 'it' or "it's".
std::string PythonRepr(double value);
std::string PythonRepr(std::complex<double> value);
std::string PythonRepr(std::string_view text);

}  // namespace palimpsest
