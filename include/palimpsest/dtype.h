// Element types, their names ("f32"), sizes in bytes and categories; 16-bit floats.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

namespace palimpsest {

enum class DType : uint8_t {
  kB8,
  kU8,
  kI8,
  kI16,
  kI32,
  kI64,
  kF16,
  kBF16,
  kF32,
  kF64,
  kC64,
  kC128,
};
inline constexpr int kNumDTypes = 12;

// bool < integer < float < complex: the ranks of type promotion.
enum class Category : uint8_t { kBool, kInteger, kFloat, kComplex };

int64_t ItemSize(DType dtype);  // bytes
Category CategoryOf(DType dtype);
std::string_view DTypeName(DType dtype);                         // "f32"
std::string_view TorchName(DType dtype);                         // "float32", as in torch.float32
std::optional<DType> DTypeFromName(std::string_view name);       // "f32"
std::optional<DType> DTypeFromTorchName(std::string_view name);  // "float32", "float", "long", ...
inline bool IsFloating(DType d) { return CategoryOf(d) == Category::kFloat; }
inline bool IsComplex(DType d) { return CategoryOf(d) == Category::kComplex; }
// Integer or bool.
inline bool IsIntegral(DType d) { return CategoryOf(d) <= Category::kInteger; }

// IEEE half and bfloat16 as storage types: arithmetic goes through float, rounding to nearest even.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float value);
  explicit operator float() const;
};
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) {
    uint32_t u = std::bit_cast<uint32_t>(value);
    if ((u & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<uint16_t>((u >> 16) | 0x40);
    } else {
      bits = static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
    }
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

}  // namespace palimpsest
