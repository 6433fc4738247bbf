#include "ir/text_type.h"

#include <fmt/format.h>

#include "base/scanner.h"
#include "ir/text.h"

namespace palimpsest::ir {
namespace {

// Reads "[a, b]" at the front of `*text`; sizes are infix expressions, which may hold commas in
// parentheses.
Result<std::vector<SymInt>> ParseDims(std::string_view* text) {
  std::vector<SymInt> dims;
  size_t begin = 1, depth = 0;
  for (size_t i = 0; i < text->size(); ++i) {
    char c = (*text)[i];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    bool last = depth == 0;
    if (!last && !(c == ',' && depth == 1)) continue;
    std::string_view item = text->substr(begin, i - begin);
    begin = i + 1;
    if (last && dims.empty() && item.find_first_not_of(' ') == std::string_view::npos) {
      text->remove_prefix(i + 1);
      return dims;
    }
    Result<SymInt> dim = ParseInfix(item);
    if (!dim.ok()) return BadInput(fmt::format("'{}' is no size", item));
    dims.push_back(*std::move(dim));
    if (last) {
      text->remove_prefix(i + 1);
      return dims;
    }
  }
  return BadInput("expected ']' in the type");
}

Error ExpectedType(std::string_view text) {
  return BadInput(
      fmt::format("'{}' is no type; write for example \"f32[4, 3][3, 1]\" or \"Sym(s0)\"", text));
}

Result<Type> ParseTensorType(std::string_view text) {
  size_t bracket = text.find('[');
  std::string_view name = text.substr(0, bracket);
  std::optional<DType> dtype = DTypeFromName(name);
  if (!dtype) {
    Scanner word(name);
    if (name.empty() || word.Ident().size() != name.size()) return ExpectedType(text);
    return Unsupported(fmt::format(
        "the element type '{}' is not supported; the types are b8 u8 i8 i16 i32 i64 f16 bf16 f32 "
        "f64 c64 c128",
        name));
  }
  Type type;
  type.kind = Type::Kind::kTensor;
  type.tensor.dtype = *dtype;
  text.remove_prefix(bracket);
  PAL_TRY(type.tensor.sizes, ParseDims(&text));
  if (text.starts_with('[')) {
    PAL_TRY(type.tensor.strides, ParseDims(&text));
    if (type.tensor.strides->size() != type.tensor.sizes.size()) {
      return BadInput(fmt::format("the type has {} sizes and {} strides", type.tensor.sizes.size(),
                                  type.tensor.strides->size()));
    }
  }
  type.tensor.has_device = !text.empty();
  if (text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789:_ ") != std::string_view::npos) {
    return BadInput(fmt::format("expected a device, such as cpu, instead of '{}'", text));
  }
  return type;
}

std::string DimsText(const std::vector<SymInt>& dims) {
  std::string text = "[";
  for (const SymInt& d : dims) text += (text.size() > 1 ? ", " : "") + d.ToString();
  return text + "]";
}

}  // namespace

Result<Type> ParseType(std::string_view text) {
  Type type;
  if (text == "None" || text == "Number") {
    type.kind = text == "None" ? Type::Kind::kNone : Type::Kind::kNumber;
    return type;
  }
  if (text.starts_with("Sym(") && text.ends_with(")")) {
    type.kind = Type::Kind::kSym;
    PAL_TRY(type.sym, ParseInfix(text.substr(4, text.size() - 5)));
    return type;
  }
  if (text.find('[') == std::string_view::npos) return ExpectedType(text);
  return ParseTensorType(text);
}

std::string PrintType(const Type& type, bool strides) {
  switch (type.kind) {
    case Type::Kind::kUnknown:
    case Type::Kind::kList:
      return "";
    case Type::Kind::kNone:
      return "None";
    case Type::Kind::kNumber:
      return "Number";
    case Type::Kind::kSym:
      return fmt::format("Sym({})", type.sym.ToString());
    case Type::Kind::kTensor:
      break;
  }
  const TensorType& t = type.tensor;
  std::string text = std::string(DTypeName(t.dtype)) + DimsText(t.sizes);
  if (strides && t.strides) text += DimsText(*t.strides);
  if (t.has_device) text += "cpu";
  return text;
}

}  // namespace palimpsest::ir
