// Products with few rows: at the speed of memory, where a general matrix product is not.
#pragma once

#include <cstdint>

namespace palimpsest::kernels {

// At most this many rows of `a` are worth it: beyond, the arithmetic costs more than the memory.
inline constexpr int64_t kFewRows = 4;

// c[i][j] = sum over k of a[i][k] * b[k][j], for rows of a and c that are contiguous.
struct FewRowsProduct {
  int64_t m, n, k;  // m <= kFewRows
  const float* a;
  int64_t a_row;
  const float* b;
  // Contiguous along one of its dims: along k (b_row == 1; a transposed weight) or along n.
  int64_t b_row, b_col;
  float* c;
  int64_t c_row;
};
void MultiplyFewRows(const FewRowsProduct& product);

}  // namespace palimpsest::kernels
