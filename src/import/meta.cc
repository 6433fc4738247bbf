#include "import/meta.h"

#include <fmt/format.h>

#include "import/archive.h"

namespace palimpsest::importing {
namespace {

struct TypeCode {
  int64_t code;
  const char* name;
  std::optional<DType> dtype;
};
constexpr TypeCode kTypes[] = {
    {1, "uint8", DType::kU8},
    {2, "int8", DType::kI8},
    {3, "int16", DType::kI16},
    {4, "int32", DType::kI32},
    {5, "int64", DType::kI64},
    {6, "float16", DType::kF16},
    {7, "float32", DType::kF32},
    {8, "float64", DType::kF64},
    {9, "complex32", {}},
    {10, "complex64", DType::kC64},
    {11, "complex128", DType::kC128},
    {12, "bool", DType::kB8},
    {13, "bfloat16", DType::kBF16},
    {28, "uint16", {}},
    {29, "float8_e4m3fn", {}},
    {30, "float8_e5m2", {}},
    {31, "float8_e4m3fnuz", {}},
    {32, "float8_e5m2fnuz", {}},
    {33, "float8_e8m0fnu", {}},
    {34, "uint32", {}},
    {35, "uint64", {}},
};

// An expression without symbols is its value.
Result<SymInt> Folded(Result<SymInt> expr) {
  if (!expr.ok() || expr->IsConstant() || !SymbolsOf(*expr).empty()) return expr;
  PAL_TRY(SymNumber value, Evaluate(*expr, {}));
  if (value.kind == SymNumber::Kind::kFloat) return expr;
  return SymInt(value.i);
}

Result<std::vector<SymInt>> ReadSymInts(MetaReader& reader, Json list, const char* what) {
  if (!list.IsArray()) return BadInput(fmt::format("{} is no list", what));
  std::vector<SymInt> result;
  result.reserve(list.size());
  PAL_TRY(list.ForEach([&](Json item) -> Status {
    PAL_TRY(SymInt value, reader.ReadSymInt(item));
    result.push_back(std::move(value));
    return {};
  }));
  return result;
}

}  // namespace

Result<DType> DTypeOfCode(Json code) {
  std::optional<int64_t> number = code.AsInt();
  if (!number) return BadInput("an element type that is no number");
  for (const TypeCode& type : kTypes) {
    if (type.code != *number) continue;
    if (type.dtype) return *type.dtype;
    return Unsupported(fmt::format("element type {}", type.name));
  }
  return BadInput(fmt::format("unknown element type {}", *number));
}

Result<MemoryFormat> MemoryFormatOfCode(Json code) {
  switch (code.AsInt().value_or(0)) {
    case 1:
      return MemoryFormat::kContiguous;
    case 2:
      return MemoryFormat::kChannelsLast;
    case 3:
      return MemoryFormat::kChannelsLast3d;
    case 4:
      return MemoryFormat::kPreserve;
    default:
      return BadInput("unknown memory format");
  }
}

LayoutKind LayoutOfCode(Json code) {
  return code.AsInt() == 7 ? LayoutKind::kStrided : LayoutKind::kOther;
}

Result<SymInt> MetaReader::ReadSymInt(Json value) {
  if (auto number = value["as_int"].AsInt()) return SymInt(*number);
  if (auto flag = value["as_bool"].AsBool()) return SymInt(*flag ? 1 : 0);
  std::optional<std::string_view> text = value["as_expr"]["expr_str"].AsString();
  if (!text) return BadInput("a size that is neither a number nor an expression");
  auto [it, is_new] = expressions_.try_emplace(std::string(*text));
  if (is_new) {
    Result<SymInt> expr = Folded(ParseSrepr(*text));
    if (!expr.ok()) {
      expressions_.erase(it);
      Error error = std::move(expr).error();
      // The parser's caret lines are for texts that the user can see.
      error.message = fmt::format("expression '{}': {}", Shown(*text),
                                  error.message.substr(0, error.message.find('\n')));
      return error;
    }
    it->second = std::move(*expr);
  }
  return it->second;
}

Result<ir::TensorType> MetaReader::ReadTensor(Json meta) {
  if (!meta.IsObject()) return BadInput("a description that is no object");
  ir::TensorType type;
  PAL_TRY(type.dtype, DTypeOfCode(meta["dtype"]));
  PAL_TRY(type.sizes, ReadSymInts(*this, meta["sizes"], "sizes"));
  PAL_TRY(type.strides, ReadSymInts(*this, meta["strides"], "strides"));
  type.has_device = meta["device"]["type"].AsString() == "cpu";
  if (type.sizes.size() != type.strides->size()) {
    return BadInput(
        fmt::format("{} sizes and {} strides", type.sizes.size(), type.strides->size()));
  }
  return type;
}

Result<int64_t> ReadPlainInt(Json value, const std::string& what) {
  if (auto number = value["as_int"].AsInt()) return *number;
  return BadInput(fmt::format("{} is no plain integer", what));
}

Result<Dims> ReadPlainInts(Json list, const std::string& what) {
  if (!list.IsArray()) return BadInput(fmt::format("{} is no list", what));
  Dims dims;
  PAL_TRY(list.ForEach([&](Json item) -> Status {
    PAL_TRY(int64_t n, ReadPlainInt(item, what));
    dims.push_back(n);
    return {};
  }));
  return dims;
}

}  // namespace palimpsest::importing
