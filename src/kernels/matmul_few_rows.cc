// Each element of b is read once and used for all rows of a.
//
// The loops are plain C++ over arrays of 16 partial sums, which compilers turn into vectors; they
// are compiled three times, and the processor at hand chooses.
#include "kernels/matmul_few_rows.h"

#include <algorithm>

namespace palimpsest::kernels {
namespace {

constexpr int64_t kLanes = 16;

// b contiguous along k: every element of c is a dot product of two contiguous rows.
template <int kRows>
[[gnu::always_inline]] inline void DotColumn(const FewRowsProduct& p, int64_t j) {
  const float* b = p.b + j * p.b_col;
  float sums[kRows][kLanes] = {};
  int64_t k = 0;
  for (; k + kLanes <= p.k; k += kLanes) {
    for (int i = 0; i < kRows; ++i) {
      const float* a = p.a + i * p.a_row + k;
      for (int64_t l = 0; l < kLanes; ++l) sums[i][l] += a[l] * b[k + l];
    }
  }
  for (int i = 0; i < kRows; ++i) {
    float* s = sums[i];
    for (int64_t width = kLanes / 2; width > 0; width /= 2) {
      for (int64_t l = 0; l < width; ++l) s[l] += s[l + width];
    }
    float sum = s[0];
    for (int64_t rest = k; rest < p.k; ++rest) sum += p.a[i * p.a_row + rest] * b[rest];
    p.c[i * p.c_row + j] = sum;
  }
}

// b contiguous along n: rows of b, scaled, are added to blocks of c.
template <int kRows>
[[gnu::always_inline]] inline void AddRows(const FewRowsProduct& p, int64_t begin, int64_t n) {
  constexpr int64_t kBlock = 2 * kLanes;
  float sums[kRows][kBlock] = {};
  for (int64_t k = 0; k < p.k; ++k) {
    const float* b = p.b + k * p.b_row + begin;
    for (int i = 0; i < kRows; ++i) {
      float factor = p.a[i * p.a_row + k];
      if (n == kBlock) {
        for (int64_t l = 0; l < kBlock; ++l) sums[i][l] += factor * b[l];
      } else {
        for (int64_t l = 0; l < n; ++l) sums[i][l] += factor * b[l];
      }
    }
  }
  for (int i = 0; i < kRows; ++i) std::copy_n(sums[i], n, p.c + i * p.c_row + begin);
}

template <int kRows>
[[gnu::always_inline]] inline void Multiply(const FewRowsProduct& p) {
  if (p.b_row == 1) {
    for (int64_t j = 0; j < p.n; ++j) DotColumn<kRows>(p, j);
    return;
  }
  for (int64_t j = 0; j < p.n; j += 2 * kLanes) AddRows<kRows>(p, j, std::min(2 * kLanes, p.n - j));
}

[[gnu::always_inline]] inline void MultiplyAny(const FewRowsProduct& p) {
  switch (p.m) {
    case 1:
      return Multiply<1>(p);
    case 2:
      return Multiply<2>(p);
    case 3:
      return Multiply<3>(p);
    default:
      return Multiply<4>(p);
  }
}

void MultiplyPlain(const FewRowsProduct& p) { MultiplyAny(p); }
#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void MultiplyAvx2(const FewRowsProduct& p) { MultiplyAny(p); }
[[gnu::target("avx512f,avx2,fma")]] void MultiplyAvx512(const FewRowsProduct& p) { MultiplyAny(p); }
#endif

using MultiplyFn = void (*)(const FewRowsProduct&);
MultiplyFn Choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return MultiplyAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return MultiplyAvx2;
#endif
  return MultiplyPlain;
}

}  // namespace

void MultiplyFewRows(const FewRowsProduct& product) {
  static const MultiplyFn multiply = Choose();
  multiply(product);
}

}  // namespace palimpsest::kernels
