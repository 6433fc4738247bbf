// index_copy, index_add, index_fill, index_reduce: slice k of source goes to slice index[k] of self
// along dim. put: element k to place index[k], row by row.
#include <fmt/format.h>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/copy_cast.h"
#include "kernels/reduce_dims.h"
#include "kernels/scatter.h"
#include "kernels/scatter_reduce.h"
#include "kernels/views.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

Status CheckSource(const op::Op& op, const Tensor& self, int64_t dim, const Tensor& index,
                   const Tensor& source) {
  auto refuse = [&](std::string_view what) {
    return Refused(
        "source_size_mismatch",
        fmt::format("{}: {} (self {}, index {}, source {})", op.schema.name, what,
                    ToString(self.sizes), ToString(index.sizes), ToString(source.sizes)));
  };
  if (index.dim() > 1) return refuse("Index should have dimension 1 or 0");
  if (source.dim() == 0 && index.numel() != 1) {
    return refuse("When source is scalar, index should have one element");
  }
  if (source.dim() != self.dim() && source.dim() != 0 && self.dim() != 0) {
    return refuse("When source and destination are not scalars, their dimensionality must match");
  }
  if (source.dtype != self.dtype) {
    return Refused("dtype_mismatch",
                   fmt::format("{}(): self and source expected to have the same dtype, but got "
                               "(self) {} and (source) {}",
                               op.schema.name, TorchName(self.dtype), TorchName(source.dtype)));
  }
  for (size_t d = 0; d < self.dim() && source.dim() != 0; ++d) {
    if (static_cast<int64_t>(d) == dim || self.sizes[d] == source.sizes[d]) continue;
    return refuse("Source/destination tensor must have same slice shapes");
  }
  // A scalar source fits a self of one dim only.
  if (source.dim() == 0 && self.dim() > 1) {
    return refuse("Source/destination tensor must have same slice shapes");
  }
  int64_t slices = source.dim() == 0 ? 1 : source.sizes[static_cast<size_t>(dim)];
  if (index.numel() != slices)
    return refuse("Number of indices should be equal to source.size(dim)");
  return {};
}

template <bool kAllowI32>
Status SlicesMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& index = call.args[2].tensor();
  PAL_TRY(int64_t dim, WrapDim(call.args[1].ToInt(), self.dim()));
  PAL_TRY(CheckIndexType(call.op, index, kAllowI32));
  PAL_TRY(CheckSource(call.op, self, dim, index, call.args[3].tensor()));
  call.results.push_back(ResultSpec::Fresh(self.dtype, self.sizes));
  return {};
}

// `result` seen as index.numel() slices; at least one dim.
Result<WritePlan> PlanOf(const Tensor& result, int64_t wrapped_dim, const Tensor& index) {
  WritePlan plan;
  plan.target = result;
  plan.dim = static_cast<size_t>(wrapped_dim);
  Dims flat = {index.numel()};
  PAL_TRY(plan.indices, ReadIntegers(index, index.sizes));
  plan.view = result.view();
  if (plan.view.dim() == 0) plan.view.sizes = plan.view.strides = {1};
  plan.view.sizes[plan.dim] = index.numel();
  plan.view.strides[plan.dim] = 0;
  plan.index_view = View{DType::kI64, plan.view.sizes, Dims(plan.view.dim(), 0), 0};
  plan.index_view.strides[plan.dim] = 1;
  return plan;
}

// The source as slices: a scalar is one slice of one element.
Result<Tensor> SourceOf(const Tensor& source, const WritePlan& plan) {
  if (source.sizes == plan.view.sizes) return source;
  PAL_TRY(View view, ExpandView(source.view(), plan.view.sizes));
  return Tensor(view, source.storage);
}

Status WriteSlices(KernelCall& call, const Tensor& source, const ReducingWrite& write) {
  const Tensor& result = call.results[0];
  PAL_TRY(int64_t dim, WrapDim(call.args[1].ToInt(), result.dim()));
  PAL_TRY(WritePlan plan, PlanOf(result, dim, call.args[2].tensor()));
  PAL_TRY(Tensor values, SourceOf(source, plan));
  return RunWrite(plan, values, write);
}

