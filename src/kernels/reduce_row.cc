#include "kernels/reduce_row.h"

#include <fmt/format.h>

#include <memory>

#include "core/promotion.h"
namespace palimpsest::kernels {
namespace {

struct Planned {
  ReduceDims dims;
  ReduceTypes types;
  SliceKernel kernel = nullptr;
};

Result<Planned> Plan(const ReduceRow& row, const ReduceArgs& args) {
  Planned planned;
  PAL_TRY(planned.types, row.types(args));
  if (row.before != nullptr) PAL_TRY(row.before(args));
  PAL_TRY(planned.dims, ChooseReduceDims(args.self(), args.dim(), args.keepdim()));
  if (row.empty_dims_is_none && args.dim().IsList() && args.dim().list().empty()) {
    planned.dims = ReduceNothing(args.self());
  }
  planned.kernel = row.kernel(planned.types.loop);
  if (planned.kernel == nullptr) {
    if (IsComplex(planned.types.loop)) {
      return Unsupported(fmt::format("{} of complex tensors has no kernel", args.schema.Key()));
    }
    return Refused("unsupported_dtype",
                   fmt::format("{} is not implemented for {}", args.schema.Key(),
                               TorchName(args.self().dtype)));
  }
  return planned;
}

View ResultView(const Planned& planned, int k) {
  return ContiguousView(planned.types.results[k], planned.dims.sizes);
}

Status Meta(const ReduceRow& row, op::MetaCall& call) {
  ReduceArgs args{call.op.schema, call.args};
  PAL_TRY(Planned planned, Plan(row, args));
  for (int k = 0; k < row.results; ++k) {
    PAL_TRY(AddReduceResult(call, ResultView(planned, k), args.out_arg()));
  }
  return {};
}

Status Kernel(const ReduceRow& row, op::KernelCall& call) {
  ReduceArgs args{call.op.schema, call.args};
  PAL_TRY(Planned planned, Plan(row, args));
  std::vector<Tensor> outputs;
  for (int k = 0; k < row.results; ++k) {
    PAL_TRY(Tensor out,
            ReduceTarget(call, ResultView(planned, k), static_cast<size_t>(k), args.out_arg()));
    outputs.push_back(std::move(out));
  }
  ReduceParams params;
  if (row.params != nullptr) params = row.params(args);
  const ReduceTypes& types = planned.types;
  DType value_type = row.loop_result != nullptr ? row.loop_result(types.loop) : types.loop;
  ForEachSlice(args.self(), planned.dims, types.through, types.loop, outputs,
               [&](SliceSource& slice, std::byte* const* to) {
                 SliceResult results[2];
                 planned.kernel(slice, params, results);
                 for (size_t k = 0; k < outputs.size(); ++k) {
                   if (row.index_is_result[k]) {
                     StoreElement(DType::kI64, &results[0].index, outputs[k], to[k]);
                   } else {
                     StoreElement(value_type, results[k].value, outputs[k], to[k]);
                   }
                 }
               });
  return {};
}

}  // namespace

Status RegisterReduceRow(op::OpTable& table, const ReduceRow& row) {
  auto shared = std::make_shared<const ReduceRow>(row);
  for (const std::string& schema : row.schemas) {
    op::Op op;
    PAL_TRY(op.schema, op::ParseSchema(schema));
    op.meta = [shared](op::MetaCall& call) { return Meta(*shared, call); };
    op.kernel = [shared](op::KernelCall& call) { return Kernel(*shared, call); };
    PAL_TRY(table.Register(std::move(op)));
  }
  return {};
}

DType AccumulatorOf(DType dtype) {
  if (IsIntegral(dtype)) return DType::kI64;
  return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype;
}

Status RefuseOtherOut(const ReduceArgs& args, DType expected) {
  if (args.out() == nullptr || args.out()->dtype == expected) return {};
  return Refused("dtype_mismatch",
                 fmt::format("Expected out tensor to have dtype {}, but got {} instead",
                             DTypeName(expected), DTypeName(args.out()->dtype)));
}
Status RefuseUnsafeOut(const ReduceArgs& args, DType result) {
  if (args.out() == nullptr || CanCast(result, args.out()->dtype)) return {};
  return Refused("cannot_cast",
                 fmt::format("result type {} can't be cast to the desired output type {}",
                             DTypeName(result), DTypeName(args.out()->dtype)));
}

Result<ReduceTypes> SumTypes(const ReduceArgs& args) {
  DType self = args.self().dtype;
  DType result = IsIntegral(self) ? DType::kI64 : self;
  if (args.out() != nullptr) {
    // sum without dims makes its result before it looks at out; mean converts.
    bool whole = args.schema.name == "sum" && args.schema.FindArg("dim") < 0;
    if (whole || args.dtype()) PAL_TRY(RefuseOtherOut(args, args.dtype().value_or(result)));
    result = args.out()->dtype;
  }
  if (args.dtype()) result = *args.dtype();
  return ReduceTypes{result, AccumulatorOf(result), {result, result}};
}

Result<ReduceTypes> SameTypes(const ReduceArgs& args) {
  DType self = args.self().dtype;
  if (args.out() != nullptr && args.out()->dtype != self) {
    return Refused(
        "dtype_mismatch",
        fmt::format("Expected the dtype for input and out to match, but got {} for input's "
                    "dtype and {} for out's dtype.",
                    DTypeName(self), DTypeName(args.out()->dtype)));
  }
  return ReduceTypes{self, AccumulatorOf(self), {self, DType::kI64}};
}

Status RefuseEmpty(const ReduceArgs& args) {
  const Tensor& self = args.self();
  if (self.numel() != 0) return {};
  Value dim = args.dim();
  bool all = dim.IsNone() || (dim.IsList() && dim.list().empty());
  std::string text = fmt::format(
      "{}: Expected reduction dim to be specified for input.numel() == 0 "
      "with a non-zero size. Specify the reduction dim with the 'dim' "
      "argument.",
      args.schema.Key());
  if (all) return Refused("empty_reduction", text);
  for (int64_t d : dim.ToDims()) {
    PAL_TRY(int64_t wrapped, WrapDim(d, self.dim()));
    if (self.dim() > 0 && self.sizes[static_cast<size_t>(wrapped)] == 0) {
      return Refused("empty_reduction",
                     fmt::format("{}: Expected reduction dim {} to have non-zero "
                                 "size.",
                                 args.schema.Key(), wrapped));
    }
  }
  return {};
}

}  // namespace palimpsest::kernels
