// Registers of this level: their types, partial loads and stores, and the few functions for which
// the vector extensions of the compilers have no operator.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/levels/level.h"
#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace palimpsest::kernels::PAL_LEVEL {

#if defined(__AVX512BW__) && defined(__AVX512VL__)
inline constexpr int64_t kRegister = 64;  // bytes
#elif defined(__AVX2__)
inline constexpr int64_t kRegister = 32;
#else
inline constexpr int64_t kRegister = 16;
#endif

template <typename T, int64_t kBytes>
struct VectorType {
  typedef T Type __attribute__((vector_size(kBytes)));
};
template <typename T>
using RegisterOf = typename VectorType<T, kRegister>::Type;
// Fewer bytes than a register: kLanes elements.
template <typename T, int64_t kLanes>
using SmallRegisterOf = typename VectorType<T, kLanes * int64_t{sizeof(T)}>::Type;

template <size_t kBytes>
using IntOf = std::conditional_t<
    kBytes == 1, int8_t,
    std::conditional_t<kBytes == 2, int16_t, std::conditional_t<kBytes == 4, int32_t, int64_t>>>;

using F32 = RegisterOf<float>;
using I32 = RegisterOf<int32_t>;
using U32 = RegisterOf<uint32_t>;

template <typename V>
inline V Load(const void* at) {
  V v;
  std::memcpy(&v, at, sizeof(V));
  return v;
}
template <typename V>
inline void Store(void* at, const V& v) {
  std::memcpy(at, &v, sizeof(V));
}

// The first `bytes` bytes, fewer than a register has; the others are zero.
template <typename V>
inline V LoadPart(const void* at, int64_t bytes) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  if constexpr (sizeof(V) == 64) {
    return (V)_mm512_maskz_loadu_epi8(_bzhi_u64(~uint64_t{0}, static_cast<unsigned>(bytes)), at);
  } else if constexpr (sizeof(V) == 32) {
    return (V)_mm256_maskz_loadu_epi8(_bzhi_u32(~0u, static_cast<unsigned>(bytes)), at);
  } else if constexpr (sizeof(V) == 16) {
    return (V)_mm_maskz_loadu_epi8(
        static_cast<__mmask16>(_bzhi_u32(~0u, static_cast<unsigned>(bytes))), at);
  }
#endif
  V v{};
  std::memcpy(&v, at, static_cast<size_t>(bytes));
  return v;
}
template <typename V>
inline void StorePart(void* at, const V& v, int64_t bytes) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  if constexpr (sizeof(V) == 64) {
    _mm512_mask_storeu_epi8(at, _bzhi_u64(~uint64_t{0}, static_cast<unsigned>(bytes)), (__m512i)v);
    return;
  } else if constexpr (sizeof(V) == 32) {
    _mm256_mask_storeu_epi8(at, _bzhi_u32(~0u, static_cast<unsigned>(bytes)), (__m256i)v);
    return;
  } else if constexpr (sizeof(V) == 16) {
    _mm_mask_storeu_epi8(at, static_cast<__mmask16>(_bzhi_u32(~0u, static_cast<unsigned>(bytes))),
                         (__m128i)v);
    return;
  }
#endif
  std::memcpy(at, &v, static_cast<size_t>(bytes));
}

// Element by element, where the compiler has nothing better.
template <typename V, class F>
inline V Map(V x, F f) {
  for (size_t i = 0; i < sizeof(V) / sizeof(x[0]); ++i) x[i] = f(x[i]);
  return x;
}

#if defined(__has_builtin)
#if __has_builtin(__builtin_elementwise_sqrt) && __has_builtin(__builtin_elementwise_nearbyint)
#define PAL_ELEMENTWISE 1
#endif
#endif
#ifdef PAL_ELEMENTWISE
template <typename V>
inline V SqrtOf(V x) {
  return __builtin_elementwise_sqrt(x);
}
template <typename V>
inline V FloorOf(V x) {
  return __builtin_elementwise_floor(x);
}
template <typename V>
inline V CeilOf(V x) {
  return __builtin_elementwise_ceil(x);
}
template <typename V>
inline V TruncOf(V x) {
  return __builtin_elementwise_trunc(x);
}
template <typename V>
inline V RoundEvenOf(V x) {
  return __builtin_elementwise_nearbyint(x);
}
#else
template <typename V>
inline V SqrtOf(V x) {
  return Map(x, [](auto a) { return static_cast<decltype(a)>(std::sqrt(a)); });
}
template <typename V>
inline V FloorOf(V x) {
  return Map(x, [](auto a) { return static_cast<decltype(a)>(std::floor(a)); });
}
template <typename V>
inline V CeilOf(V x) {
  return Map(x, [](auto a) { return static_cast<decltype(a)>(std::ceil(a)); });
}
template <typename V>
inline V TruncOf(V x) {
  return Map(x, [](auto a) { return static_cast<decltype(a)>(std::trunc(a)); });
}
template <typename V>
inline V RoundEvenOf(V x) {
  return Map(x, [](auto a) { return static_cast<decltype(a)>(std::nearbyint(a)); });
}
#endif

}  // namespace palimpsest::kernels::PAL_LEVEL