Status CopyKernel(KernelCall& call) { return WriteSlices(call, call.args[3].tensor(), {}); }

// ---- index_add: alpha times source.

Result<Tensor> Scaled(const Tensor& source, const Scalar& alpha) {
  bool one = alpha.IsInt() ? alpha.i == 1 : alpha.c == 1.0;
  if (one) return source;
  PAL_TRY(Tensor scaled, EmptyTensor(source.dtype, source.sizes));
  PAL_TRY(CopyTo(source, scaled));
  int64_t item = scaled.item_size();
  for (int64_t i = 0; i < scaled.numel(); ++i) {
    std::byte* at = scaled.data() + i * item;
    Scalar x = LoadNumber(scaled.dtype, at);
    if (x.IsInt()) {
      int64_t factor = alpha.IsInt() ? alpha.i : static_cast<int64_t>(alpha.c.real());
      auto product = static_cast<uint64_t>(x.i) * static_cast<uint64_t>(factor);
      StoreNumber(Scalar::Int(static_cast<int64_t>(product)), scaled.dtype, at);
    } else {
      StoreNumber(Scalar::Complex(x.c * alpha.c), scaled.dtype, at);
    }
  }
  return scaled;
}

Status AddKernel(KernelCall& call) {
  PAL_TRY(Tensor source, Scaled(call.args[3].tensor(), call.args[4].ToScalar()));
  return WriteSlices(call, source, {Reduction::kSum, true});
}

// ---- index_fill

Status FillMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& index = call.args[2].tensor();
  const Value& value = call.args[3];
  PAL_TRY(WrapDim(call.args[1].ToInt(), self.dim()));
  if (index.dim() > 1) return Refused("size_mismatch", "Index has to be a vector/scalar");
  PAL_TRY(CheckIndexType(call.op, index, false));
  if (value.IsTensor() && value.tensor().dim() != 0) {
    return Refused("size_mismatch",
                   fmt::format("index_fill_ only supports a 0-dimensional value tensor, but got "
                               "tensor with {} dimension(s).",
                               value.tensor().dim()));
  }
  bool complex =
      value.IsTensor() ? IsComplex(value.tensor().dtype) : value.Is<std::complex<double>>();
  if (complex && !IsComplex(self.dtype)) {
    return Refused("dtype_mismatch",
                   "index_fill_(): Converting complex Scalar to non-complex type "
                   "is not supported");
  }
  PAL_TRY(View layout, CopyLayout(self, MemoryFormat::kPreserve));
  call.results.push_back(ResultSpec::Fresh(std::move(layout)));
  return {};
}

Status FillKernel(KernelCall& call) {
  const Tensor& result = call.results[0];
  if (result.numel() == 0) return {};  // indices are not looked at
  PAL_TRY(int64_t dim, WrapDim(call.args[1].ToInt(), result.dim()));
  PAL_TRY(WritePlan plan, PlanOf(result, dim, call.args[2].tensor()));
  plan.negative = NegativeIndex::kWraps;
  PAL_TRY(Tensor value, EmptyTensor(result.dtype, {}));
  if (call.args[3].IsTensor()) {
    PAL_TRY(CopyTo(call.args[3].tensor(), value));
  } else {
    PAL_TRY(FillWith(call.args[3].ToScalar(), value));
  }
  PAL_TRY(Tensor values, SourceOf(value, plan));
  return RunWrite(plan, values, {});
}

// ---- index_reduce

Result<ReducingWrite> WriteOf(const op::Op& op, std::span<const Value> args) {
  PAL_TRY(Reduction reduction,
          ReductionNamed(op, args[4].As<std::string>(), "prod mean amax amin"));
  return ReducingWrite{reduction, args[5].ToBool()};
}
Status ReduceMeta(MetaCall& call) {
  PAL_TRY(ReducingWrite write, WriteOf(call.op, call.args));
  DType dtype = call.args[0].tensor().dtype;
  PAL_TRY(CheckReducible(call.op, write.reduction, dtype));
  if (dtype == DType::kB8) {
    return Refused("unsupported_dtype", "index_reduce is not implemented for 'bool'");
  }
  return SlicesMeta<true>(call);
}
Status ReduceKernel(KernelCall& call) {
  PAL_TRY(ReducingWrite write, WriteOf(call.op, call.args));
  return WriteSlices(call, call.args[3].tensor(), write);
}

