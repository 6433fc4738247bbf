// Operators with lists, optional arguments and new results.
#include "elements.h"
#include "families.h"

namespace caselib {
namespace {

using MaybeTensor = std::optional<Tensor>;
using Tensors = std::vector<Tensor>;

void Bump(const Tensor& x, int64_t k) {
  Dispatch(x, [&]<typename T>(T) {
    ForEach(x, x.data<T>(), [&](T& v) { v = Plus(v, static_cast<T>(k)); });
  });
}
// to = to + from, element by element.
void AddInto(const Tensor& to, const Tensor& from) {
  Dispatch(to, [&]<typename T>(T) {
    ForEach(to, to.data<T>(), from, from.data<const T>(), [](T& a, const T& b) { a = Plus(a, b); });
  });
}

void BumpList(const Tensors& xs, int64_t k) {
  for (const Tensor& x : xs) Bump(x, k);
}
void CheckBumpList(const Tensors& xs, int64_t) {
  for (const Tensor& x : xs) RequireType(x);
}

void BumpOptList(const std::optional<Tensors>& xs, int64_t k) {
  if (xs) BumpList(*xs, k);
}
void CheckBumpOptList(const std::optional<Tensors>& xs, int64_t k) {
  if (xs) CheckBumpList(*xs, k);
}

void BumpMaybes(const std::vector<MaybeTensor>& xs, int64_t k) {
  for (const MaybeTensor& x : xs) {
    if (x) Bump(*x, k);
  }
}
void CheckBumpMaybes(const std::vector<MaybeTensor>& xs, int64_t) {
  for (const MaybeTensor& x : xs) {
    if (x) RequireType(*x);
  }
}

void BumpDefault(MaybeTensor x, int64_t k) {
  if (x) Bump(*x, k);
}
void CheckBumpDefault(MaybeTensor x, int64_t) {
  if (x) RequireType(*x);
}

void MaybeAdd(MaybeTensor x, Tensor y, Tensor result) {
  Dispatch(y, [&]<typename T>(T) {
    ForEach(y, y.data<const T>(), result, result.data<T>(),
            [](const T& from, T& to) { to = Plus(from, from); });
  });
  if (x) AddInto(*x, y);
}
NewTensor CheckMaybeAdd(MaybeTensor x, Tensor y) {
  RequireType(y);
  if (x) RequireAlike({*x, y});
  return NewTensor::Like(y);
}

void SplitStats(Tensor x, MaybeTensor acc, Tensor plus, Tensor sum) {
  Dispatch(x, [&]<typename T>(T) {
    ForEach(x, x.data<const T>(), plus, plus.data<T>(),
            [](const T& from, T& to) { to = Plus(from, T{1}); });
    *sum.data<T>() = Total<T>(x);
  });
  if (acc) AddInto(*acc, x);
}
std::vector<NewTensor> CheckSplitStats(Tensor x, MaybeTensor acc) {
  RequireType(x);
  if (acc) RequireAlike({x, *acc});
  return {NewTensor::Like(x), NewTensor(x.dtype(), {})};
}

void TakeSum(Tensor x, Tensor result) {
  Dispatch(x, [&]<typename T>(T) { *result.data<T>() = Total<T>(x); });
}
NewTensor CheckTakeSum(Tensor x) {
  RequireType(x);
  return NewTensor(x.dtype(), {});
}

void OpaqueUpdate(Tensor x, Tensor y) {
  Dispatch(x, [&]<typename T>(T) {
    ForEach(x, x.data<T>(), [](T& v) { v = Plus(v, v); });
    T total = Total<T>(y);
    ForEach(x, x.data<T>(), [&](T& v) { v = Plus(v, total); });
  });
}
void CheckOpaqueUpdate(Tensor x, Tensor y) { RequireSameType({x, y}); }

void GatherSum(Tensor acc, const Tensors& xs) {
  for (const Tensor& x : xs) AddInto(acc, x);
}
void CheckGatherSum(Tensor acc, const Tensors& xs) {
  RequireType(acc);
  for (const Tensor& x : xs) RequireAlike({acc, x});
}

}  // namespace

void DefineOptional(palimpsest::plugin::Library& m) {
  m.def("bump_list(Tensor(a!)[] xs, int k=1) -> ()", BumpList, CheckBumpList);
  m.def("bump_opt_list(Tensor(a!)[]? xs=None, *, int k=1) -> ()", BumpOptList, CheckBumpOptList);
  m.def("bump_maybes(Tensor(a!)?[] xs, int k=1) -> ()", BumpMaybes, CheckBumpMaybes);
  m.def("bump_default(Tensor(a!)? x=None, int k=1) -> ()", BumpDefault, CheckBumpDefault);
  m.def("maybe_add(Tensor(a!)? x, Tensor y) -> Tensor", MaybeAdd, CheckMaybeAdd);
  m.def("split_stats(Tensor x, Tensor(a!)? acc=None) -> (Tensor, Tensor)", SplitStats,
        CheckSplitStats);
  m.def("take_sum(Tensor x) -> Tensor", TakeSum, CheckTakeSum);
  m.def("opaque_update(Tensor(a!) x, Tensor y) -> ()", OpaqueUpdate, CheckOpaqueUpdate);
  m.def("gather_sum(Tensor(a!) acc, Tensor[] xs) -> ()", GatherSum, CheckGatherSum);
}

}  // namespace caselib
