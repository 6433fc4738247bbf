// index.Tensor and index_put.
#include "kernels/indexing_advanced.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/indexing.h"
#include "kernels/views.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {

Result<std::vector<std::vector<int64_t>>> NonzeroPlaces(const Tensor& mask) {
  // The mask as packed bools.
  PAL_TRY(Tensor packed, EmptyTensor(DType::kB8, mask.sizes));
  PAL_TRY(CopyTo(mask, packed));
  std::vector<std::vector<int64_t>> places(mask.dim());
  const auto* holds = packed.data_as<uint8_t>();
  Dims at(mask.dim(), 0);
  for (int64_t i = 0, n = packed.numel(); i < n; ++i) {
    if (holds[i] != 0) {
      for (size_t d = 0; d < at.size(); ++d) places[d].push_back(at[d]);
    }
    for (size_t d = at.size(); d-- > 0;) {  // the odometer
      if (++at[d] < mask.sizes[d]) break;
      at[d] = 0;
    }
  }
  return places;
}

Result<Tensor> TensorOf(const std::vector<int64_t>& values) {
  PAL_TRY(Tensor t, EmptyTensor(DType::kI64, Dims{static_cast<int64_t>(values.size())}));
  if (!values.empty()) std::memcpy(t.data(), values.data(), values.size() * sizeof(int64_t));
  return t;
}

namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

bool IsMask(const Tensor& t) { return t.dtype == DType::kB8 || t.dtype == DType::kU8; }

// A mask over dims [dim, dim + mask.dim()) of x.
Status AddMask(const Tensor& x, const Tensor& mask, int64_t dim, AdvancedIndex& result) {
  for (size_t d = 0; d < mask.dim(); ++d) {
    size_t of_x = static_cast<size_t>(dim) + d;
    if (of_x < x.dim() && mask.sizes[d] == x.sizes[of_x]) continue;
    return Refused("index_out_of_range",
                   fmt::format("The shape of the mask {} at index {} does not match the shape of "
                               "the indexed tensor {} at index {}",
                               ToString(mask.sizes), d, ToString(x.sizes), of_x));
  }
  if (mask.storage->shape_only()) {
    result.unknown = true;
    for (size_t d = 0; d < mask.dim(); ++d) {
      result.dims.push_back({Tensor(), dim + static_cast<int64_t>(d)});
    }
    return {};
  }
  PAL_TRY(std::vector<std::vector<int64_t>> places, NonzeroPlaces(mask));
  for (size_t d = 0; d < mask.dim(); ++d) {
    PAL_TRY(Tensor index, TensorOf(places[d]));
    result.dims.push_back({std::move(index), dim + static_cast<int64_t>(d)});
  }
  return {};
}

Status CollectDims(const Tensor& x, const Value::List& indices, AdvancedIndex& result) {
  int64_t dim = 0;
  for (const Value& value : indices) {
    if (value.IsNone()) {
      ++dim;
      continue;
    }
    const Tensor& index = value.tensor();
    if (IsMask(index)) {
      PAL_TRY(AddMask(x, index, dim, result));
      dim += static_cast<int64_t>(index.dim());
      continue;
    }
    if (index.dtype != DType::kI64 && index.dtype != DType::kI32) {
      return Refused("unsupported_dtype",
                     "tensors used as indices must be long, int, byte or bool tensors");
    }
    result.dims.push_back({index, dim++});
  }
  if (dim > static_cast<int64_t>(x.dim())) {
    return Refused(
        "index_out_of_range",
        fmt::format("too many indices for tensor of dimension {} (got {})", x.dim(), dim));
  }
  if (result.dims.empty()) {
    return Unsupported("indexing with no index tensor (PyTorch refuses it too)");
  }
  return {};
}

bool StandSideBySide(const AdvancedIndex& index) {
  for (size_t i = 1; i < index.dims.size(); ++i) {
    if (index.dims[i].dim != index.dims[i - 1].dim + 1) return false;
  }
  return true;
}

bool IsIndexed(const AdvancedIndex& index, size_t dim) {
  return std::any_of(index.dims.begin(), index.dims.end(), [&](const AdvancedIndex::OneDim& d) {
    return d.dim == static_cast<int64_t>(dim);
  });
}

