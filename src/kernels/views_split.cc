// Operators that cut a tensor into a list of views along one dim.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/builtin_row.h"
#include "kernels/reduce_dims.h"
#include "kernels/views.h"

namespace palimpsest::kernels {
namespace {

using op::MetaCall;
using op::ResultSpec;

// More pieces than this are refused: the list would not fit memory.
constexpr int64_t kMaxPieces = int64_t{1} << 24;

Result<size_t> SplitDim(const View& self, int64_t dim, std::string_view name) {
  if (self.dim() == 0) {
    return Refused("dim_out_of_range",
                   fmt::format("{} expects at least a 1-dimensional tensor", name));
  }
  PAL_TRY(int64_t wrapped, WrapDim(dim, self.dim()));
  return static_cast<size_t>(wrapped);
}

// One view per [begin, end) of `dim`, cut as slice cuts.
Status AddPieces(MetaCall& call, size_t dim, std::span<const std::pair<int64_t, int64_t>> ranges) {
  const Tensor& self = call.args[0].tensor();
  std::vector<ResultSpec> items;
  for (auto [begin, end] : ranges) {
    PAL_TRY(View view, SliceView(self, static_cast<int64_t>(dim), begin, end, 1));
    items.push_back(ResultSpec::ViewOf(0, std::move(view)));
  }
  call.results.push_back(ResultSpec::List(std::move(items)));
  return {};
}

Status SplitWithSizes(MetaCall& call, size_t dim, const Dims& sizes) {
  int64_t size = call.args[0].tensor().sizes[dim], begin = 0;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  auto refuse = [&] {
    return Refused("bad_split",
                   fmt::format("split_with_sizes expects split_sizes to sum exactly to {} (input "
                               "tensor's size at dimension {}) and to be non-negative, but got {}",
                               size, dim, ToString(sizes)));
  };
  for (int64_t piece : sizes) {
    if (piece < 0 || piece > size - begin) return refuse();
    ranges.emplace_back(begin, begin + piece);
    begin += piece;
  }
  if (begin != size) return refuse();
  return AddPieces(call, dim, ranges);
}

Status SplitEvery(MetaCall& call, size_t dim, int64_t step) {
  int64_t size = call.args[0].tensor().sizes[dim];
  if (step < 0 || (step == 0 && size != 0)) {
    return Refused("bad_split",
                   fmt::format("split expects split_size be non-negative, and positive where the "
                               "dimension is not empty, but got split_size={}",
                               step));
  }
  int64_t count = step == 0 ? 1 : std::max<int64_t>((size + step - 1) / step, 1);
  if (size > 0 && step > size) count = 1;  // size + step may wrap
  if (count > kMaxPieces) return Unsupported(fmt::format("split into {} pieces", count));
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (int64_t i = 0; i < count; ++i) {
    int64_t begin = i == 0 ? 0 : i * step;
    ranges.emplace_back(begin, size - begin > step ? begin + step : size);
  }
  return AddPieces(call, dim, ranges);
}

Status SplitMeta(MetaCall& call) {
  PAL_TRY(size_t dim, SplitDim(call.args[0].tensor(), call.args[2].ToInt(), "split"));
  return SplitEvery(call, dim, call.args[1].ToInt());
}

Status SplitWithSizesMeta(MetaCall& call) {
  PAL_TRY(size_t dim, SplitDim(call.args[0].tensor(), call.args[2].ToInt(), "split_with_sizes"));
  return SplitWithSizes(call, dim, call.args[1].ToDims());
}

Status ChunkMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(size_t dim, SplitDim(self, call.args[2].ToInt(), "chunk"));
  int64_t chunks = call.args[1].ToInt(), size = self.sizes[dim];
  if (chunks <= 0) {
    return Refused("bad_split",
                   fmt::format("chunk expects `chunks` to be greater than 0, got: {}", chunks));
  }
  if (size == 0) {
    if (chunks > kMaxPieces) return Unsupported(fmt::format("chunk into {} pieces", chunks));
    return SplitWithSizes(call, dim, Dims(static_cast<size_t>(chunks), 0));
  }
  return SplitEvery(call, dim, (size - 1) / chunks + 1);
}

Status UnbindMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(size_t dim, SplitDim(self, call.args[1].ToInt(), "unbind"));
  if (self.sizes[dim] > kMaxPieces) return Unsupported("unbind into too many pieces");
  std::vector<ResultSpec> items;
  for (int64_t i = 0; i < self.sizes[dim]; ++i) {
    PAL_TRY(View view, SelectView(self, static_cast<int64_t>(dim), i));
    items.push_back(ResultSpec::ViewOf(0, std::move(view)));
  }
  call.results.push_back(ResultSpec::List(std::move(items)));
  return {};
}

