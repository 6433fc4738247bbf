#include "core/promotion.h"

#include <algorithm>

#include "base/check.h"

namespace palimpsest {
namespace {

DType PromoteIntegers(DType a, DType b) {
  if (a == DType::kU8 || b == DType::kU8) {
    DType other = a == DType::kU8 ? b : a;
    return other == DType::kI8 ? DType::kI16 : other;
  }
  return std::max(a, b);  // i8 < i16 < i32 < i64 in the enum
}

// `high` decides unless `low` has the higher category. Nothing: complex of halves.
std::optional<DType> Combine(DType high, DType low) {
  Category h = CategoryOf(high), l = CategoryOf(low);
  if (h >= l) return high;
  if (h == Category::kFloat) {
    if (high == DType::kF16) return std::nullopt;
    return ComplexType(high);
  }
  return PromoteTypes(high, low);
}

}  // namespace

DType PromoteTypes(DType a, DType b) {
  if (a == b) return a;
  Category ca = CategoryOf(a), cb = CategoryOf(b);
  if (ca == Category::kBool) return b;
  if (cb == Category::kBool) return a;
  if (ca == Category::kComplex || cb == Category::kComplex) {
    auto wide = [](DType d) { return d == DType::kF64 || d == DType::kC128; };
    return wide(a) || wide(b) ? DType::kC128 : DType::kC64;
  }
  if (ca == Category::kInteger && cb == Category::kInteger) return PromoteIntegers(a, b);
  if (ca == Category::kInteger) return b;
  if (cb == Category::kInteger) return a;
  if (std::min(a, b) == DType::kF16 && std::max(a, b) == DType::kBF16) return DType::kF32;
  return std::max(a, b);  // f16, bf16 < f32 < f64 in the enum
}

bool CanCast(DType from, DType to) {
  Category f = CategoryOf(from), t = CategoryOf(to);
  if (f == Category::kComplex && t != Category::kComplex) return false;
  if (f == Category::kFloat && t <= Category::kInteger) return false;
  return t != Category::kBool || f == Category::kBool;
}

DType RealType(DType dtype) {
  if (dtype == DType::kC64) return DType::kF32;
  if (dtype == DType::kC128) return DType::kF64;
  return dtype;
}

DType ComplexType(DType dtype) {
  if (IsComplex(dtype)) return dtype;
  return dtype == DType::kF64 ? DType::kC128 : DType::kC64;
}

void TypePromotion::Add(std::optional<DType>& group, DType dtype) {
  group = group ? PromoteTypes(*group, dtype) : dtype;
}

void TypePromotion::AddNumber(Category category) {
  switch (category) {
    case Category::kBool:
      return Add(numbers_, DType::kB8);
    case Category::kInteger:
      return Add(numbers_, DType::kI64);
    case Category::kFloat:
      return Add(numbers_, kDefaultFloat);
    case Category::kComplex:
      return Add(numbers_, ComplexType(kDefaultFloat));
  }
}

Result<DType> TypePromotion::Get() const {
  std::optional<DType> result = numbers_;
  for (const std::optional<DType>& group : {zero_dim_, dims_}) {
    if (!group) continue;
    if (!result) {
      result = group;
      continue;
    }
    result = Combine(*group, *result);
    if (!result) {
      return Unsupported(
          "f16 with a complex number of lower rank gives complex32, which palimpsest does not "
          "have; "
          "convert the f16 operand to f32 first");
    }
  }
  PAL_CHECK(result.has_value(), "type promotion of nothing");
  return *result;
}

}  // namespace palimpsest