// ---- put

Status PutMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& index = call.args[1].tensor();
  const Tensor& source = call.args[2].tensor();
  if (self.dtype != source.dtype) {
    return Refused("dtype_mismatch",
                   fmt::format("put_(): self and source expected to have the same dtype, but got "
                               "self.dtype = {} and source.dtype = {}",
                               TorchName(self.dtype), TorchName(source.dtype)));
  }
  PAL_TRY(CheckIndexType(call.op, index, false));
  if (index.numel() != source.numel()) {
    return Refused("source_size_mismatch",
                   fmt::format("put_(): Expected source and index to have the same number of "
                               "elements, but got source.numel() = {}, index.numel() = {}",
                               source.numel(), index.numel()));
  }
  PAL_TRY(View layout, CopyLayout(self, MemoryFormat::kPreserve));
  call.results.push_back(ResultSpec::Fresh(std::move(layout)));
  return {};
}

Status PutKernel(KernelCall& call) {
  const Tensor& result = call.results[0];
  const Tensor& index = call.args[1].tensor();
  const Tensor& source = call.args[2].tensor();
  PAL_TRY(std::vector<int64_t> values, ReadIntegers(index, index.sizes));
  std::vector<int64_t> linear(values.size(), 0);
  PAL_TRY(AddPlaces(values, result.numel(), 1, NegativeIndex::kWraps, 0, linear));
  Places places;
  for (int64_t place : linear) places.bytes.push_back(OffsetOfLinear(result.view(), place));
  Dims flat = {index.numel()};
  places.view = ContiguousView(DType::kI64, flat);
  PAL_TRY(Tensor packed, EmptyTensor(source.dtype, source.sizes));
  PAL_TRY(CopyTo(source, packed));
  Combine combine = call.args[3].ToBool() ? Combine::kAdd : Combine::kAssign;
  return WriteAt(Tensor(View{result.dtype, flat, {0}, result.offset}, result.storage), places,
                 Tensor(ContiguousView(source.dtype, flat), packed.storage),
                 FindCombine(combine, result.dtype));
}

}  // namespace

Status RegisterSliceScatters(op::OpTable& table) {
  std::string head = "(Tensor self, int dim, Tensor index, ";
  struct Form {
    BuiltinRow row;
    SelfOverlap overlap = SelfOverlap::kRefused;
  };
  std::vector<Form> forms = {
      {{"aten::index_copy" + head + "Tensor source) -> Tensor", SlicesMeta<false>, CopyKernel}},
      {{"aten::index_add" + head + "Tensor source, *, Scalar alpha=1) -> Tensor", SlicesMeta<true>,
        AddKernel}},
      {{"aten::index_fill.int_Scalar" + head + "Scalar value) -> Tensor", FillMeta, FillKernel},
       SelfOverlap::kUnsupported},
      {{"aten::index_fill.int_Tensor" + head + "Tensor value) -> Tensor", FillMeta, FillKernel},
       SelfOverlap::kUnsupported},
      {{"aten::index_reduce" + head +
            "Tensor source, str reduce, *, bool include_self=True) -> "
            "Tensor",
        ReduceMeta, ReduceKernel}},
      {{"aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
        PutMeta, PutKernel}},
  };
  std::vector<BuiltinRow> rows;
  for (Form& form : forms) {
    form.row.traits.tied = 0;
    form.row.traits.may_refuse = true;
    rows.push_back(InPlaceForm(form.row, form.overlap));
    rows.push_back(std::move(form.row));
  }
  return RegisterBuiltinRows(table, std::move(rows));
}

}  // namespace palimpsest::kernels
