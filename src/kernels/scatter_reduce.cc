#include "kernels/scatter_reduce.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "kernels/copy.h"
#include "kernels/copy_cast.h"
#include "kernels/views.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {

Result<Reduction> ReductionNamed(const op::Op& op, const std::string& name,
                                 std::string_view allowed) {
  constexpr std::pair<std::string_view, Reduction> kNames[] = {
      {"sum", Reduction::kSum},   {"add", Reduction::kSum},       {"prod", Reduction::kProd},
      {"mean", Reduction::kMean}, {"multiply", Reduction::kProd}, {"amax", Reduction::kMax},
      {"amin", Reduction::kMin}};
  for (const auto& [known, reduction] : kNames) {
    if (name == known && allowed.find(known) != std::string_view::npos) return reduction;
  }
  return Refused("bad_argument", fmt::format("{}: reduce argument must be one of {}, got {}",
                                             op.schema.Key(), allowed, name));
}

Status CheckReducible(const op::Op& op, Reduction reduction, DType dtype) {
  bool ordered = reduction == Reduction::kMax || reduction == Reduction::kMin;
  bool fits =
      !(reduction == Reduction::kMean && dtype == DType::kB8) && !(ordered && IsComplex(dtype));
  if (fits) return {};
  return Refused("unsupported_dtype",
                 fmt::format("{} is not implemented for '{}'", op.schema.name, TorchName(dtype)));
}

namespace {

Combine CombineOf(Reduction reduction) {
  switch (reduction) {
    case Reduction::kNone:
      return Combine::kAssign;
    case Reduction::kSum:
    case Reduction::kMean:
      return Combine::kAdd;
    case Reduction::kProd:
      return Combine::kMultiply;
    case Reduction::kMax:
      return Combine::kMax;
    case Reduction::kMin:
      return Combine::kMin;
  }
  return Combine::kAssign;
}

// What the old element is replaced by where it does not count.
Scalar Neutral(Reduction reduction, DType dtype) {
  if (reduction == Reduction::kProd) return Scalar::Int(1);
  if (reduction == Reduction::kSum || reduction == Reduction::kMean) return Scalar::Int(0);
  bool lowest = reduction == Reduction::kMax;
  if (!IsIntegral(dtype)) {
    double infinity = std::numeric_limits<double>::infinity();
    return Scalar::Float(lowest ? -infinity : infinity);
  }
  if (dtype == DType::kB8) return Scalar::Bool(!lowest);
  if (dtype == DType::kU8) return Scalar::Int(lowest ? 0 : 255);
  int bits = static_cast<int>(8 * ItemSize(dtype)) - 1;
  auto most = static_cast<int64_t>((uint64_t{1} << bits) - 1);
  return Scalar::Int(lowest ? -most - 1 : most);
}

Result<Places> PlacesIn(const WritePlan& plan, const Tensor& target) {
  Places places;
  places.bytes.assign(plan.indices.size(), 0);
  places.view = plan.index_view;
  bool zero_dim = target.dim() == 0;
  int64_t size = zero_dim ? 1 : target.sizes[plan.dim];
  int64_t stride = zero_dim ? 0 : target.strides[plan.dim] * target.item_size();
  PAL_TRY(AddPlaces(plan.indices, size, stride, plan.negative, static_cast<int64_t>(plan.dim),
                    places.bytes));
  return places;
}

// One number, as a tensor of the given sizes.
Result<Tensor> Everywhere(const Scalar& number, DType dtype, const Dims& sizes) {
  PAL_TRY(Tensor one, EmptyTensor(dtype, {}));
  PAL_TRY(FillWith(number, one));
  PAL_TRY(View view, ExpandView(one.view(), sizes));
  return Tensor(view, one.storage);
}

// Like plan.target, of another type, contiguous; seen through the plan's view.
struct Beside {
  Tensor all;
  WritePlan plan;
};
Result<Beside> MakeBeside(const WritePlan& plan, DType dtype) {
  Beside b;
  PAL_TRY(b.all, EmptyTensor(dtype, plan.target.sizes));
  b.plan = plan;
  b.plan.target = b.all;
  b.plan.view = View{dtype, plan.view.sizes, Dims(plan.view.dim(), 0), 0};
  for (size_t d = 0; d < plan.view.dim() && d < b.all.dim(); ++d) {
    if (d != plan.dim) b.plan.view.strides[d] = b.all.strides[d];
  }
  return b;
}

Status WriteEverywhere(const WritePlan& plan, const Scalar& number, Combine combine) {
  PAL_TRY(Places places, PlacesIn(plan, plan.target));
  PAL_TRY(Tensor values, Everywhere(number, plan.target.dtype, plan.view.sizes));
  return WriteAt(Tensor(plan.view, plan.target.storage), places, values,
                 FindCombine(combine, plan.target.dtype));
}

// target /= number of values per place; integers toward minus infinity.
Status DivideByCounts(const WritePlan& plan, bool include_self) {
  PAL_TRY(Beside counts, MakeBeside(plan, DType::kI64));
  PAL_TRY(FillWith(Scalar::Int(include_self ? 1 : 0), counts.all));
  PAL_TRY(WriteEverywhere(counts.plan, Scalar::Int(1), Combine::kAdd));
  const Tensor& target = plan.target;
  IteratorConfig config = IteratorConfig::Walk();
  config.AddOutput(target.view()).AddInput(counts.all.view());
  PAL_TRY(Iteration iteration, Iteration::Build(config));
  std::byte* bases[] = {target.data(), counts.all.data()};
  iteration.ForEach(bases, [&](std::byte* const* p, const int64_t* s, int64_t n0, int64_t n1) {
    for (int64_t j = 0; j < n1; ++j) {
      for (int64_t i = 0; i < n0; ++i) {
        std::byte* to = p[0] + j * s[2] + i * s[0];
        int64_t count = *reinterpret_cast<const int64_t*>(p[1] + j * s[3] + i * s[1]);
        if (count <= 1) continue;
        Scalar sum = LoadNumber(target.dtype, to);
        if (sum.IsInt()) {
          int64_t quotient = sum.i / count - (sum.i % count < 0 ? 1 : 0);
          StoreNumber(Scalar::Int(quotient), target.dtype, to);
        } else {
          StoreNumber(Scalar::Complex(sum.c / static_cast<double>(count)), target.dtype, to);
        }
      }
    }
  });
  return {};
}

}  // namespace

Status RunWrite(const WritePlan& plan, const Tensor& values, const ReducingWrite& write) {
  PAL_TRY(Places places, PlacesIn(plan, plan.target));
  if (plan.target.numel() == 0 || values.numel() == 0) return {};
  CombineRow combine = FindCombine(CombineOf(write.reduction), plan.target.dtype);
  if (combine == nullptr) {
    return Unsupported(
        fmt::format("an indexed maximum or minimum of {}", TorchName(plan.target.dtype)));
  }
  if (!write.include_self && write.reduction != Reduction::kNone) {
    Scalar neutral = Neutral(write.reduction, plan.target.dtype);
    PAL_TRY(WriteEverywhere(plan, neutral, Combine::kAssign));
  }
  PAL_TRY(WriteAt(Tensor(plan.view, plan.target.storage), places, values, combine));
  if (write.reduction != Reduction::kMean) return {};
  return DivideByCounts(plan, write.include_self);
}

}  // namespace palimpsest::kernels
