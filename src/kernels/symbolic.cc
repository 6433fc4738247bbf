// Numbers read off tensors: from metadata (sym_size and its kin) or from memory (item).
#include "kernels/symbolic.h"

#include <fmt/format.h>

#include "kernels/builtin_row.h"
#include "kernels/copy_cast.h"
#include "kernels/reduce_dims.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

Status SizeOrStrideMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Dims& of = call.op.schema.name.ends_with("stride") ? self.strides : self.sizes;
  if (call.args.size() == 1) {
    std::vector<ResultSpec> items;
    for (int64_t value : of) items.push_back(ResultSpec::Number(value));
    call.results.push_back(ResultSpec::List(std::move(items)));
    return {};
  }
  if (self.dim() == 0) {
    return Refused("dim_out_of_range",
                   fmt::format("{}: dimension specified as {} but tensor has no dimensions",
                               call.op.schema.Key(), call.args[1].ToInt()));
  }
  PAL_TRY(int64_t dim, WrapDim(call.args[1].ToInt(), self.dim()));
  call.results.push_back(ResultSpec::Number(of[static_cast<size_t>(dim)]));
  return {};
}

Status NumelMeta(MetaCall& call) {
  call.results.push_back(ResultSpec::Number(call.args[0].tensor().numel()));
  return {};
}
Status OffsetMeta(MetaCall& call) {
  call.results.push_back(ResultSpec::Number(call.args[0].tensor().offset));
  return {};
}
Status RankMeta(MetaCall& call) {
  call.results.push_back(ResultSpec::Number(static_cast<int64_t>(call.args[0].tensor().dim())));
  return {};
}
Status IsContiguousMeta(MetaCall& call) {
  MemoryFormat format = call.args[1].ToOptionalMemoryFormat().value_or(MemoryFormat::kContiguous);
  call.results.push_back(ResultSpec::Number(IsContiguous(call.args[0].tensor(), format)));
  return {};
}

Status ItemMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  if (self.numel() != 1) {
    return Refused(
        "size_mismatch",
        fmt::format("a Tensor with {} elements cannot be converted to Scalar", self.numel()));
  }
  call.results.push_back(ResultSpec::Data());
  return {};
}

Value ToValue(const Scalar& number) {
  switch (number.category) {
    case Category::kBool:
      return Value(number.i != 0);
    case Category::kInteger:
      return Value(number.i);
    case Category::kFloat:
      return Value(number.c.real());
    case Category::kComplex:
      return Value(number.c);
  }
  return Value();
}

Scalar Read(const Tensor& self) { return LoadNumber(self.dtype, self.data()); }

Status ItemKernel(KernelCall& call) {
  call.numbers.push_back(ToValue(Read(call.args[0].tensor())));
  return {};
}
Status IsNonzeroKernel(KernelCall& call) {
  Scalar number = Read(call.args[0].tensor());
  call.numbers.push_back(Value(number.IsInt() ? number.i != 0 : number.c != 0.0));
  return {};
}

}  // namespace

Status RegisterSymbolic(op::OpTable& table) {
  op::Traits metadata_only;
  metadata_only.metadata_only = 1;
  std::vector<BuiltinRow> rows = {
      {"aten::sym_size.int(Tensor self, int dim) -> SymInt", SizeOrStrideMeta},
      {"aten::sym_size(Tensor self) -> SymInt[]", SizeOrStrideMeta},
      {"aten::sym_stride.int(Tensor self, int dim) -> SymInt", SizeOrStrideMeta},
      {"aten::sym_stride(Tensor self) -> SymInt[]", SizeOrStrideMeta},
      {"aten::size.int(Tensor self, int dim) -> int", SizeOrStrideMeta},
      {"aten::size(Tensor self) -> int[]", SizeOrStrideMeta},
      {"aten::stride.int(Tensor self, int dim) -> int", SizeOrStrideMeta},
      {"aten::stride(Tensor self) -> int[]", SizeOrStrideMeta},
      {"aten::sym_numel(Tensor self) -> SymInt", NumelMeta},
      {"aten::numel(Tensor self) -> int", NumelMeta},
      {"aten::sym_storage_offset(Tensor self) -> SymInt", OffsetMeta},
      {"aten::dim(Tensor self) -> int", RankMeta},
      {"aten::sym_is_contiguous(Tensor self, MemoryFormat memory_format=contiguous_format) -> "
       "SymBool",
       IsContiguousMeta},
  };
  for (BuiltinRow& row : rows) row.traits = metadata_only;
  rows.push_back({"aten::item(Tensor self) -> Scalar", ItemMeta, ItemKernel});
  rows.push_back({"aten::_local_scalar_dense(Tensor self) -> Scalar", ItemMeta, ItemKernel});
  rows.push_back({"aten::is_nonzero(Tensor self) -> bool", ItemMeta, IsNonzeroKernel});
  PAL_TRY(RegisterBuiltinRows(table, std::move(rows)));
  PAL_TRY(RegisterNumberArithmetic(table));
  return RegisterAssertions(table);
}

}  // namespace palimpsest::kernels
