// Reads along one dim: index_select, gather, take_along_dim, embedding, take, one_hot.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/copy_cast.h"
#include "kernels/indexing.h"
#include "kernels/indexing_places.h"
#include "kernels/reduce_dims.h"
#include "kernels/views.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

// A tensor without dims is one of a single element here.
View AtLeastOneDim(View view) {
  if (view.dim() > 0) return view;
  view.sizes = {1};
  view.strides = {1};
  return view;
}

// ---- index_select

Status IndexSelectMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& index = call.args[2].tensor();
  PAL_TRY(int64_t dim, WrapDim(call.args[1].ToInt(), self.dim()));
  if (index.dim() > 1) {
    return Refused("size_mismatch", "index_select(): Index is supposed to be a vector");
  }
  PAL_TRY(CheckIndexType(call.op, index, true));
  Dims sizes = self.sizes;
  if (self.dim() == 0) {
    if (index.numel() != 1) {
      return Refused("size_mismatch", "index_select(): Index to scalar can have only 1 value");
    }
  } else {
    sizes[static_cast<size_t>(dim)] = index.numel();
  }
  call.results.push_back(ResultSpec::Fresh(self.dtype, sizes));
  return {};
}

// result[.., k.., ..] = source[.., index[k..], ..]: the index dims stand at `dim` of the result.
Status SelectAlong(const Tensor& source, size_t dim, const Tensor& index, const Tensor& result) {
  View from = AtLeastOneDim(source.view());
  int64_t size = from.sizes[dim], stride = from.strides[dim] * from.item_size();
  Places places;
  PAL_TRY(std::vector<int64_t> values, ReadIntegers(index, index.sizes));
  places.bytes.assign(values.size(), 0);
  PAL_TRY(AddPlaces(values, size, stride, NegativeIndex::kRefused, static_cast<int64_t>(dim),
                    places.bytes));
  View seen{from.dtype, {}, {}, from.offset};
  places.view = View{DType::kI64, {}, {}, 0};
  Dims packed = ContiguousStrides(index.sizes);
  auto add = [&](int64_t n, int64_t source_stride, int64_t place_stride) {
    seen.sizes.push_back(n);
    seen.strides.push_back(source_stride);
    places.view.sizes.push_back(n);
    places.view.strides.push_back(place_stride);
  };
  for (size_t d = 0; d < dim; ++d) add(from.sizes[d], from.strides[d], 0);
  for (size_t d = 0; d < index.dim(); ++d) add(index.sizes[d], 0, packed[d]);
  for (size_t d = dim + 1; d < from.dim(); ++d) add(from.sizes[d], from.strides[d], 0);
  return ReadAt(Tensor(seen, source.storage), places, result);
}

Status IndexSelectKernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(int64_t dim, WrapDim(call.args[1].ToInt(), self.dim()));
  Tensor index = call.args[2].tensor(), result = call.results[0];
  static_cast<View&>(index) = AtLeastOneDim(index.view());
  static_cast<View&>(result) = AtLeastOneDim(result.view());
  return SelectAlong(self, static_cast<size_t>(dim), index, result);
}

// ---- embedding: rows of a matrix.

Status EmbeddingMeta(MetaCall& call) {
  const Tensor& weight = call.args[0].tensor();
  const Tensor& indices = call.args[1].tensor();
  if (weight.dim() != 2) return Refused("size_mismatch", "'weight' must be 2-D");
  PAL_TRY(CheckIndexType(call.op, indices, true));
  Dims sizes = indices.sizes;
  sizes.push_back(weight.sizes[1]);
  call.results.push_back(ResultSpec::Fresh(weight.dtype, sizes));
  return {};
}

Status EmbeddingKernel(KernelCall& call) {
  return SelectAlong(call.args[0].tensor(), 0, call.args[1].tensor(), call.results[0]);
}

// ---- gather: every dim but one is read at its own place.

