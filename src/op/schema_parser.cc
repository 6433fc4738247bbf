// Parser of PyTorch's function-schema language, by recursive descent over a Scanner:
//
//   schema  = [ns "::"] name ["." overload] "(" [args] ")" "->" returns
//   args    = item {"," item};  item = type name ["=" default] | "*" | "..."
//   returns = "..." | type [name] | "(" [type [name] {"," type [name]}] ")"
//   type    = base [alias] { "[" [N] "]" | "?" | alias after the first postfix }
//   alias   = "(" sets ["!"] ["->" sets] ")" | "!"
//
// Defaults are stored as the argument's own kind of value: `ScalarType d=float` is an element type,
// `int[2] s=1` is the list [1, 1], a float slot holds a float.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/scanner.h"
#include "op/schema.h"

namespace palimpsest::op {
namespace {

// Types nest in Dict(...), tuples and unions only; nobody needs more.
constexpr int kMaxTypeDepth = 32;

constexpr std::array<std::pair<std::string_view, BaseType>, 14> kBaseTypes = {{
    {"Tensor", BaseType::kTensor},
    {"Scalar", BaseType::kScalar},
    {"number", BaseType::kScalar},
    {"int", BaseType::kInt},
    {"SymInt", BaseType::kSymInt},
    {"float", BaseType::kFloat},
    {"bool", BaseType::kBool},
    {"SymBool", BaseType::kSymBool},
    {"complex", BaseType::kComplex},
    {"str", BaseType::kString},
    {"Device", BaseType::kDevice},
    {"ScalarType", BaseType::kScalarType},
    {"Layout", BaseType::kLayout},
    {"MemoryFormat", BaseType::kMemoryFormat},
}};

// c10's numbers of element types, as defaults may give them.
std::optional<DType> DTypeFromC10(int64_t number) {
  constexpr std::array<int, 16> kTable = {static_cast<int>(DType::kU8),
                                          static_cast<int>(DType::kI8),
                                          static_cast<int>(DType::kI16),
                                          static_cast<int>(DType::kI32),
                                          static_cast<int>(DType::kI64),
                                          static_cast<int>(DType::kF16),
                                          static_cast<int>(DType::kF32),
                                          static_cast<int>(DType::kF64),
                                          -1,
                                          static_cast<int>(DType::kC64),
                                          static_cast<int>(DType::kC128),
                                          static_cast<int>(DType::kB8),
                                          -1,
                                          -1,
                                          -1,
                                          static_cast<int>(DType::kBF16)};
  if (number < 0 || number >= static_cast<int64_t>(kTable.size())) return std::nullopt;
  int value = kTable[static_cast<size_t>(number)];
  return value < 0 ? std::nullopt : std::optional(static_cast<DType>(value));
}

std::optional<MemoryFormat> MemoryFormatFromWord(std::string_view word) {
  if (word == "contiguous_format") return MemoryFormat::kContiguous;
  if (word == "preserve_format") return MemoryFormat::kPreserve;
  if (word == "channels_last") return MemoryFormat::kChannelsLast;
  if (word == "channels_last_3d") return MemoryFormat::kChannelsLast3d;
  return std::nullopt;
}

std::optional<MemoryFormat> MemoryFormatFromC10(int64_t number) {
  constexpr std::array kTable = {MemoryFormat::kContiguous, MemoryFormat::kPreserve,
                                 MemoryFormat::kChannelsLast, MemoryFormat::kChannelsLast3d};
  if (number < 0 || number >= static_cast<int64_t>(kTable.size())) return std::nullopt;
  return kTable[static_cast<size_t>(number)];
}

class Parser {
 public:
  explicit Parser(std::string_view text) : s_(text) {}

  Result<Schema> Parse() {
    PAL_TRY(ParseName());
    PAL_TRY(s_.Expect("("));
    PAL_TRY(ParseArgs());
    PAL_TRY(s_.Expect("->"));
    PAL_TRY(ParseReturns());
    if (!s_.AtEnd()) return s_.Expected("the end of the schema");
    return std::move(schema_);
  }