void SetSource(const Tensor& x, AdvancedIndex& index) {
  index.source = View{x.dtype, {}, {}, x.offset};
  auto add_index_dims = [&] {
    index.first = index.source.dim();
    for (int64_t size : index.shape) {
      index.source.sizes.push_back(size);
      index.source.strides.push_back(0);
    }
  };
  bool in_place = StandSideBySide(index);
  if (!in_place) add_index_dims();
  for (size_t d = 0; d < x.dim(); ++d) {
    if (in_place && static_cast<int64_t>(d) == index.dims[0].dim) add_index_dims();
    if (IsIndexed(index, d)) continue;
    index.source.sizes.push_back(x.sizes[d]);
    index.source.strides.push_back(x.strides[d]);
  }
}

// An index tensor against the sizes of the result: dims of size 1 around its own.
View AsOperand(const View& index, const AdvancedIndex& all) {
  View view = index;
  size_t after = all.source.dim() - all.first - all.shape.size();
  view.sizes = view.strides = Dims();
  for (size_t d = 0; d < all.source.dim(); ++d) {
    bool outside = d < all.first || d >= all.source.dim() - after;
    view.sizes.push_back(outside ? 1 : index.sizes[d - all.first]);
    view.strides.push_back(outside ? 0 : index.strides[d - all.first]);
  }
  return view;
}

}  // namespace

Result<AdvancedIndex> ResolveIndices(const Tensor& x, const Value::List& indices) {
  AdvancedIndex result;
  PAL_TRY(CollectDims(x, indices, result));
  if (result.unknown) return result;
  for (const AdvancedIndex::OneDim& d : result.dims) {
    Result<Dims> shape = BroadcastShapes(result.shape, d.index.sizes);
    if (!shape.ok()) {
      return Refused("broadcast_mismatch",
                     fmt::format("shape mismatch: indexing tensors could not be broadcast together "
                                 "with shapes {}, {}",
                                 ToString(result.shape), ToString(d.index.sizes)));
    }
    result.shape = *std::move(shape);
  }
  bool none = std::find(result.shape.begin(), result.shape.end(), 0) != result.shape.end();
  for (const AdvancedIndex::OneDim& d : result.dims) {
    if (none || x.sizes[static_cast<size_t>(d.dim)] != 0) continue;
    return Refused("index_out_of_range", "index is out of bounds for dimension with size 0");
  }
  SetSource(x, result);
  PAL_TRY(CheckedNumel(result.source.sizes));
  return result;
}

Result<Places> PlacesOf(const Tensor& x, const AdvancedIndex& index) {
  Places places;
  PAL_TRY(int64_t count, CheckedNumel(index.shape));
  places.bytes.assign(static_cast<size_t>(count), 0);
  for (const AdvancedIndex::OneDim& d : index.dims) {
    PAL_TRY(std::vector<int64_t> values, ReadIntegers(d.index, index.shape));
    auto at = static_cast<size_t>(d.dim);
    PAL_TRY(AddPlaces(values, x.sizes[at], x.strides[at] * x.item_size(), NegativeIndex::kWraps,
                      d.dim, places.bytes));
  }
  places.view = AsOperand(ContiguousView(DType::kI64, index.shape), index);
  return places;
}

Result<View> IndexedLayout(const AdvancedIndex& index) {
  IteratorConfig config = IteratorConfig::Walk();
  config.new_output_dtype = index.source.dtype;
  std::vector<View> operands;
  for (const AdvancedIndex::OneDim& d : index.dims) {
    PAL_TRY(View expanded, ExpandView(d.index.view(), index.shape));
    operands.push_back(AsOperand(expanded, index));
  }
  config.AddOutput().AddInput(index.source);
  for (const View& operand : operands) config.AddInput(operand);
  PAL_TRY(Iteration iteration, Iteration::Build(config));
  return iteration.output(0);
}