// The first size % sections pieces are one longer.
Status TensorSplitSections(MetaCall& call, size_t dim, int64_t sections) {
  if (sections <= 0) {
    return Refused("bad_split",
                   fmt::format("number of sections must be larger than 0, got {}", sections));
  }
  if (sections > kMaxPieces) return Unsupported(fmt::format("split into {} pieces", sections));
  int64_t size = call.args[0].tensor().sizes[dim];
  Dims sizes;
  for (int64_t i = 0; i < sections; ++i) {
    sizes.push_back(size / sections + (i < size % sections ? 1 : 0));
  }
  return SplitWithSizes(call, dim, sizes);
}

Status TensorSplitIndices(MetaCall& call, size_t dim, const Dims& indices) {
  int64_t size = call.args[0].tensor().sizes[dim], begin = 0;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (int64_t index : indices) {
    ranges.emplace_back(begin, index);
    begin = index;
  }
  ranges.emplace_back(begin, size);
  return AddPieces(call, dim, ranges);
}

Status TensorSplitMeta(MetaCall& call) {
  PAL_TRY(size_t dim, SplitDim(call.args[0].tensor(), call.args[2].ToInt(), "tensor_split"));
  if (call.op.schema.overload == "indices") {
    return TensorSplitIndices(call, dim, call.args[1].ToDims());
  }
  return TensorSplitSections(call, dim, call.args[1].ToInt());
}

// hsplit, vsplit, dsplit: tensor_split along a fixed dim, of equal pieces where a number is given.
template <int kDim>
Status StackSplitMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  constexpr size_t kLeastRank[] = {2, 1, 3};  // vsplit, hsplit, dsplit
  if (self.dim() < kLeastRank[kDim]) {
    return Refused("dim_out_of_range", fmt::format("{} of a tensor with {} dimensions",
                                                   call.op.schema.name, self.dim()));
  }
  size_t dim = kDim == 1 && self.dim() == 1 ? 0 : kDim;
  if (call.op.schema.overload == "array") {
    return TensorSplitIndices(call, dim, call.args[1].ToDims());
  }
  int64_t sections = call.args[1].ToInt();
  if (sections == 0 || self.sizes[dim] % sections != 0) {
    return Refused("bad_split",
                   fmt::format("{} attempted to split along dimension {}, but the size of the "
                               "dimension {} is not divisible by the split_size {}!",
                               call.op.schema.name, dim, self.sizes[dim], sections));
  }
  return TensorSplitSections(call, dim, sections);
}

}  // namespace

Status RegisterSplits(op::OpTable& table) {
  std::string self = "(Tensor(a -> *) self, ", list = " -> Tensor(a)[]";
  std::vector<BuiltinRow> rows = {
      {.schema = "aten::split.Tensor" + self + "SymInt split_size, int dim=0)" + list,
       .meta = SplitMeta},
      {.schema = "aten::split.sizes" + self + "SymInt[] split_size, int dim=0)" + list,
       .meta = SplitWithSizesMeta},
      {.schema = "aten::split" + self + "int[] split_sizes, int dim=0)" + list,
       .meta = SplitWithSizesMeta},
      {.schema = "aten::split_with_sizes" + self + "SymInt[] split_sizes, int dim=0)" + list,
       .meta = SplitWithSizesMeta},
      {.schema = "aten::chunk" + self + "int chunks, int dim=0)" + list, .meta = ChunkMeta},
      {.schema = "aten::unbind.int" + self + "int dim=0)" + list, .meta = UnbindMeta},
      {.schema = "aten::tensor_split.sections" + self + "SymInt sections, int dim=0)" + list,
       .meta = TensorSplitMeta},
      {.schema = "aten::tensor_split.indices" + self + "SymInt[] indices, int dim=0)" + list,
       .meta = TensorSplitMeta},
  };
  const std::pair<const char*, op::MetaFn> stacked[] = {
      {"hsplit", StackSplitMeta<1>}, {"vsplit", StackSplitMeta<0>}, {"dsplit", StackSplitMeta<2>}};
  for (const auto& [name, meta] : stacked) {
    rows.push_back(
        {.schema = fmt::format("aten::{}.int{}int sections){}", name, self, list), .meta = meta});
    rows.push_back({.schema = fmt::format("aten::{}.array{}int[] indices){}", name, self, list),
                    .meta = meta});
  }
  return RegisterBuiltinRows(table, std::move(rows));
}

}  // namespace palimpsest::kernels
