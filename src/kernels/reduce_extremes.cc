// amax, amin, aminmax, max, min, with and without the place (max.dim), argmax, argmin.
//
// nan wins over everything, the first one if the place is asked for; of equal numbers the first
// wins.
#include <fmt/format.h>

#include "kernels/binary_functions.h"
#include "kernels/reduce.h"
#include "kernels/reduce_row.h"

namespace palimpsest::kernels {
namespace {

// Does x take the place of `best`?
template <bool kMax, typename T>
bool Beats(T x, T best) {
  if (best != best) return false;
  if (x != x) return true;
  return kMax ? x > best : x < best;
}

template <typename T>
void Put(SliceResult* result, T value) {
  *reinterpret_cast<T*>(result->value) = value;
}

template <bool kMax, typename T>
void ExtremeSlice(SliceSource& slice, const ReduceParams&, SliceResult* results) {
  const T* x = nullptr;
  T best = 0;
  int64_t at = 0, where = 0;
  for (int64_t n; (n = slice.Next(&x)) > 0; at += n) {
    if (at == 0) best = x[0];
    for (int64_t i = 0; i < n; ++i) {
      if (Beats<kMax>(x[i], best)) {
        best = x[i];
        where = at + i;
      }
    }
  }
  Put(results, best);
  results->index = where;
}

template <typename T>
void BothSlice(SliceSource& slice, const ReduceParams& params, SliceResult* results) {
  ExtremeSlice<false, T>(slice, params, &results[0]);
  slice.Rewind();
  ExtremeSlice<true, T>(slice, params, &results[1]);
}

template <bool kMax>
SliceKernel FindExtreme(DType loop) {
  switch (loop) {
    case DType::kI64:
      return ExtremeSlice<kMax, int64_t>;
    case DType::kF32:
      return ExtremeSlice<kMax, float>;
    case DType::kF64:
      return ExtremeSlice<kMax, double>;
    default:
      return nullptr;
  }
}
SliceKernel FindBoth(DType loop) {
  switch (loop) {
    case DType::kI64:
      return BothSlice<int64_t>;
    case DType::kF32:
      return BothSlice<float>;
    case DType::kF64:
      return BothSlice<double>;
    default:
      return nullptr;
  }
}

Result<ReduceTypes> OrderedTypes(const ReduceArgs& args) {
  if (IsComplex(args.self().dtype)) {
    return Refused("unsupported_dtype",
                   fmt::format("{} is not defined for complex tensors", args.schema.Key()));
  }
  return SameTypes(args);
}
// The result is converted to out's type.
Result<ReduceTypes> CastTypes(const ReduceArgs& args) {
  DType self = args.self().dtype, out = args.out()->dtype;
  if (IsComplex(self)) return OrderedTypes(args);
  PAL_TRY(RefuseUnsafeOut(args, self));
  return ReduceTypes{self, AccumulatorOf(self), {out, DType::kI64}};
}
Result<ReduceTypes> BothTypes(const ReduceArgs& args) {
  PAL_TRY(ReduceTypes types, OrderedTypes(args));
  types.results[1] = types.results[0];
  return types;
}
Result<ReduceTypes> IndexTypes(const ReduceArgs& args) {
  DType self = args.self().dtype;
  if (IsComplex(self) || self == DType::kB8) {
    return Refused("unsupported_dtype", "argmax and argmin do not support bool or complex tensors");
  }
  PAL_TRY(RefuseOtherOut(args, DType::kI64));
  return ReduceTypes{self, AccumulatorOf(self), {DType::kI64, DType::kI64}};
}

template <bool kMax>
Status RegisterOneSided(op::OpTable& table) {
  const char* name = kMax ? "max" : "min";
  auto form = [&](const char* text) { return fmt::format(fmt::runtime(text), name); };
  PAL_TRY(RegisterReduceRow(
      table,
      {.schemas = {form("aten::a{}(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor"),
                   form("aten::a{}.out(Tensor self, int[1] dim=[], bool keepdim=False, *, "
                        "Tensor(a!) out) -> Tensor(a!)"),
                   form("aten::{}(Tensor self) -> Tensor")},
       .types = OrderedTypes,
       .kernel = FindExtreme<kMax>,
       .before = RefuseEmpty}));
  PAL_TRY(RegisterReduceRow(
      table, {.schemas = {form("aten::{}.unary_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)")},
              .types = CastTypes,
              .kernel = FindExtreme<kMax>,
              .before = RefuseEmpty}));
  PAL_TRY(RegisterReduceRow(
      table, {.schemas = {form("aten::{}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor "
                               "values, Tensor indices)")},
              .types = OrderedTypes,
              .kernel = FindExtreme<kMax>,
              .results = 2,
              .index_is_result = {false, true},
              .before = RefuseEmpty}));
  return RegisterReduceRow(
      table, {.schemas = {form("aten::arg{}(Tensor self, int? dim=None, bool keepdim=False) -> "
                               "Tensor"),
                          form("aten::arg{}.out(Tensor self, int? dim=None, bool keepdim=False, *, "
                               "Tensor(a!) out) -> Tensor(a!)")},
              .types = IndexTypes,
              .kernel = FindExtreme<kMax>,
              .index_is_result = {true, false},
              .before = RefuseEmpty});
}

}  // namespace

Status RegisterReduceExtremes(op::OpTable& table) {
  PAL_TRY(RegisterOneSided<true>(table));
  PAL_TRY(RegisterOneSided<false>(table));
  return RegisterReduceRow(
      table, {.schemas = {"aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> "
                          "(Tensor min, Tensor max)"},
              .types = BothTypes,
              .kernel = FindBoth,
              .results = 2,
              .before = RefuseEmpty});
}

}  // namespace palimpsest::kernels