 private:
  Status ParseName() {
    std::string_view first = s_.Ident();
    if (first.empty()) return s_.Expected("the operator's name");
    schema_.name = first;
    if (s_.Accept("::")) {
      std::string_view name = s_.Ident();
      if (name.empty()) return s_.Expected("the operator's name");
      schema_.ns = first;
      schema_.name = name;
    }
    if (!s_.Accept(".")) return {};
    size_t at = s_.position();
    schema_.overload = s_.Ident();
    if (schema_.overload.empty()) return s_.Expected("the overload's name");
    if (schema_.overload == "default" || schema_.overload.starts_with("__")) {
      return s_.At(at, fmt::format("'{}' cannot be the name of an overload", schema_.overload));
    }
    return {};
  }

  Status ParseArgs() {
    if (s_.Accept(")")) return {};
    bool keyword_only = false, seen_default = false;
    while (true) {
      if (s_.Accept("...")) {
        schema_.vararg = true;
        return s_.Expect(")");
      }
      if (s_.Peek() == '*' && keyword_only) return s_.At(s_.position(), "a second '*'");
      if (s_.Accept("*")) {
        keyword_only = true;
      } else {
        PAL_TRY(ParseArg(keyword_only, &seen_default));
      }
      if (s_.Accept(")")) return {};
      if (!s_.Accept(",")) return s_.Expected("',' or ')'");
    }
  }

  Status ParseArg(bool keyword_only, bool* seen_default) {
    SchemaArg arg;
    arg.keyword_only = keyword_only;
    PAL_TRY(arg.type, ParseType());
    s_.SkipSpaces();
    size_t at = s_.position();
    arg.name = s_.Ident();
    if (arg.name.empty()) return s_.Expected("the argument's name");
    if (schema_.FindArg(arg.name) >= 0) {
      return s_.At(at, fmt::format("a second argument '{}'", arg.name));
    }
    if (s_.Accept("=")) {
      PAL_TRY(arg.default_value, ParseDefault(arg.type));
      *seen_default = true;
    } else if (*seen_default && !keyword_only) {
      return s_.At(at,
                   fmt::format("argument '{}' has no default but follows one that has", arg.name));
    }
    schema_.args.push_back(std::move(arg));
    return {};
  }

  Status ParseReturns() {
    if (s_.Accept("...")) {
      schema_.varret = true;
      return {};
    }
    if (!s_.Accept("(")) return ParseReturn();
    if (s_.Accept(")")) return {};
    while (true) {
      if (s_.Accept("...")) {
        schema_.varret = true;
        return s_.Expect(")");
      }
      PAL_TRY(ParseReturn());
      if (s_.Accept(")")) return {};
      if (!s_.Accept(",")) return s_.Expected("',' or ')'");
    }
  }

  Status ParseReturn() {
    SchemaArg result;
    PAL_TRY(result.type, ParseType());
    result.name = s_.Ident();
    schema_.returns.push_back(std::move(result));
    return {};
  }

  Result<SchemaType> ParseType() {
    SchemaType type;
    PAL_TRY(ParseBase(type));
    while (true) {
      char c = s_.Peek();
      if ((c == '(' || c == '!') && TakesAlias(type)) {
        PAL_TRY(ParseAlias(type));
      } else if (s_.Accept("?")) {
        if (type.IsOptional()) return s_.At(s_.position() - 1, "a second '?'");
        type.postfixes.push_back(SchemaType::Postfix::kOptional);
      } else if (c == '[') {
        PAL_TRY(ParseListMark(type));
      } else {
        return type;
      }
      if (type.postfixes.size() > kMaxTypeDepth) return s_.At(s_.position(), "too many '[]'");
    }
  }

