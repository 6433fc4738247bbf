#include "kernels/matmul_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <dnnl.hpp>
#include <type_traits>

#include "kernels/matmul_few_rows.h"
#include "kernels/packed.h"

namespace palimpsest::kernels {
namespace {

// One product of two matrices in any strides; c's rows are contiguous.
template <typename T>
struct Matrices {
  int64_t m, n, k;
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row, b_col;
  T* c;
};

// Integers wrap: their sums are made without sign.
template <typename T>
using SumType = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;

template <typename T>
void MultiplyByLoop(const Matrices<T>& p) {
  using S = SumType<T>;
  for (int64_t i = 0; i < p.m; ++i) {
    T* c = p.c + i * p.n;
    std::fill(c, c + p.n, T{});
    for (int64_t k = 0; k < p.k; ++k) {
      S a = static_cast<S>(p.a[i * p.a_row + k * p.a_col]);
      const T* b = p.b + k * p.b_row;
      for (int64_t j = 0; j < p.n; ++j) {
        c[j] = static_cast<T>(static_cast<S>(c[j]) + a * static_cast<S>(b[j * p.b_col]));
      }
    }
  }
}

// What a BLAS-like product can read: one stride is 1, the other reaches over a row. A dim of size 1
// has any stride.
struct BlasLayout {
  bool ok = false;
  char transposed = 'N';
  int64_t leading = 1;
};
BlasLayout FindLayout(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride) {
  if (cols == 1 || col_stride == 1) {
    int64_t leading = rows == 1 ? std::max<int64_t>(cols, 1) : row_stride;
    if (leading >= cols && leading > 0) return {true, 'N', leading};
  }
  if (rows == 1 || row_stride == 1) {
    int64_t leading = cols == 1 ? std::max<int64_t>(rows, 1) : col_stride;
    if (leading >= rows && leading > 0) return {true, 'T', leading};
  }
  return {};
}

bool FitsFewRows(const Matrices<float>& p) {
  return p.m <= kFewRows && p.a_col == 1 && (p.b_row == 1 || p.b_col == 1);
}

Status MultiplyFloats(const Matrices<float>& p) {
  if (FitsFewRows(p)) {
    MultiplyFewRows({p.m, p.n, p.k, p.a, p.a_row, p.b, p.b_row, p.b_col, p.c, p.n});
    return {};
  }
  BlasLayout a = FindLayout(p.m, p.k, p.a_row, p.a_col);
  BlasLayout b = FindLayout(p.k, p.n, p.b_row, p.b_col);
  if (!a.ok || !b.ok) return InternalError("a matrix product with operands that are not packed");
  dnnl_status_t status = dnnl_sgemm(a.transposed, b.transposed, p.m, p.n, p.k, 1.0f, p.a, a.leading,
                                    p.b, b.leading, 0.0f, p.c, p.n);
  if (status == dnnl_success) return {};
  return RuntimeFailure(
      fmt::format("oneDNN's matrix product of [{}, {}] and [{}, {}] failed (status {})", p.m, p.k,
                  p.k, p.n, static_cast<int>(status)));
}

template <typename T>
Status MultiplyOne(const Matrices<T>& p) {
  if (p.m == 0 || p.n == 0) return {};
  if constexpr (std::is_same_v<T, float>) {
    if (p.k > 0) return MultiplyFloats(p);
  }
  MultiplyByLoop(p);
  return {};
}

template <typename T>
Matrices<T> MatricesOf(const Tensor& a, const Tensor& b, const Tensor& c) {
  size_t ra = a.dim(), rb = b.dim(), rc = c.dim();
  return {c.sizes[rc - 2],   c.sizes[rc - 1],   a.sizes[ra - 1], a.data_as<T>(),
          a.strides[ra - 2], a.strides[ra - 1], b.data_as<T>(),  b.strides[rb - 2],
          b.strides[rb - 1], c.data_as<T>()};
}

// Offset of the batch that `index` (row-major over c's leading dims) names, by a's strides.
int64_t BatchOffset(const Tensor& x, const Tensor& c, int64_t index) {
  int64_t offset = 0;
  size_t missing = c.dim() - x.dim();
  for (size_t d = c.dim() - 2; d-- > 0;) {
    int64_t i = index % c.sizes[d];
    index /= c.sizes[d];
    if (d >= missing && x.sizes[d - missing] != 1) offset += i * x.strides[d - missing];
  }
  return offset;
}

template <typename T>
Status MultiplyBatches(const Tensor& a, const Tensor& b, const Tensor& c) {
  Matrices<T> first = MatricesOf<T>(a, b, c);
  int64_t batches = 1;
  for (size_t d = 0; d + 2 < c.dim(); ++d) batches *= c.sizes[d];
  for (int64_t i = 0; i < batches; ++i) {
    Matrices<T> one = first;
    one.a += BatchOffset(a, c, i);
    one.b += BatchOffset(b, c, i);
    one.c += i * first.m * first.n;
    PAL_TRY(MultiplyOne(one));
  }
  return {};
}

// [..., M, K] -> [... * M, K] where the leading dims lie like one.
bool FoldRows(Tensor& a) {
  size_t last = a.dim() - 1;
  int64_t rows = a.sizes[last - 1];
  int64_t stride = a.strides[last - 1];
  for (size_t d = last - 1; d-- > 0;) {
    if (a.sizes[d] != 1 && rows != 1 && a.strides[d] != stride * rows) return false;
    if (rows == 1) stride = a.strides[d];
    rows *= a.sizes[d];
  }
  a = Rearranged(a, {rows, a.sizes[last]}, {stride, a.strides[last]}, a.offset);
  return true;
}

Result<Tensor> Readable(const Tensor& x) {
  size_t r = x.dim();
  bool ok = FindLayout(x.sizes[r - 2], x.sizes[r - 1], x.strides[r - 2], x.strides[r - 1]).ok;
  return ok ? x : Packed(x, x.dtype);
}

}  // namespace

Status MultiplyMatrices(const Tensor& a_in, const Tensor& b_in, const Tensor& c_in) {
  Tensor a = a_in, b = b_in, c = c_in;
  if (c.numel() == 0) return {};
  // One matrix for all batches: one product with more rows.
  if (b.dim() == 2 && a.dim() == c.dim() && a.dim() > 2) {
    if (!FoldRows(a)) {
      PAL_TRY(a, Packed(a, a.dtype));
      FoldRows(a);
    }
    FoldRows(c);
  }
  if (c.dtype == DType::kF32) {
    PAL_TRY(a, Readable(a));
    PAL_TRY(b, Readable(b));
  }
  switch (c.dtype) {
    case DType::kF32:
      return MultiplyBatches<float>(a, b, c);
    case DType::kF64:
      return MultiplyBatches<double>(a, b, c);
    case DType::kI64:
      return MultiplyBatches<int64_t>(a, b, c);
    case DType::kC64:
      return MultiplyBatches<std::complex<float>>(a, b, c);
    case DType::kC128:
      return MultiplyBatches<std::complex<double>>(a, b, c);
    default:
      return InternalError("matrix products are computed in another type");
  }
}

}  // namespace palimpsest::kernels
