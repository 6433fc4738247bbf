// sum, mean, prod, nansum, count_nonzero.
//
// Note [Pairwise sums]
// Floats are added in blocks of 128 with eight partial sums; the blocks' sums are joined like the
// digits of a binary counter: the error grows with the logarithm of the length, not with the
// length.
#include <fmt/format.h>

#include <array>
#include <complex>
#include <type_traits>

#include "kernels/reduce.h"
#include "kernels/reduce_row.h"

namespace palimpsest::kernels {
namespace {

template <typename T>
T SumBlock(const T* x, int64_t n) {
  constexpr int64_t kLanes = 8;
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] += x[i + k];
  }
  T sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
          ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  for (; i < n; ++i) sum += x[i];
  return sum;
}

// Joins sums of blocks pairwise: level k holds the sum of 2^k blocks.
template <typename T>
class PairwiseSum {
 public:
  void AddBlock(T sum) {
    size_t level = 0;
    for (int64_t c = count_; (c & 1) != 0; c >>= 1) sum += levels_[level++];
    levels_[level] = sum;
    ++count_;
  }
  T Total() const {
    T total = 0;
    size_t level = 0;
    for (int64_t c = count_; c != 0; c >>= 1, ++level) {
      if ((c & 1) != 0) total += levels_[level];
    }
    return total;
  }

 private:
  std::array<T, 64> levels_;
  int64_t count_ = 0;
};

template <typename T>
T Sum(SliceSource& slice) {
  const T* x = nullptr;
  if constexpr (std::is_integral_v<T>) {
    uint64_t sum = 0;  // wraps
    for (int64_t n; (n = slice.Next(&x)) > 0;) {
      for (int64_t i = 0; i < n; ++i) sum += static_cast<uint64_t>(x[i]);
    }
    return static_cast<T>(sum);
  } else {
    constexpr int64_t kBlock = 128;
    PairwiseSum<T> sums;
    for (int64_t n; (n = slice.Next(&x)) > 0;) {
      for (int64_t i = 0; i < n; i += kBlock)
        sums.AddBlock(SumBlock(x + i, std::min(kBlock, n - i)));
    }
    return sums.Total();
  }
}

template <typename T>
void Put(SliceResult* result, T value) {
  *reinterpret_cast<T*>(result->value) = value;
}

template <typename T>
void SumSlice(SliceSource& slice, const ReduceParams&, SliceResult* results) {
  Put(results, Sum<T>(slice));
}
template <typename T>
void MeanSlice(SliceSource& slice, const ReduceParams&, SliceResult* results) {
  T sum = Sum<T>(slice);
  if constexpr (std::is_floating_point_v<T>) {
    Put(results, sum / static_cast<T>(slice.length()));
  } else {
    Put(results, sum / static_cast<typename T::value_type>(slice.length()));
  }
}
template <typename T>
void ProductSlice(SliceSource& slice, const ReduceParams&, SliceResult* results) {
  const T* x = nullptr;
  using A = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
  A product = 1;
  for (int64_t n; (n = slice.Next(&x)) > 0;) {
    for (int64_t i = 0; i < n; ++i) product *= static_cast<A>(x[i]);
  }
  Put(results, static_cast<T>(product));
}
template <typename T>
void NanSumSlice(SliceSource& slice, const ReduceParams&, SliceResult* results) {
  const T* x = nullptr;
  double sum = 0;
  for (int64_t n; (n = slice.Next(&x)) > 0;) {
    for (int64_t i = 0; i < n; ++i) sum += x[i] == x[i] ? static_cast<double>(x[i]) : 0;
  }
  Put(results, static_cast<T>(sum));
}
void CountNonZeroSlice(SliceSource& slice, const ReduceParams&, SliceResult* results) {
  const bool* x = nullptr;
  int64_t count = 0;
  for (int64_t n; (n = slice.Next(&x)) > 0;) {
    for (int64_t i = 0; i < n; ++i) count += x[i] ? 1 : 0;
  }
  Put(results, count);
}