  Status ParseListMark(SchemaType& type) {
    PAL_TRY(s_.Expect("["));
    type.postfixes.push_back(SchemaType::Postfix::kList);
    if (s_.Accept("]")) return {};
    s_.SkipSpaces();
    size_t at = s_.position();
    PAL_TRY(PythonNumber number, s_.Number());
    const int64_t* size = std::get_if<int64_t>(&number);
    if (size == nullptr || *size < 0 || *size > 64) {
      return s_.At(at, "expected a number of elements from 0 to 64");
    }
    type.list_size = *size;
    return s_.Expect("]");
  }

  Status ParseBase(SchemaType& type) {
    s_.SkipSpaces();
    size_t begin = s_.position();
    if (s_.Peek() == '(') {
      PAL_TRY(SkipTypeList());
      type.other = s_.text().substr(begin, s_.position() - begin);
      return {};
    }
    std::string_view word = s_.Ident();
    if (word.empty()) return s_.Expected("a type");
    for (const auto& [name, base] : kBaseTypes) {
      if (word != name) continue;
      type.base = base;
      return {};
    }
    if (word == "Generator") {
      type.base = BaseType::kGenerator;
      return {};
    }
    if (word == "double" || word == "int64_t") {
      return s_.At(begin, fmt::format("the type is called '{}' here, not '{}'",
                                      word == "double" ? "float" : "int", word));
    }
    // "__torch__.torch.classes.ns.Cls": names with dots. Dict(K, V), Union(...), Future(T): types.
    size_t end = s_.position();
    while (s_.Accept(".")) {
      if (s_.Ident().empty()) return s_.Expected("a name after '.'");
      end = s_.position();
    }
    bool has_parameters = word == "Dict" || word == "Union" || word == "Future" || word == "RRef" ||
                          word == "Await" || word == "Optional" || word == "List" ||
                          word == "Tuple";
    if (has_parameters) {
      PAL_TRY(SkipTypeList());
      end = s_.position();
    }
    type.other = s_.text().substr(begin, end - begin);
    return {};
  }

  // "(T1, T2)": the types are checked and kept as text.
  Status SkipTypeList() {
    if (++depth_ > kMaxTypeDepth) return s_.At(s_.position(), "types are nested too deeply");
    PAL_TRY(s_.Expect("("));
    do {
      PAL_TRY(SchemaType ignored, ParseType());
    } while (s_.Accept(","));
    --depth_;
    return s_.Expect(")");
  }

  Status ParseAlias(SchemaType& type) {
    AliasInfo alias;
    // "Tensor?(a!)" is another spelling of "Tensor(a!)?".
    alias.postfixes = type.IsList() ? type.postfixes.size() : 0;
    if (s_.Accept("!")) {
      alias.is_write = true;  // a set of its own
    } else {
      PAL_TRY(s_.Expect("("));
      PAL_TRY(alias.before, ParseSets());
      alias.is_write = s_.Accept("!");
      if (s_.Accept("->")) {
        PAL_TRY(alias.after, ParseSets());
      }
      PAL_TRY(s_.Expect(")"));
    }
    (type.alias ? type.list_alias : type.alias) = std::move(alias);
    return {};
  }

  // One annotation of the element, one directly after the first list mark.
  static bool TakesAlias(const SchemaType& type) {
    if (!type.alias) return true;
    bool after_list =
        !type.postfixes.empty() && type.postfixes.back() == SchemaType::Postfix::kList;
    return after_list && !type.list_alias && type.alias->postfixes < type.postfixes.size();
  }

  Result<std::vector<std::string>> ParseSets() {
    std::vector<std::string> sets;
    do {
      if (s_.Accept("*")) {
        sets.emplace_back("*");
        continue;
      }
      std::string_view name = s_.Ident();
      if (name.empty()) return s_.Expected("the name of an alias set or '*'");
      sets.emplace_back(name);
    } while (s_.Accept("|"));
    return sets;
  }

  // ---- defaults

  Result<Value> ParseDefault(const SchemaType& type) {
    s_.SkipSpaces();
    size_t at = s_.position();
    if (s_.AcceptWord("None")) return Value();
    if (!type.IsList()) return ParseAtom(type);
    if (s_.Peek() == '[') return ParseListDefault(type);
    if (!type.list_size) return s_.At(at, "expected a list: only 'T[N]' takes a single value");
    PAL_TRY(Value item, ParseAtom(type));
    return Value(Value::List(static_cast<size_t>(*type.list_size), item));
  }