namespace {

Error SizeHangsOnData(const op::Op& op) {
  return Unsupported(
      fmt::format("{}: the size of the result hangs on the contents of a mask; select with where, "
                  "or index with integers",
                  op.schema.Key()));
}

Status IndexMeta(MetaCall& call) {
  PAL_TRY(AdvancedIndex index, ResolveIndices(call.args[0].tensor(), call.args[1].list()));
  if (index.unknown) return SizeHangsOnData(call.op);
  PAL_TRY(View layout, IndexedLayout(index));
  call.results.push_back(ResultSpec::Fresh(std::move(layout)));
  return {};
}

Status IndexKernel(KernelCall& call) {
  const Tensor& x = call.args[0].tensor();
  PAL_TRY(AdvancedIndex index, ResolveIndices(x, call.args[1].list()));
  if (index.source.sizes != call.results[0].sizes) {
    return RuntimeFailure(fmt::format("{}: the result has sizes {}, {} were expected",
                                      call.op.schema.Key(), ToString(index.source.sizes),
                                      ToString(call.results[0].sizes)));
  }
  if (call.results[0].numel() == 0) return {};  // as eager: no index is looked at
  PAL_TRY(Places places, PlacesOf(x, index));
  return ReadAt(Tensor(index.source, x.storage), places, call.results[0]);
}

// The values as the indexed elements: broadcast to them.
Result<View> ExpandedValues(const AdvancedIndex& index, const Tensor& values) {
  Result<View> expanded = ExpandView(values.view(), index.source.sizes);
  if (expanded.ok()) return expanded;
  return Refused("broadcast_mismatch",
                 fmt::format("shape mismatch: value tensor of shape {} cannot be broadcast to "
                             "indexing result of shape {}",
                             ToString(values.sizes), ToString(index.source.sizes)));
}

// One number into the places of one mask is masked_fill: the number is converted.
bool IsMaskedFill(std::span<const Value> args) {
  if (args[2].tensor().numel() != 1 || args[3].ToBool()) return false;
  int masks = 0;
  for (const Value& index : args[1].list()) {
    if (index.IsNone()) continue;
    if (!IsMask(index.tensor())) return false;
    ++masks;
  }
  return masks == 1;
}

Status IndexPutMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& values = call.args[2].tensor();
  bool fill = IsMaskedFill(call.args);
  if (self.dtype != values.dtype && !fill) {
    return Refused("dtype_mismatch",
                   fmt::format("Index put requires the source and destination dtypes match, got "
                               "{} for the destination and {} for the source.",
                               TorchName(self.dtype), TorchName(values.dtype)));
  }
  PAL_TRY(AdvancedIndex index, ResolveIndices(self, call.args[1].list()));
  if (fill && IsComplex(values.dtype) && !IsComplex(self.dtype)) {
    return Refused("dtype_mismatch", "value cannot be converted to the type of self");
  }
  if (!index.unknown && !fill) PAL_TRY(ExpandedValues(index, values));
  PAL_TRY(View layout, CopyLayout(self, MemoryFormat::kPreserve));
  call.results.push_back(ResultSpec::Fresh(std::move(layout)));
  return {};
}

Status IndexPutKernel(KernelCall& call) {
  const Tensor& result = call.results[0];
  Tensor values = call.args[2].tensor();
  if (IsMaskedFill(call.args)) {
    PAL_TRY(View number, ReshapeView(values.view(), Dims()));
    PAL_TRY(Tensor converted, EmptyTensor(result.dtype, {}));
    PAL_TRY(CopyTo(Tensor(number, values.storage), converted));
    values = converted;
  }
  PAL_TRY(AdvancedIndex index, ResolveIndices(result, call.args[1].list()));
  PAL_TRY(View expanded, ExpandedValues(index, values));
  if (expanded.numel() == 0) return {};
  PAL_TRY(Places places, PlacesOf(result, index));
  Combine combine = call.args[3].ToBool() ? Combine::kAdd : Combine::kAssign;
  return WriteAt(Tensor(index.source, result.storage), places, Tensor(expanded, values.storage),
                 FindCombine(combine, result.dtype));
}

}  // namespace

Status RegisterAdvancedIndexing(op::OpTable& table) {
  op::Traits reads, writes;
  reads.may_refuse = writes.may_refuse = true;
  writes.tied = 0;
  std::vector<BuiltinRow> rows = {
      {"aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", IndexMeta, IndexKernel,
       reads},
      {"aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", IndexMeta,
       IndexKernel, reads},
      {"aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool "
       "accumulate=False) -> Tensor",
       IndexPutMeta, IndexPutKernel, writes},
      {"aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> "
       "Tensor",
       IndexPutMeta, IndexPutKernel, writes},
  };
  rows.push_back(InPlaceForm(rows.back(), SelfOverlap::kUnsupported));
  return RegisterBuiltinRows(table, std::move(rows));
}

}  // namespace palimpsest::kernels
