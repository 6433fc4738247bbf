// Operators of masks: nonzero, masked_select, masked_scatter.
//
// The size of what nonzero and masked_select give hangs on the contents: where there is memory
// (the interpreter) it is counted, where there are only shapes it is not supported.
#include <fmt/format.h>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/indexing.h"
#include "kernels/indexing_advanced.h"
#include "kernels/views.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

Error SizeHangsOnData(const op::Op& op) {
  return Unsupported(
      fmt::format("{}: the size of the result hangs on the contents of a tensor", op.schema.Key()));
}

Status NonzeroMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  if (self.storage->shape_only()) return SizeHangsOnData(call.op);
  PAL_TRY(std::vector<std::vector<int64_t>> places, NonzeroPlaces(self));
  auto rank = static_cast<int64_t>(self.dim());
  auto count = static_cast<int64_t>(places.empty() ? 0 : places[0].size());
  if (self.dim() == 0) {
    PAL_TRY(Tensor truth, EmptyTensor(DType::kB8, {}));
    PAL_TRY(CopyTo(self, truth));
    count = *truth.data_as<uint8_t>() != 0 ? 1 : 0;
  }
  // Written column by column.
  View view{DType::kI64, {count, rank}, {1, count}, 0};
  call.results.push_back(ResultSpec::Fresh(std::move(view)));
  return {};
}

Status NonzeroKernel(KernelCall& call) {
  const Tensor& result = call.results[0];
  PAL_TRY(std::vector<std::vector<int64_t>> places, NonzeroPlaces(call.args[0].tensor()));
  for (size_t d = 0; d < places.size(); ++d) {
    PAL_TRY(Tensor column, TensorOf(places[d]));
    PAL_TRY(View to, SelectView(result.view(), 1, static_cast<int64_t>(d)));
    if (to.sizes != column.sizes) return RuntimeFailure("nonzero: the mask changed");
    PAL_TRY(CopyTo(column, Tensor(to, result.storage)));
  }
  return {};
}

struct Masked {
  View self, mask;
};
Result<Masked> BroadcastMask(const Tensor& self, const Tensor& mask) {
  PAL_TRY(Dims shape, BroadcastShapes(self.sizes, mask.sizes));
  Masked m;
  PAL_TRY(m.self, ExpandView(self.view(), shape));
  PAL_TRY(m.mask, ExpandView(mask.view(), shape));
  return m;
}

Status CheckMaskType(const op::Op& op, const Tensor& mask) {
  if (mask.dtype == DType::kB8) return {};
  return Refused("unsupported_dtype",
                 fmt::format("{} only supports boolean masks, but got mask with dtype {}",
                             op.schema.name, TorchName(mask.dtype)));
}

// Positions of the mask's true elements in its row-major order.
Result<std::vector<int64_t>> TruePositions(const Tensor& mask) {
  PAL_TRY(std::vector<int64_t> flags, ReadIntegers(mask, mask.sizes));
  std::vector<int64_t> positions;
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] != 0) positions.push_back(static_cast<int64_t>(i));
  }
  return positions;
}

Status MaskedSelectMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& mask = call.args[1].tensor();
  PAL_TRY(CheckMaskType(call.op, mask));
  PAL_TRY(Masked m, BroadcastMask(self, mask));
  if (mask.storage->shape_only()) return SizeHangsOnData(call.op);
  PAL_TRY(std::vector<int64_t> positions, TruePositions(Tensor(m.mask, mask.storage)));
  call.results.push_back(
      ResultSpec::Fresh(self.dtype, Dims{static_cast<int64_t>(positions.size())}));
  return {};
}

// The elements of `view` at row-major `positions`.
Places PlacesAt(const View& view, const std::vector<int64_t>& positions) {
  Places places;
  for (int64_t position : positions) places.bytes.push_back(OffsetOfLinear(view, position));
  places.view = ContiguousView(DType::kI64, Dims{static_cast<int64_t>(positions.size())});
  return places;
}
// A 1-d tensor whose elements all lie on the first one of `view`: places displace them.
Tensor FirstElement(const View& view, const StorageRef& storage, size_t count) {
  return Tensor(View{view.dtype, {static_cast<int64_t>(count)}, {0}, view.offset}, storage);
}

Status MaskedSelectKernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(Masked m, BroadcastMask(self, call.args[1].tensor()));
  PAL_TRY(std::vector<int64_t> positions,
          TruePositions(Tensor(m.mask, call.args[1].tensor().storage)));
  if (static_cast<int64_t>(positions.size()) != call.results[0].numel()) {
    return RuntimeFailure("masked_select: the mask changed");
  }
  return ReadAt(FirstElement(m.self, self.storage, positions.size()), PlacesAt(m.self, positions),
                call.results[0]);
}

// The k-th true place of the mask gets the k-th element of source.
Status MaskedScatterMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& source = call.args[2].tensor();
  PAL_TRY(CheckMaskType(call.op, call.args[1].tensor()));
  if (self.dtype != source.dtype) {
    return Refused("dtype_mismatch",
                   fmt::format("masked_scatter: expected self and source to have same dtypes but "
                               "got {} and {}",
                               TorchName(self.dtype), TorchName(source.dtype)));
  }
  PAL_TRY(Masked m, BroadcastMask(self, call.args[1].tensor()));
  if (m.self.sizes != self.sizes) {
    return Unsupported("masked_scatter with a mask that is larger than self: expand self first");
  }
  call.results.push_back(ResultSpec::Fresh(self.dtype, self.sizes));
  return {};
}

Status MaskedScatterKernel(KernelCall& call) {
  const Tensor& result = call.results[0];
  const Tensor& source = call.args[2].tensor();
  PAL_TRY(Masked m, BroadcastMask(result, call.args[1].tensor()));
  PAL_TRY(std::vector<int64_t> positions,
          TruePositions(Tensor(m.mask, call.args[1].tensor().storage)));
  auto count = static_cast<int64_t>(positions.size());
  if (count > source.numel()) {
    return RuntimeFailure("Number of elements of source < number of ones in mask",
                          "source_size_mismatch");
  }
  // The first elements of source, packed: it may have any strides.
  std::vector<int64_t> first(positions.size());
  for (size_t i = 0; i < first.size(); ++i) first[i] = static_cast<int64_t>(i);
  PAL_TRY(Tensor values, EmptyTensor(source.dtype, Dims{count}));
  PAL_TRY(ReadAt(FirstElement(source.view(), source.storage, first.size()),
                 PlacesAt(source.view(), first), values));
  return WriteAt(FirstElement(m.self, result.storage, positions.size()),
                 PlacesAt(m.self, positions), values, FindCombine(Combine::kAssign, result.dtype));
}

}  // namespace

Status RegisterMasks(op::OpTable& table) {
  op::Traits writes;
  writes.may_refuse = true;
  writes.tied = 0;
  std::vector<BuiltinRow> rows = {
      {"aten::nonzero(Tensor self) -> Tensor", NonzeroMeta, NonzeroKernel},
      {"aten::masked_select(Tensor self, Tensor mask) -> Tensor", MaskedSelectMeta,
       MaskedSelectKernel},
      {"aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", MaskedScatterMeta,
       MaskedScatterKernel, writes},
  };
  rows.push_back(InPlaceForm(rows.back()));
  return RegisterBuiltinRows(table, std::move(rows));
}

}  // namespace palimpsest::kernels
