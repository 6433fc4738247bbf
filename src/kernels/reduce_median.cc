// median: the lower one of the two in the middle, and where it stands. nan wins.
#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/reduce.h"
#include "kernels/reduce_row.h"

namespace palimpsest::kernels {
namespace {

template <typename T>
struct Placed {
  T value;
  int64_t index;
  // nan last; equal values by their place.
  friend bool operator<(const Placed& a, const Placed& b) {
    bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan || b_nan) return a_nan == b_nan ? a.index < b.index : b_nan;
    return a.value != b.value ? a.value < b.value : a.index < b.index;
  }
};

template <typename T>
void MedianSlice(SliceSource& slice, const ReduceParams&, SliceResult* results) {
  std::vector<Placed<T>> elements;
  const T* x = nullptr;
  bool has_nan = false;
  for (int64_t n; (n = slice.Next(&x)) > 0;) {
    for (int64_t i = 0; i < n; ++i) {
      elements.push_back({x[i], static_cast<int64_t>(elements.size())});
      has_nan |= x[i] != x[i];
    }
  }
  Placed<T> median{std::numeric_limits<T>::has_quiet_NaN ? std::numeric_limits<T>::quiet_NaN()
                                                         : std::numeric_limits<T>::min(),
                   0};
  if (has_nan) {
    median = *std::find_if(elements.begin(), elements.end(),
                           [](const Placed<T>& p) { return p.value != p.value; });
  } else if (!elements.empty()) {
    auto middle = elements.begin() + static_cast<int64_t>((elements.size() - 1) / 2);
    std::nth_element(elements.begin(), middle, elements.end());
    median = *middle;
  }
  *reinterpret_cast<T*>(results->value) = median.value;
  results->index = median.index;
}

SliceKernel Find(DType loop) {
  switch (loop) {
    case DType::kI64:
      return MedianSlice<int64_t>;
    case DType::kF32:
      return MedianSlice<float>;
    case DType::kF64:
      return MedianSlice<double>;
    default:
      return nullptr;
  }
}

Result<ReduceTypes> MedianTypes(const ReduceArgs& args) {
  DType self = args.self().dtype;
  if (self == DType::kB8 || IsComplex(self)) {
    return Refused("unsupported_dtype", "median is not implemented for bool and complex tensors");
  }
  return SameTypes(args);
}

}  // namespace

Status RegisterReduceMedian(op::OpTable& table) {
  PAL_TRY(RegisterReduceRow(
      table,
      {.schemas = {"aten::median(Tensor self) -> Tensor"}, .types = MedianTypes, .kernel = Find}));
  return RegisterReduceRow(
      table, {.schemas = {"aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor "
                          "values, Tensor indices)"},
              .types = MedianTypes,
              .kernel = Find,
              .results = 2,
              .index_is_result = {false, true},
              .before = RefuseEmpty});
}

}  // namespace palimpsest::kernels
