#include "kernels/copy_cast.h"

#include <fmt/format.h>

#include <array>
#include <complex>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

namespace palimpsest::kernels {
namespace {

// The C++ types in the order of DType.
using Types = std::tuple<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, Half, BFloat16, float,
                         double, std::complex<float>, std::complex<double>>;

template <typename T>
inline constexpr bool kIsComplex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
template <typename T>
inline constexpr bool kIsSixteenBit = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

int64_t ToInteger(double x) {
  if (!(x >= -0x1p63 && x < 0x1p63)) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(x);
}

template <typename To, typename From>
To Convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (kIsSixteenBit<From>) {
    return Convert<To>(static_cast<float>(x));
  } else if constexpr (kIsComplex<From> && kIsComplex<To>) {
    using Part = typename To::value_type;
    return To(static_cast<Part>(x.real()), static_cast<Part>(x.imag()));
  } else if constexpr (kIsComplex<From>) {
    if constexpr (std::is_same_v<To, bool>) {
      return x.real() != 0 || x.imag() != 0;
    } else {
      return Convert<To>(x.real());
    }
  } else if constexpr (kIsComplex<To>) {
    return To(static_cast<typename To::value_type>(x), 0);
  } else if constexpr (kIsSixteenBit<To>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return static_cast<To>(ToInteger(static_cast<double>(x)));
  } else {
    return static_cast<To>(x);
  }
}

// A byte of a bool tensor may hold anything (memory that nobody has written, a view of integers).
template <typename T>
T Load(const std::byte* at) {
  if constexpr (std::is_same_v<T, bool>) {
    return *reinterpret_cast<const uint8_t*>(at) != 0;
  } else {
    return *reinterpret_cast<const T*>(at);
  }
}

template <typename To, typename From>
void CastRow(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
             int64_t n) {
  constexpr int64_t kTo = sizeof(To), kFrom = sizeof(From);
  if (to_stride == kTo && from_stride == kFrom) {
    To* d = reinterpret_cast<To*>(to);
    for (int64_t i = 0; i < n; ++i) d[i] = Convert<To>(Load<From>(from + i * kFrom));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    *reinterpret_cast<To*>(to + i * to_stride) = Convert<To>(Load<From>(from + i * from_stride));
  }
}

template <size_t kTo, size_t... kFrom>
constexpr std::array<CastFn, kNumDTypes> CastsTo(std::index_sequence<kFrom...>) {
  return {&CastRow<std::tuple_element_t<kTo, Types>, std::tuple_element_t<kFrom, Types>>...};
}

template <size_t... kTo>
constexpr std::array<std::array<CastFn, kNumDTypes>, kNumDTypes> AllCasts(
    std::index_sequence<kTo...>) {
  return {CastsTo<kTo>(std::make_index_sequence<kNumDTypes>())...};
}

constexpr auto kCasts = AllCasts(std::make_index_sequence<kNumDTypes>());

// Smallest and largest value of an integer type.
std::pair<int64_t, int64_t> IntegerRange(DType dtype) {
  switch (dtype) {
    case DType::kU8:
      return {0, 255};
    case DType::kI8:
      return {-128, 127};
    case DType::kI16:
      return {-32768, 32767};
    case DType::kI32:
      return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    default:
      return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  }
}

double LargestFloat(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 65504.0;
    case DType::kBF16:
      return 0x1.fep127;
    case DType::kF32:
    case DType::kC64:
      return static_cast<double>(std::numeric_limits<float>::max());
    default:
      return std::numeric_limits<double>::max();
  }
}

bool Fits(const Scalar& number, DType dtype) {
  if (dtype == DType::kB8) return true;
  if (!IsIntegral(dtype)) {
    double x = number.AsDouble();
    return !(std::abs(x) > LargestFloat(dtype)) ||
           std::abs(x) == std::numeric_limits<double>::infinity();
  }
  auto [least, most] = IntegerRange(dtype);
  if (number.IsInt()) {
    // PyTorch lets negative numbers into u8, where they wrap.
    if (dtype == DType::kU8 && number.i < 0) return number.i >= -255;
    return number.i >= least && number.i <= most;
  }
  double x = number.AsDouble();
  return x >= static_cast<double>(least) && x <= static_cast<double>(most);
}

}  // namespace

CastFn FindCast(DType to, DType from) {
  return kCasts[static_cast<size_t>(to)][static_cast<size_t>(from)];
}

void StoreNumber(const Scalar& number, DType dtype, std::byte* to) {
  if (number.IsInt()) {
    FindCast(dtype, DType::kI64)(to, 0, reinterpret_cast<const std::byte*>(&number.i), 0, 1);
  } else {
    FindCast(dtype, DType::kC128)(to, 0, reinterpret_cast<const std::byte*>(&number.c), 0, 1);
  }
}

Scalar LoadNumber(DType dtype, const std::byte* from) {
  if (IsIntegral(dtype)) {
    int64_t value = 0;
    FindCast(DType::kI64, dtype)(reinterpret_cast<std::byte*>(&value), 0, from, 0, 1);
    return dtype == DType::kB8 ? Scalar::Bool(value != 0) : Scalar::Int(value);
  }
  std::complex<double> value;
  FindCast(DType::kC128, dtype)(reinterpret_cast<std::byte*>(&value), 0, from, 0, 1);
  return IsComplex(dtype) ? Scalar::Complex(value) : Scalar::Float(value.real());
}

Status CheckFits(const Scalar& number, DType dtype) {
  if (Fits(number, dtype)) return {};
  return Refused(
      "number_out_of_range",
      fmt::format("value cannot be converted to type {} without overflow", TorchName(dtype)));
}

}  // namespace palimpsest::kernels
