// scatter, scatter_add, scatter_reduce: element e of src goes to the place index[e] along dim.
#include "kernels/scatter.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/reduce_dims.h"
#include "kernels/scatter_reduce.h"
#include "kernels/views.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

size_t RankOf(const View& view) { return std::max<size_t>(view.dim(), 1); }

Status CheckSizes(const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src) {
  if (index.numel() == 0) return {};
  if (RankOf(self) != RankOf(index) || (src != nullptr && RankOf(*src) != RankOf(index))) {
    return Refused("source_size_mismatch",
                   "Index tensor must have the same number of dimensions as self tensor");
  }
  for (size_t d = 0; d < index.dim(); ++d) {
    int64_t of_self = d < self.dim() ? self.sizes[d] : 1;
    int64_t of_src = src == nullptr || d >= src->dim() ? index.sizes[d] : src->sizes[d];
    bool fits = static_cast<int64_t>(d) == dim || index.sizes[d] <= of_self;
    if (fits && index.sizes[d] <= of_src) continue;
    return Refused("source_size_mismatch",
                   fmt::format("Expected index {} to be no larger than self {} apart from "
                               "dimension {} and to be no larger size than src",
                               ToString(index.sizes), ToString(self.sizes), dim));
  }
  return {};
}

// scatter.src, scatter_add, ...: (self, dim, index, src or value, ...).
Status ScatterMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& index = call.args[2].tensor();
  const Tensor* src = call.args[3].IsTensor() ? &call.args[3].tensor() : nullptr;
  PAL_TRY(int64_t dim, WrapDim(call.args[1].ToInt(), self.dim()));
  PAL_TRY(CheckIndexType(call.op, index, true));
  if (src != nullptr && src->dtype != self.dtype) {
    return Refused("dtype_mismatch",
                   fmt::format("{}(): Expected self.dtype to be equal to src.dtype, got {} and {}",
                               call.op.schema.name, TorchName(self.dtype), TorchName(src->dtype)));
  }
  PAL_TRY(CheckSizes(self, dim, index, src));
  call.results.push_back(ResultSpec::Fresh(self.dtype, self.sizes));
  return {};
}

// `result` seen in the sizes of index.
Result<WritePlan> PlanOf(const Tensor& result, int64_t wrapped_dim, const Tensor& index) {
  WritePlan plan;
  plan.target = result;
  plan.dim = static_cast<size_t>(wrapped_dim);
  PAL_TRY(plan.indices, ReadIntegers(index, index.sizes));
  plan.index_view = ContiguousView(DType::kI64, index.sizes);
  plan.view = View{result.dtype, index.sizes, Dims(index.dim(), 0), result.offset};
  for (size_t d = 0; d < index.dim() && d < result.dim(); ++d) {
    if (d != plan.dim) plan.view.strides[d] = result.strides[d];
  }
  return plan;
}

Status Scatter(KernelCall& call, const ReducingWrite& write) {
  const Tensor& result = call.results[0];
  const Tensor& index = call.args[2].tensor();
  if (index.numel() == 0) return {};
  PAL_TRY(int64_t dim, WrapDim(call.args[1].ToInt(), result.dim()));
  PAL_TRY(WritePlan plan, PlanOf(result, dim, index));
  if (!call.args[3].IsTensor()) {
    PAL_TRY(Tensor value, EmptyTensor(result.dtype, {}));
    PAL_TRY(FillWith(call.args[3].ToScalar(), value));
    PAL_TRY(View view, ExpandView(value.view(), index.sizes));
    return RunWrite(plan, Tensor(view, value.storage), write);
  }
  // The leading part of src.
  const Tensor& src = call.args[3].tensor();
  View values{src.dtype, index.sizes, Dims(index.dim(), 0), src.offset};
  for (size_t d = 0; d < index.dim() && d < src.dim(); ++d) values.strides[d] = src.strides[d];
  return RunWrite(plan, Tensor(values, src.storage), write);
}

Status AssignKernel(KernelCall& call) { return Scatter(call, {}); }
Status AddKernel(KernelCall& call) { return Scatter(call, {Reduction::kSum, true}); }

// The older form: reduce="add" or "multiply".
constexpr std::string_view kOlder = "add multiply";
constexpr std::string_view kReductions = "sum prod mean amax amin";

template <bool kIsOlder>
Result<ReducingWrite> WriteOf(const op::Op& op, std::span<const Value> args) {
  PAL_TRY(Reduction reduction, ReductionNamed(op, Argument(op, args, "reduce").As<std::string>(),
                                              kIsOlder ? kOlder : kReductions));
  return ReducingWrite{reduction, kIsOlder || Argument(op, args, "include_self").ToBool()};
}

template <bool kIsOlder>
Status ReduceMeta(MetaCall& call) {
  PAL_TRY(ReducingWrite write, WriteOf<kIsOlder>(call.op, call.args));
  PAL_TRY(CheckReducible(call.op, write.reduction, call.args[0].tensor().dtype));
  return ScatterMeta(call);
}
template <bool kIsOlder>
Status ReduceKernel(KernelCall& call) {
  PAL_TRY(ReducingWrite write, WriteOf<kIsOlder>(call.op, call.args));
  return Scatter(call, write);
}

}  // namespace

Status RegisterElementScatters(op::OpTable& table) {
  std::string head = "(Tensor self, int dim, Tensor index, ";
  std::vector<BuiltinRow> rows = {
      {"aten::scatter.src" + head + "Tensor src) -> Tensor", ScatterMeta, AssignKernel},
      {"aten::scatter.value" + head + "Scalar value) -> Tensor", ScatterMeta, AssignKernel},
      {"aten::scatter.reduce" + head + "Tensor src, *, str reduce) -> Tensor", ReduceMeta<true>,
       ReduceKernel<true>},
      {"aten::scatter.value_reduce" + head + "Scalar value, *, str reduce) -> Tensor",
       ReduceMeta<true>, ReduceKernel<true>},
      {"aten::scatter_add" + head + "Tensor src) -> Tensor", ScatterMeta, AddKernel},
      {"aten::scatter_reduce.two" + head +
           "Tensor src, str reduce, *, bool include_self=True) -> "
           "Tensor",
       ReduceMeta<false>, ReduceKernel<false>},
  };
  size_t functional = rows.size();
  for (size_t i = 0; i < functional; ++i) {
    rows[i].traits.tied = 0;
    rows[i].traits.may_refuse = true;
    rows.push_back(InPlaceForm(rows[i]));
  }
  return RegisterBuiltinRows(table, std::move(rows));
}

Status RegisterScatters(op::OpTable& table) {
  PAL_TRY(RegisterElementScatters(table));
  return RegisterSliceScatters(table);
}

}  // namespace palimpsest::kernels