SliceKernel FindSum(DType loop) {
  switch (loop) {
    case DType::kI64:
      return SumSlice<int64_t>;
    case DType::kF32:
      return SumSlice<float>;
    case DType::kF64:
      return SumSlice<double>;
    case DType::kC64:
      return SumSlice<std::complex<float>>;
    case DType::kC128:
      return SumSlice<std::complex<double>>;
    default:
      return nullptr;
  }
}
SliceKernel FindMean(DType loop) {
  switch (loop) {
    case DType::kF32:
      return MeanSlice<float>;
    case DType::kF64:
      return MeanSlice<double>;
    case DType::kC64:
      return MeanSlice<std::complex<float>>;
    case DType::kC128:
      return MeanSlice<std::complex<double>>;
    default:
      return nullptr;
  }
}
SliceKernel FindProduct(DType loop) {
  switch (loop) {
    case DType::kI64:
      return ProductSlice<int64_t>;
    case DType::kF32:
      return ProductSlice<float>;
    case DType::kF64:
      return ProductSlice<double>;
    default:
      return nullptr;
  }
}
SliceKernel FindNanSum(DType loop) {
  switch (loop) {
    case DType::kI64:
      return SumSlice<int64_t>;
    case DType::kF32:
      return NanSumSlice<float>;
    case DType::kF64:
      return NanSumSlice<double>;
    default:
      return nullptr;
  }
}
SliceKernel FindCount(DType) { return CountNonZeroSlice; }

// The type that counts is the given one, else self's: only floats have a mean.
Result<ReduceTypes> MeanTypes(const ReduceArgs& args) {
  DType input = args.dtype().value_or(args.self().dtype);
  if (IsIntegral(input)) {
    return Refused("unsupported_dtype",
                   fmt::format("mean(): could not infer output dtype. {} dtype must be either a "
                               "floating point or complex dtype. Got: {}",
                               args.dtype() ? "Optional" : "Input", TorchName(input)));
  }
  return SumTypes(args);
}
Result<ReduceTypes> CountTypes(const ReduceArgs& args) {
  return ReduceTypes{args.self().dtype, DType::kB8, {DType::kI64, DType::kI64}};
}
DType CountResult(DType) { return DType::kI64; }

}  // namespace

Status RegisterReduceSums(op::OpTable& table) {
  PAL_TRY(RegisterReduceRow(
      table,
      {.schemas = {"aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
                   "aten::sum.out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> "
                   "Tensor(a!)",
                   "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
                   "ScalarType? dtype=None) -> Tensor",
                   "aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, "
                   "ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)"},
       .types = SumTypes,
       .kernel = FindSum}));
  PAL_TRY(RegisterReduceRow(
      table,
      {.schemas =
           {"aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
            "aten::mean.dtype_out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> "
            "Tensor(a!)",
            "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
            "dtype=None) -> Tensor",
            "aten::mean.out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
            "dtype=None, Tensor(a!) out) -> Tensor(a!)"},
       .types = MeanTypes,
       .kernel = FindMean}));
  PAL_TRY(RegisterReduceRow(
      table, {.schemas = {"aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
                          "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, "
                          "ScalarType? dtype=None) -> Tensor",
                          "aten::prod.int_out(Tensor self, int dim, bool keepdim=False, *, "
                          "ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)"},
              .types = SumTypes,
              .kernel = FindProduct}));
  PAL_TRY(RegisterReduceRow(
      table, {.schemas = {"aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, "
                          "ScalarType? dtype=None) -> Tensor"},
              .types = SumTypes,
              .kernel = FindNanSum}));
  return RegisterReduceRow(
      table, {.schemas = {"aten::count_nonzero(Tensor self, int? dim=None) -> Tensor",
                          "aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor"},
              .types = CountTypes,
              .kernel = FindCount,
              .loop_result = CountResult});
}

}  // namespace palimpsest::kernels