  Result<Value> ParseListDefault(const SchemaType& type) {
    PAL_TRY(s_.Expect("["));
    Value::List items;
    if (s_.Accept("]")) return Value(std::move(items));
    do {
      if (s_.AcceptWord("None")) {
        items.emplace_back();
        continue;
      }
      PAL_TRY(Value item, ParseAtom(type));
      items.push_back(std::move(item));
    } while (s_.Accept(","));
    PAL_TRY(s_.Expect("]"));
    return Value(std::move(items));
  }

  Result<Value> ParseAtom(const SchemaType& type) {
    char c = s_.Peek();
    if (c == '\'' || c == '"') return ParseQuotedAtom(type);
    size_t at = s_.position();
    std::string_view word = s_.Ident();
    if (!word.empty()) return ParseWord(type, word, at);
    PAL_TRY(PythonNumber number, s_.Number());
    if (auto* f = std::get_if<double>(&number)) return Value(*f);
    if (auto* z = std::get_if<std::complex<double>>(&number)) return Value(*z);
    return FromInteger(type, std::get<int64_t>(number), at);
  }

  Result<Value> ParseQuotedAtom(const SchemaType& type) {
    size_t at = s_.position();
    PAL_TRY(std::string text, s_.Quoted());
    if (type.base != BaseType::kDevice) return Value(std::move(text));
    Device device;
    size_t colon = text.find(':');
    device.type = text.substr(0, colon);
    if (colon != std::string::npos) {
      std::optional<int64_t> index = ParseInteger(std::string_view(text).substr(colon + 1));
      if (!index || *index < 0 || *index > 1023) return s_.At(at, "no such device");
      device.index = static_cast<int>(*index);
    }
    return Value(std::move(device));
  }

  Result<Value> FromInteger(const SchemaType& type, int64_t number, size_t at) {
    switch (type.base) {
      case BaseType::kFloat:
        return Value(static_cast<double>(number));
      case BaseType::kBool:
        return Value(number != 0);
      case BaseType::kLayout:
        return Value(number == 0 ? LayoutKind::kStrided : LayoutKind::kOther);
      case BaseType::kScalarType: {
        std::optional<DType> dtype = DTypeFromC10(number);
        if (!dtype) return s_.At(at, fmt::format("no element type has the number {}", number));
        return Value(*dtype);
      }
      case BaseType::kMemoryFormat: {
        std::optional<MemoryFormat> format = MemoryFormatFromC10(number);
        if (!format) return s_.At(at, fmt::format("no memory format has the number {}", number));
        return Value(*format);
      }
      default:
        return Value(number);
    }
  }

  Result<Value> ParseWord(const SchemaType& type, std::string_view word, size_t at) {
    if (word == "True" || word == "true") return Value(true);
    if (word == "False" || word == "false") return Value(false);
    if (word == "strided") {
      return type.base == BaseType::kLayout ? Value(LayoutKind::kStrided) : Value(0);
    }
    if (word == "Mean") return Value(1);  // at::Reduction
    if (std::optional<MemoryFormat> format = MemoryFormatFromWord(word)) {
      if (type.base == BaseType::kMemoryFormat) return Value(*format);
      return s_.At(at, "a memory format is the default of MemoryFormat arguments only");
    }
    if (type.base == BaseType::kScalarType) {
      if (std::optional<DType> dtype = DTypeFromTorchName(word)) return Value(*dtype);
    }
    return s_.At(at, fmt::format("'{}' is no default value; write a number, a quoted string, "
                                 "True, False, None or a list",
                                 word));
  }

  Scanner s_;
  Schema schema_;
  int depth_ = 0;
};

}  // namespace

Result<Schema> ParseSchema(std::string_view text) { return Parser(text).Parse(); }

}  // namespace palimpsest::op