Status CheckGather(const op::Op& op, const Tensor& self, int64_t dim, const Tensor& index) {
  PAL_TRY(CheckIndexType(op, index, true));
  if (index.numel() == 0) return {};
  if (AtLeastOneDim(self).dim() != AtLeastOneDim(index).dim()) {
    return Refused("source_size_mismatch",
                   "Index tensor must have the same number of dimensions as input tensor");
  }
  for (size_t d = 0; d < std::min(self.dim(), index.dim()); ++d) {
    if (static_cast<int64_t>(d) == dim || index.sizes[d] <= self.sizes[d]) continue;
    return Refused("source_size_mismatch",
                   fmt::format("Size does not match at dimension {} expected index {} to be no "
                               "larger than self {} apart from dimension {}",
                               d, ToString(index.sizes), ToString(self.sizes), dim));
  }
  return {};
}

Status GatherMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& index = call.args[2].tensor();
  PAL_TRY(int64_t dim, WrapDim(call.args[1].ToInt(), self.dim()));
  PAL_TRY(CheckGather(call.op, self, dim, index));
  call.results.push_back(ResultSpec::Fresh(self.dtype, index.sizes));
  return {};
}

// `index` and `result` have the same sizes, `self` at least these apart from `dim`.
Status GatherAlong(const Tensor& self, size_t dim, const Tensor& index, const Tensor& result,
                   NegativeIndex negative) {
  if (index.numel() == 0) return {};
  View from = AtLeastOneDim(self.view()), to = AtLeastOneDim(result.view());
  Places places;
  PAL_TRY(std::vector<int64_t> values, ReadIntegers(index, index.sizes));
  places.bytes.assign(values.size(), 0);
  PAL_TRY(AddPlaces(values, from.sizes[dim], from.strides[dim] * from.item_size(), negative,
                    static_cast<int64_t>(dim), places.bytes));
  places.view = ContiguousView(DType::kI64, to.sizes);
  from.sizes = to.sizes;
  from.strides[dim] = 0;
  return ReadAt(Tensor(from, self.storage), places, Tensor(to, result.storage));
}

Status GatherKernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(int64_t dim, WrapDim(call.args[1].ToInt(), self.dim()));
  return GatherAlong(self, static_cast<size_t>(dim), call.args[2].tensor(), call.results[0],
                     NegativeIndex::kRefused);
}

// ---- take_along_dim: gather after broadcasting self and indices outside dim.

struct Broadcast {
  View self, index;
  size_t dim = 0;
};

Result<Broadcast> BroadcastOutside(const Tensor& self, const Tensor& index, const Value& dim) {
  Broadcast b;
  if (dim.IsNone()) {
    Dims flat = {-1};
    PAL_TRY(b.self, ReshapeView(self, flat));
    PAL_TRY(b.index, ReshapeView(index, flat));
    return b;
  }
  if (self.dim() != index.dim()) {
    return Refused("size_mismatch",
                   fmt::format("torch.take_along_dim(): input and indices should have the same "
                               "number of dimensions, but got {} dimensions for input, and {} "
                               "dimensions for indices",
                               self.dim(), index.dim()));
  }
  PAL_TRY(int64_t wrapped, WrapDim(dim.ToInt(), self.dim()));
  b.dim = static_cast<size_t>(wrapped);
  Dims self_sizes = self.sizes, index_sizes = index.sizes;
  if (self.dim() > 0) {
    self_sizes[b.dim] = index_sizes[b.dim] = 1;
    PAL_TRY(Dims common, BroadcastShapes(self_sizes, index_sizes));
    self_sizes = index_sizes = common;
    self_sizes[b.dim] = self.sizes[b.dim];
    index_sizes[b.dim] = index.sizes[b.dim];
  }
  PAL_TRY(b.self, ExpandView(self, self_sizes));
  PAL_TRY(b.index, ExpandView(index, index_sizes));
  return b;
}

