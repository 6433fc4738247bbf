// How an indexed write combines the old element and the value: one loop per type and combination.
#include <algorithm>
#include <complex>
#include <cstring>
#include <type_traits>

#include "kernels/indexing_places.h"

namespace palimpsest::kernels {
namespace {

template <size_t kItem>
void AssignRow(std::byte* const* p, const int64_t* s, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    int64_t place = *reinterpret_cast<const int64_t*>(p[2] + i * s[2]);
    std::memcpy(p[0] + i * s[0] + place, p[1] + i * s[1], kItem);
  }
}

// 16-bit floats are combined in float and rounded.
template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

template <typename W, Combine kCombine>
W Combined(W x, W y) {
  if constexpr (std::is_same_v<W, bool>) {
    return kCombine == Combine::kAdd || kCombine == Combine::kMax ? x || y : x && y;
  } else if constexpr (kCombine == Combine::kAdd) {
    if constexpr (std::is_integral_v<W>) {
      return static_cast<W>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
    } else {
      return x + y;
    }
  } else if constexpr (kCombine == Combine::kMultiply) {
    if constexpr (std::is_integral_v<W>) {
      return static_cast<W>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
    } else {
      return x * y;
    }
  } else if constexpr (kCombine == Combine::kMax) {
    return x != x || x > y ? x : y;  // nan wins
  } else {
    return x != x || x < y ? x : y;
  }
}

template <typename T, Combine kCombine>
void CombineElements(std::byte* const* p, const int64_t* s, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    int64_t place = *reinterpret_cast<const int64_t*>(p[2] + i * s[2]);
    T* to = reinterpret_cast<T*>(p[0] + i * s[0] + place);
    const T& value = *reinterpret_cast<const T*>(p[1] + i * s[1]);
    using W = Wide<T>;
    *to = static_cast<T>(Combined<W, kCombine>(static_cast<W>(*to), static_cast<W>(value)));
  }
}

template <Combine kCombine>
CombineRow FindTyped(DType dtype) {
  constexpr bool kOrders = kCombine == Combine::kMax || kCombine == Combine::kMin;
  switch (dtype) {
    case DType::kB8:
      return CombineElements<bool, kCombine>;
    case DType::kU8:
      return CombineElements<uint8_t, kCombine>;
    case DType::kI8:
      return CombineElements<int8_t, kCombine>;
    case DType::kI16:
      return CombineElements<int16_t, kCombine>;
    case DType::kI32:
      return CombineElements<int32_t, kCombine>;
    case DType::kI64:
      return CombineElements<int64_t, kCombine>;
    case DType::kF16:
      return CombineElements<Half, kCombine>;
    case DType::kBF16:
      return CombineElements<BFloat16, kCombine>;
    case DType::kF32:
      return CombineElements<float, kCombine>;
    case DType::kF64:
      return CombineElements<double, kCombine>;
    case DType::kC64:
      if constexpr (!kOrders) return CombineElements<std::complex<float>, kCombine>;
      return nullptr;
    case DType::kC128:
      if constexpr (!kOrders) return CombineElements<std::complex<double>, kCombine>;
      return nullptr;
  }
  return nullptr;
}

CombineRow FindAssign(int64_t item) {
  switch (item) {
    case 1:
      return AssignRow<1>;
    case 2:
      return AssignRow<2>;
    case 4:
      return AssignRow<4>;
    case 8:
      return AssignRow<8>;
    default:
      return AssignRow<16>;
  }
}

}  // namespace

CombineRow FindCombine(Combine combine, DType dtype) {
  switch (combine) {
    case Combine::kAssign:
      return FindAssign(ItemSize(dtype));
    case Combine::kAdd:
      return FindTyped<Combine::kAdd>(dtype);
    case Combine::kMultiply:
      return FindTyped<Combine::kMultiply>(dtype);
    case Combine::kMax:
      return FindTyped<Combine::kMax>(dtype);
    case Combine::kMin:
      return FindTyped<Combine::kMin>(dtype);
  }
  return nullptr;
}

}  // namespace palimpsest::kernels
