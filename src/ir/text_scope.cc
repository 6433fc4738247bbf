#include "ir/text_scope.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/scanner.h"

namespace palimpsest::ir {
namespace {

// inf, nan and their imaginary forms, as Python prints them.
std::optional<double> SpecialFloat(std::string_view word) {
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

std::optional<Argument> TorchConstant(std::string_view name) {
  if (std::optional<DType> dtype = DTypeFromTorchName(name)) return Argument(*dtype);
  if (name == "strided") return Argument(LayoutKind::kStrided);
  if (name.starts_with("sparse_") || name == "jagged" || name == "_mkldnn") {
    return Argument(LayoutKind::kOther);
  }
  if (name == "contiguous_format") return Argument(MemoryFormat::kContiguous);
  if (name == "preserve_format") return Argument(MemoryFormat::kPreserve);
  if (name == "channels_last") return Argument(MemoryFormat::kChannelsLast);
  if (name == "channels_last_3d") return Argument(MemoryFormat::kChannelsLast3d);
  return std::nullopt;
}

}  // namespace

Result<std::string> StringOf(const Lexer& lexer, const Token& token) {
  std::string_view body = token.text.substr(1, token.text.size() - 2);
  if (body.find('\\') == std::string_view::npos) return std::string(body);
  std::optional<std::string> text = UnescapePython(body);
  if (!text) return lexer.At(token, "the string has a broken escape");
  return *std::move(text);
}

const op::Op* OperatorNames::Find(const op::OpTable& table, std::string_view target) {
  auto [it, is_new] = found_.emplace(target, nullptr);
  if (is_new) it->second = table.FindTarget(target);
  return it->second;
}

int Scope::SubgraphIndex(std::string_view name) {
  auto [it, is_new] = subgraph_index.emplace(name, static_cast<int>(subgraph_names.size()));
  if (is_new) subgraph_names.push_back(name);
  return it->second;
}

const op::Op* Scope::FindOp(std::string_view target) const {
  return operators->Find(*graph->table(), target);
}

Result<Argument> Scope::ReadArgument(Lexer& lexer, int depth) {
  if (depth > kMaxArgumentDepth) return lexer.At(lexer.Peek(), "lists are nested too deeply");
  const Token& token = lexer.Peek();
  switch (token.kind) {
    case Token::Kind::kName:
      return ReadName(lexer);
    case Token::Kind::kNumber:
      return ReadNumber(lexer, lexer.Next(), false);
    case Token::Kind::kString: {
      PAL_TRY(std::string text, StringOf(lexer, lexer.Next()));
      return Argument(std::move(text));
    }
    case Token::Kind::kPunct:
      break;
    default:
      return lexer.Expected("a value");
  }
  if (lexer.Accept("[")) return ReadItems(lexer, {}, "]", depth);
  if (lexer.Accept("(")) return ReadParenthesis(lexer, depth);
  if (lexer.Accept("{")) return ReadDict(lexer, depth);
  if (lexer.Accept("-")) {
    if (lexer.Peek().kind != Token::Kind::kNumber && !lexer.Peek().IsName()) {
      return lexer.Expected("a number");
    }
    return ReadNumber(lexer, lexer.Next(), true);
  }
  return lexer.Expected("a value");
}

Result<Argument> Scope::ReadName(Lexer& lexer) {
  Token token = lexer.Next();
  auto it = names.find(token.text);
  if (it != names.end()) return Argument(it->second);
  if (token.text == "None") return Argument();
  if (token.text == "True") return Argument(true);
  if (token.text == "False") return Argument(false);
  if (std::optional<double> value = SpecialFloat(token.text)) return Argument(*value);
  if (token.text.starts_with("torch.")) return ReadTorchName(lexer, token);
  if (token.text == "device") return ReadDevice(lexer, token);
  if (token.text == "float" && lexer.Peek().Is("(")) return ReadFloatCall(lexer);
  if (token.text.starts_with("self."))
    return Argument(SubgraphRef{SubgraphIndex(token.text.substr(5))});
  if (token.text == "slice") {
    return lexer.At(token, Unsupported("slices as values are not supported; export the program "
                                       "(torch.export.export) to have torch.ops.aten.slice calls"));
  }
  return lexer.At(token, fmt::format("'{}' is not the name of an earlier value", token.text));
}

Result<Argument> Scope::ReadTorchName(Lexer& lexer, const Token& token) {
  if (token.text == "torch.device") return ReadDevice(lexer, token);
  constexpr std::string_view kOps = "torch.ops.";
  if (token.text.starts_with(kOps)) {
    return Argument(OpRef{std::string(token.text), FindOp(token.text)});
  }
  if (std::optional<Argument> constant = TorchConstant(token.text.substr(6))) return *constant;
  return lexer.At(token, Unsupported(fmt::format("'{}' is no element type, layout or memory format "
                                                 "that is supported",
                                                 token.text)));
}

// device(type='cuda', index=0), after the name.
Result<Argument> Scope::ReadDevice(Lexer& lexer, const Token& token) {
  PAL_TRY(lexer.Expect("("));
  Device device;
  bool has_type = false;
  while (!lexer.Accept(")")) {
    std::string_view key = "type";
    if (lexer.Peek().IsName()) {
      key = lexer.Next().text;
      PAL_TRY(lexer.Expect("="));
    }
    Token value = lexer.Next();
    if (key == "type" && value.kind == Token::Kind::kString) {
      PAL_TRY(device.type, StringOf(lexer, value));
      has_type = true;
    } else if (key == "index" && value.kind == Token::Kind::kNumber) {
      device.index = static_cast<int>(ParseInteger(value.text).value_or(-1) & 0x7fff);
    } else {
      return lexer.At(value, "expected device(type='cpu')");
    }
    if (!lexer.Peek().Is(")")) PAL_TRY(lexer.Expect(","));
  }
  if (!has_type) return lexer.At(token, "expected device(type='cpu')");
  return Argument(std::move(device));
}

// float('inf'), after "float".
Result<Argument> Scope::ReadFloatCall(Lexer& lexer) {
  PAL_TRY(lexer.Expect("("));
  Token token = lexer.Next();
  if (token.kind != Token::Kind::kString) return lexer.At(token, "expected a string");
  PAL_TRY(std::string text, StringOf(lexer, token));
  PAL_TRY(lexer.Expect(")"));
  bool negative = text.starts_with('-');
  std::string_view word = std::string_view(text).substr(negative ? 1 : 0);
  std::optional<double> value = SpecialFloat(word);
  if (!value) return lexer.At(token, "expected 'inf', '-inf' or 'nan'");
  return Argument(negative ? -*value : *value);
}

// A number whose sign has been read. Complex numbers without real part: "2j".
Result<Argument> Scope::ReadNumber(Lexer& lexer, const Token& token, bool negative) {
  if (token.IsName()) {
    std::optional<double> special = SpecialFloat(token.text);
    if (special) return Argument(negative ? -*special : *special);
    if (token.text == "infj" || token.text == "nanj") {
      double part = *SpecialFloat(token.text.substr(0, 3));
      return Argument(std::complex<double>(0, negative ? -part : part));
    }
    return lexer.At(token, "expected a number");
  }
  bool is_integer = false, is_imaginary = false;
  NumberLength(token.text, &is_integer, &is_imaginary);
  std::string digits = (negative ? "-" : "") + std::string(token.text);
  if (is_imaginary) {
    digits.pop_back();
    return Argument(std::complex<double>(0, ParseFloat(digits)));
  }
  if (!is_integer) return Argument(ParseFloat(digits));
  std::optional<int64_t> value = ParseInteger(digits);
  if (!value) return lexer.At(token, "the integer does not fit 64 bits");
  return Argument(*value);
}

// After "(": a tuple, a value in parentheses, or a complex number "(1+2j)".
Result<Argument> Scope::ReadParenthesis(Lexer& lexer, int depth) {
  if (lexer.Accept(")")) return Argument(Argument::List());
  PAL_TRY(Argument first, ReadArgument(lexer, depth + 1));
  bool plus = lexer.Peek().Is("+"), minus = lexer.Peek().Is("-");
  if ((plus || minus) && (first.Is<int64_t>() || first.Is<double>())) {
    lexer.Next();
    double real =
        first.Is<double>() ? first.As<double>() : static_cast<double>(first.As<int64_t>());
    Token token = lexer.Next();
    if (token.kind != Token::Kind::kNumber && !token.IsName()) {
      return lexer.At(token, "expected the imaginary part of a complex number");
    }
    PAL_TRY(Argument imaginary, ReadNumber(lexer, token, minus));
    if (!imaginary.Is<std::complex<double>>()) {
      return lexer.At(token, "expected the imaginary part of a complex number");
    }
    PAL_TRY(lexer.Expect(")"));
    return Argument(std::complex<double>(real, imaginary.As<std::complex<double>>().imag()));
  }
  if (lexer.Accept(")")) return first;
  PAL_TRY(lexer.Expect(","));
  Argument::List items;
  items.push_back(std::move(first));
  return ReadItems(lexer, std::move(items), ")", depth);
}

Result<Argument> Scope::ReadItems(Lexer& lexer, Argument::List items, std::string_view close,
                                  int depth) {
  while (!lexer.Accept(close)) {
    PAL_TRY(Argument item, ReadArgument(lexer, depth + 1));
    items.push_back(std::move(item));
    if (lexer.Accept(",")) continue;
    if (!lexer.Peek().Is(close)) return lexer.Expected(fmt::format("',' or '{}'", close));
  }
  return Argument(std::move(items));
}

Result<Argument> Scope::ReadDict(Lexer& lexer, int depth) {
  Argument::Dict items;
  while (!lexer.Accept("}")) {
    Token key = lexer.Next();
    if (key.kind != Token::Kind::kString) return lexer.At(key, "expected a key in quotes");
    PAL_TRY(std::string name, StringOf(lexer, key));
    PAL_TRY(lexer.Expect(":"));
    PAL_TRY(Argument value, ReadArgument(lexer, depth + 1));
    items.emplace_back(std::move(name), std::move(value));
    if (lexer.Accept(",")) continue;
    if (!lexer.Peek().Is("}")) return lexer.Expected("',' or '}'");
  }
  return Argument(std::move(items));
}

}  // namespace palimpsest::ir
