#include "palimpsest/dtype.h"

#include <array>
#include <utility>

namespace palimpsest {
namespace {

struct Row {
  std::string_view name, torch_name;
  int64_t size;
  Category category;
};
constexpr std::array<Row, kNumDTypes> kRows = {{
    {"b8", "bool", 1, Category::kBool},
    {"u8", "uint8", 1, Category::kInteger},
    {"i8", "int8", 1, Category::kInteger},
    {"i16", "int16", 2, Category::kInteger},
    {"i32", "int32", 4, Category::kInteger},
    {"i64", "int64", 8, Category::kInteger},
    {"f16", "float16", 2, Category::kFloat},
    {"bf16", "bfloat16", 2, Category::kFloat},
    {"f32", "float32", 4, Category::kFloat},
    {"f64", "float64", 8, Category::kFloat},
    {"c64", "complex64", 8, Category::kComplex},
    {"c128", "complex128", 16, Category::kComplex},
}};
constexpr std::pair<std::string_view, DType> kOtherNames[] = {
    {"half", DType::kF16},   {"float", DType::kF32},    {"double", DType::kF64},
    {"short", DType::kI16},  {"int", DType::kI32},      {"long", DType::kI64},
    {"cfloat", DType::kC64}, {"cdouble", DType::kC128},
};
const Row& RowOf(DType dtype) { return kRows[static_cast<size_t>(dtype)]; }

}  // namespace

int64_t ItemSize(DType dtype) { return RowOf(dtype).size; }
Category CategoryOf(DType dtype) { return RowOf(dtype).category; }
std::string_view DTypeName(DType dtype) { return RowOf(dtype).name; }
std::string_view TorchName(DType dtype) { return RowOf(dtype).torch_name; }

std::optional<DType> DTypeFromName(std::string_view name) {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::optional<DType> DTypeFromTorchName(std::string_view name) {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].torch_name == name) return static_cast<DType>(i);
  }
  for (const auto& [other, dtype] : kOtherNames) {
    if (other == name) return dtype;
  }
  return std::nullopt;
}

Half::Half(float value) {
  uint32_t u = std::bit_cast<uint32_t>(value);
  uint16_t sign = static_cast<uint16_t>((u >> 16) & 0x8000u);
  u &= 0x7fffffffu;
  if (u > 0x7f800000u) {
    bits = static_cast<uint16_t>(sign | 0x7e00u);
  } else if (u >= 0x477ff000u) {  // rounds to infinity
    bits = static_cast<uint16_t>(sign | 0x7c00u);
  } else if (u >= 0x38800000u) {  // normal
    uint32_t rounded = u + 0xfffu + ((u >> 13) & 1u);
    bits = static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
  } else {  // subnormal: adding 0.5 leaves the rounded significand in the low bits
    float shifted = std::bit_cast<float>(u) + 0.5f;
    bits = static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) & 0xffffu));
  }
}

Half::operator float() const {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  uint32_t rest = bits & 0x7fffu;
  if (rest >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));
  if (rest >= 0x400u) return std::bit_cast<float>(sign | ((rest << 13) + 0x38000000u));
  float magnitude = static_cast<float>(rest) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

}  // namespace palimpsest