Status TakeAlongDimMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(CheckIndexType(call.op, call.args[1].tensor(), false));
  PAL_TRY(Broadcast b, BroadcastOutside(self, call.args[1].tensor(), call.args[2]));
  call.results.push_back(ResultSpec::Fresh(self.dtype, b.index.sizes));
  return {};
}
Status TakeAlongDimKernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& index = call.args[1].tensor();
  PAL_TRY(Broadcast b, BroadcastOutside(self, index, call.args[2]));
  return GatherAlong(Tensor(b.self, self.storage), b.dim, Tensor(b.index, index.storage),
                     call.results[0], NegativeIndex::kRefused);
}

// ---- take: places in self, row by row.

Status TakeMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& index = call.args[1].tensor();
  PAL_TRY(CheckIndexType(call.op, index, false));
  if (self.numel() == 0 && index.numel() != 0) {
    return Refused("index_out_of_range", "take(): tried to take from an empty tensor");
  }
  call.results.push_back(ResultSpec::Fresh(self.dtype, index.sizes));
  return {};
}

Status TakeKernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& index = call.args[1].tensor();
  PAL_TRY(std::vector<int64_t> values, ReadIntegers(index, index.sizes));
  std::vector<int64_t> linear(values.size(), 0);
  PAL_TRY(AddPlaces(values, self.numel(), 1, NegativeIndex::kWraps, 0, linear));
  Places places;
  for (int64_t place : linear) places.bytes.push_back(OffsetOfLinear(self.view(), place));
  places.view = ContiguousView(DType::kI64, index.sizes);
  View first{self.dtype, index.sizes, Dims(index.dim(), 0), self.offset};
  return ReadAt(Tensor(first, self.storage), places, call.results[0]);
}

// ---- one_hot

Status OneHotMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  int64_t classes = call.args[1].ToInt();
  if (self.dtype != DType::kI64) {
    return Refused("unsupported_dtype",
                   "one_hot is only applicable to index tensor of type LongTensor.");
  }
  if (classes == -1) {
    return Unsupported(
        "one_hot: the size of the result hangs on the contents of self: say num_classes");
  }
  if (classes < 1) {
    return Refused("bad_argument", fmt::format("num_classes should be positive, got {}", classes));
  }
  Dims sizes = self.sizes;
  sizes.push_back(classes);
  call.results.push_back(ResultSpec::Fresh(DType::kI64, sizes));
  return {};
}

Status OneHotKernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& result = call.results[0];
  PAL_TRY(std::vector<int64_t> values, ReadIntegers(self, self.sizes));
  Places places;
  places.bytes.assign(values.size(), 0);
  PAL_TRY(AddPlaces(values, result.sizes.back(), result.strides.back() * result.item_size(),
                    NegativeIndex::kRefused, static_cast<int64_t>(self.dim()), places.bytes));
  PAL_TRY(FillWith(Scalar::Int(0), result));
  places.view = ContiguousView(DType::kI64, self.sizes);
  View ones = result.view();
  ones.sizes.pop_back();
  ones.strides.pop_back();
  PAL_TRY(Tensor one, EmptyTensor(DType::kI64, {}));
  *one.data_as<int64_t>() = 1;
  PAL_TRY(View everywhere, ExpandView(one.view(), self.sizes));
  return WriteAt(Tensor(ones, result.storage), places, Tensor(everywhere, one.storage),
                 FindCombine(Combine::kAssign, DType::kI64));
}

}  // namespace

Status RegisterIndexSelections(op::OpTable& table) {
  op::Traits reads;
  reads.may_refuse = true;
  return RegisterBuiltinRows(
      table,
      {
          {"aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", IndexSelectMeta,
           IndexSelectKernel, reads},
          {"aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
           "scale_grad_by_freq=False, bool sparse=False) -> Tensor",
           EmbeddingMeta, EmbeddingKernel, reads},
          {"aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
           GatherMeta, GatherKernel, reads},
          {"aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
           TakeAlongDimMeta, TakeAlongDimKernel, reads},
          {"aten::take(Tensor self, Tensor index) -> Tensor", TakeMeta, TakeKernel, reads},
          {"aten::one_hot(Tensor self, int num_classes=-1) -> Tensor", OneHotMeta, OneHotKernel,
           reads},
      });
}

}  // namespace palimpsest::kernels
