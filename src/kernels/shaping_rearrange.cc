// repeat, tile, flip, roll, rot90, repeat_interleave: each dim of the result is a map into a dim of
// self.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/indexing_places.h"
#include "kernels/reduce_dims.h"
#include "kernels/shaping.h"
#include "kernels/views.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

DimMaps IdentityMaps(const Dims& sizes) {
  DimMaps maps;
  for (int64_t size : sizes) maps.push_back(IdentityMap(size));
  return maps;
}

// ---- repeat, tile

// Leading dims of size 1 until there are as many as repeats.
View WithLeadingDims(const View& self, size_t rank) {
  View view = self;
  while (view.dim() < rank) {
    view.sizes.insert(view.sizes.begin(), 1);
    view.strides.insert(view.strides.begin(), 0);
  }
  return view;
}

Result<Dims> RepeatsOf(const op::Op& op, std::span<const Value> args) {
  Dims repeats = args[1].ToDims();
  size_t rank = args[0].tensor().dim();
  if (op.schema.name == "tile") {
    while (repeats.size() < rank) repeats.insert(repeats.begin(), 1);
  }
  if (repeats.size() < rank) {
    return Refused("size_mismatch",
                   "Number of dimensions of repeat dims can not be smaller than number of "
                   "dimensions of tensor");
  }
  return repeats;
}

Status RepeatMeta(MetaCall& call) {
  PAL_TRY(Dims repeats, RepeatsOf(call.op, call.args));
  View self = WithLeadingDims(call.args[0].tensor(), repeats.size());
  Dims sizes;
  for (size_t d = 0; d < repeats.size(); ++d) {
    int64_t size;
    if (repeats[d] < 0 || __builtin_mul_overflow(repeats[d], self.sizes[d], &size)) {
      return Refused("negative_size",
                     fmt::format("Trying to create tensor with negative dimension: repeats {} of "
                                 "sizes {}",
                                 ToString(repeats), ToString(self.sizes)));
    }
    sizes.push_back(size);
  }
  PAL_TRY(CheckSizes(sizes));
  call.results.push_back(ResultSpec::Fresh(self.dtype, sizes));
  return {};
}

Status RepeatKernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& result = call.results[0];
  if (result.numel() == 0) return {};
  View source = WithLeadingDims(self, result.dim());
  DimMaps maps = IdentityMaps(result.sizes);
  for (size_t d = 0; d < maps.size(); ++d) {
    for (int64_t& place : maps[d]) place %= source.sizes[d];
  }
  return CopyMapped(Tensor(source, self.storage), maps, result);
}

// ---- flip

Result<SmallVector<bool, 6>> FlippedDims(const op::Op& op, std::span<const Value> args) {
  const Tensor& self = args[0].tensor();
  SmallVector<bool, 6> flipped(std::max<size_t>(self.dim(), 1), false);
  Dims dims;
  if (op.schema.name == "fliplr") dims = {1};
  if (op.schema.name == "flipud") dims = {0};
  if (op.schema.name == "flip") dims = args[1].ToDims();
  for (int64_t dim : dims) {
    PAL_TRY(int64_t d, WrapDim(dim, self.dim()));
    if (flipped[static_cast<size_t>(d)]) {
      return Refused("dim_repeated",
                     fmt::format("dim {} appears multiple times in the list of dims", d));
    }
    flipped[static_cast<size_t>(d)] = true;
  }
  return flipped;
}

Status AddLikeSelf(MetaCall& call, MemoryFormat format) {
  PAL_TRY(View view, CopyLayout(call.args[0].tensor(), format));
  call.results.push_back(ResultSpec::Fresh(std::move(view)));
  return {};
}

Status FlipMeta(MetaCall& call) {
  PAL_TRY(FlippedDims(call.op, call.args));
  return AddLikeSelf(call, MemoryFormat::kPreserve);
}

void Reverse(std::vector<int64_t>& map) { std::reverse(map.begin(), map.end()); }

Status FlipKernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(auto flipped, FlippedDims(call.op, call.args));
  DimMaps maps = IdentityMaps(self.sizes);
  for (size_t d = 0; d < maps.size(); ++d) {
    if (flipped[d]) Reverse(maps[d]);
  }
  return CopyMapped(self, maps, call.results[0]);
}

// ---- roll

struct Shift {
  size_t dim;
  int64_t by;  // 0 .. size - 1
};

// Without dims self is rolled as one long row, which is a dim of its own here.
Result<std::vector<Shift>> ShiftsOf(std::span<const Value> args) {
  const Tensor& self = args[0].tensor();
  Dims shifts = args[1].ToDims(), dims = args[2].ToDims();
  if (shifts.empty()) return Refused("size_mismatch", "`shifts` required");
  bool flat = dims.empty() && shifts.size() == 1;
  if (!flat && dims.size() != shifts.size()) {
    return Refused("size_mismatch",
                   fmt::format("shifts and dimensions must align. shifts: {}, dims:{}",
                               shifts.size(), dims.size()));
  }
  std::vector<Shift> result;
  for (size_t i = 0; i < shifts.size(); ++i) {
    int64_t dim = 0;
    if (!flat && self.dim() == 0) {
      return Refused(
          "dim_out_of_range",
          fmt::format("Dimension specified as {} but tensor has no dimensions", dims[i]));
    }
    if (!flat) {
      PAL_TRY(dim, WrapDim(dims[i], self.dim()));
    }
    int64_t size = flat || self.dim() == 0 ? self.numel() : self.sizes[static_cast<size_t>(dim)];
    int64_t by = size == 0 ? 0 : shifts[i] % size;
    result.push_back({static_cast<size_t>(dim), by < 0 ? by + size : by});
  }
  return result;
}

// PyTorch joins the two parts of each rolled dim with cat: the layout is their common format, and a
// dim that is rolled once around has an empty part, which is contiguous.
Status RollMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  // One dim of nothing is cloned before anything else is looked at.
  bool one = call.args[1].ToDims().size() == 1 && call.args[2].ToDims().size() == 1;
  if (one && self.numel() == 0) return AddLikeSelf(call, MemoryFormat::kPreserve);
  PAL_TRY(std::vector<Shift> shifts, ShiftsOf(call.args));
  if (call.args[2].ToDims().empty()) return AddLikeSelf(call, MemoryFormat::kContiguous);
  if (self.numel() == 0) return AddLikeSelf(call, MemoryFormat::kPreserve);
  View view = self.view();
  for (const Shift& shift : shifts) {
    View first = view, second = view;
    if (view.dim() > 0) {
      first.sizes[shift.dim] = shift.by;
      second.sizes[shift.dim] -= shift.by;
    }
    MemoryFormat format = SuggestedFormat(second);
    if (SuggestedFormat(first) != format) format = MemoryFormat::kContiguous;
    PAL_TRY(view, CopyLayout(view, format));
  }
  view.offset = 0;
  call.results.push_back(ResultSpec::Fresh(std::move(view)));
  return {};
}

Status RollKernel(KernelCall& call) {
  Tensor self = call.args[0].tensor();
  const Tensor& result = call.results[0];
  if (self.numel() == 0) return {};
  PAL_TRY(std::vector<Shift> shifts, ShiftsOf(call.args));
  Tensor target = result;
  bool flat = call.args[2].ToDims().empty();
  if (flat) {  // both as one row, packed
    PAL_TRY(Tensor packed, EmptyTensor(self.dtype, self.sizes));
    PAL_TRY(CopyTo(self, packed));
    PAL_TRY(target, EmptyTensor(self.dtype, Dims{self.numel()}));
    self = Tensor(target.view(), packed.storage);
  }
  DimMaps maps = IdentityMaps(self.sizes);
  for (const Shift& shift : shifts) {
    if (maps.empty()) break;
    std::vector<int64_t>& map = maps[shift.dim];
    std::rotate(map.begin(), map.end() - shift.by, map.end());
  }
  PAL_TRY(CopyMapped(self, maps, target));
  if (!flat) return {};
  return CopyTo(Tensor(ContiguousView(result.dtype, result.sizes), target.storage), result);
}

// ---- rot90: k quarter turns in the plane of two dims.

struct Turn {
  int64_t k;  // 0 .. 3
  size_t a, b;
};
Result<Turn> TurnOf(std::span<const Value> args) {
  const Tensor& self = args[0].tensor();
  Dims dims = args[2].ToDims();
  if (dims.size() != 2) {
    return Refused(
        "size_mismatch",
        fmt::format("expected total rotation dims == 2, but got dims = {}", dims.size()));
  }
  if (self.dim() < 2) {
    return Refused("size_mismatch",
                   fmt::format("expected total dims >= 2, but got total dims = {}", self.dim()));
  }
  PAL_TRY(int64_t a, WrapDim(dims[0], self.dim()));
  PAL_TRY(int64_t b, WrapDim(dims[1], self.dim()));
  if (a == b) return Refused("dim_repeated", "expected rotation dims to be different");
  int64_t k = args[1].ToInt() % 4;
  return Turn{k < 0 ? k + 4 : k, static_cast<size_t>(a), static_cast<size_t>(b)};
}

Status Rot90Meta(MetaCall& call) {
  PAL_TRY(Turn turn, TurnOf(call.args));
  if (turn.k == 0) return AddLikeSelf(call, MemoryFormat::kContiguous);
  PAL_TRY(View view, CopyLayout(call.args[0].tensor(), MemoryFormat::kPreserve));
  if (turn.k != 2) {
    std::swap(view.sizes[turn.a], view.sizes[turn.b]);
    std::swap(view.strides[turn.a], view.strides[turn.b]);
  }
  call.results.push_back(ResultSpec::Fresh(std::move(view)));
  return {};
}

Status Rot90Kernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(Turn turn, TurnOf(call.args));
  Tensor target = call.results[0];
  if (turn.k % 2 == 1) {
    std::swap(target.sizes[turn.a], target.sizes[turn.b]);
    std::swap(target.strides[turn.a], target.strides[turn.b]);
  }
  DimMaps maps = IdentityMaps(self.sizes);
  if (turn.k == 1 || turn.k == 2) Reverse(maps[turn.b]);
  if (turn.k == 2 || turn.k == 3) Reverse(maps[turn.a]);
  return CopyMapped(self, maps, target);
}

// ---- repeat_interleave: each element of a dim several times.

struct Interleave {
  View self;  // one dim where no dim is given
  size_t dim = 0;
};

// No dim: the elements as one row. `packed` takes them where self cannot be seen so.
Result<Interleave> InterleaveOf(const Tensor& self, const Value& dim) {
  Interleave i;
  i.self = self.view();
  if (dim.IsNone()) {
    Dims flat = {self.numel()};
    i.self = ContiguousView(self.dtype, flat);
    return i;
  }
  PAL_TRY(int64_t wrapped, WrapDim(dim.ToInt(), self.dim()));
  if (self.dim() == 0) {
    return Refused("dim_out_of_range", "repeat_interleave: a 0-dim tensor has no dims");
  }
  i.dim = static_cast<size_t>(wrapped);
  return i;
}

Error NegativeRepeats() { return RuntimeFailure("repeats can not be negative", "bad_argument"); }

// How often each element is taken; the total is checked.
Result<std::vector<int64_t>> InterleaveMap(const Tensor& repeats, int64_t size) {
  PAL_TRY(std::vector<int64_t> counts, ReadIntegers(repeats, Dims{size}));
  std::vector<int64_t> map;
  for (size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] < 0) return NegativeRepeats();
    if (counts[k] > (int64_t{1} << 40)) return RuntimeFailure("repeats are too large");
    map.insert(map.end(), static_cast<size_t>(counts[k]), static_cast<int64_t>(k));
  }
  return map;
}

Status CheckRepeats(const op::Op& op, const Tensor& repeats, int64_t size) {
  PAL_TRY(CheckIndexType(op, repeats, true));
  if (repeats.dim() > 1) {
    return Refused("size_mismatch", "repeats must be 0-dim or 1-dim tensor");
  }
  if (repeats.dim() == 0 || repeats.sizes[0] == 1 || repeats.sizes[0] == size) return {};
  return Refused("size_mismatch",
                 fmt::format("repeats must have the same size as input along dim, but got "
                             "repeats.size(0) = {} and input.size(0) = {}",
                             repeats.sizes[0], size));
}

Status AddInterleaved(MetaCall& call, const Interleave& i, int64_t length) {
  const Value& expected = Argument(call.op, call.args, "output_size");
  if (!expected.IsNone() && expected.ToInt() != length) {
    return Refused("size_mismatch", "repeat_interleave: Invalid output_size");
  }
  Dims sizes = i.self.sizes;
  sizes[i.dim] = length;
  PAL_TRY(CheckSizes(sizes));
  call.results.push_back(ResultSpec::Fresh(i.self.dtype, sizes));
  return {};
}

Status InterleaveMeta(MetaCall& call) {
  PAL_TRY(Interleave i, InterleaveOf(call.args[0].tensor(), call.args[2]));
  int64_t size = i.self.sizes[i.dim], length = 0;
  if (!call.args[1].IsTensor()) {
    int64_t repeats = call.args[1].ToInt();
    if (repeats < 0 || __builtin_mul_overflow(repeats, size, &length)) {
      return Refused("bad_argument", "Repeats must be non-negative");
    }
    return AddInterleaved(call, i, length);
  }
  const Tensor& repeats = call.args[1].tensor();
  PAL_TRY(CheckRepeats(call.op, repeats, size));
  const Value& expected = Argument(call.op, call.args, "output_size");
  if (!expected.IsNone()) return AddInterleaved(call, i, expected.ToInt());
  if (repeats.storage->shape_only()) {
    return Unsupported(
        "repeat_interleave: the size of the result hangs on the contents of repeats: say "
        "output_size");
  }
  PAL_TRY(std::vector<int64_t> map, InterleaveMap(repeats, size));
  return AddInterleaved(call, i, static_cast<int64_t>(map.size()));
}

Status InterleaveKernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& result = call.results[0];
  PAL_TRY(Interleave i, InterleaveOf(self, call.args[2]));
  Tensor source(i.self, self.storage);
  if (call.args[2].IsNone()) {
    PAL_TRY(Tensor packed, EmptyTensor(self.dtype, self.sizes));
    PAL_TRY(CopyTo(self, packed));
    source.storage = packed.storage;
  }
  DimMaps maps = IdentityMaps(source.sizes);
  std::vector<int64_t>& map = maps[i.dim];
  if (call.args[1].IsTensor()) {
    PAL_TRY(map, InterleaveMap(call.args[1].tensor(), source.sizes[i.dim]));
  } else {
    map = IdentityMap(result.sizes[i.dim]);
    for (int64_t& place : map) place /= call.args[1].ToInt();
  }
  if (static_cast<int64_t>(map.size()) != result.sizes[i.dim]) {
    return RuntimeFailure("repeat_interleave: repeats do not add up to output_size",
                          "size_mismatch");
  }
  return CopyMapped(source, maps, result);
}

// repeat_interleave.Tensor: the places themselves.
Status InterleavedPlacesMeta(MetaCall& call) {
  const Tensor& repeats = call.args[0].tensor();
  PAL_TRY(CheckIndexType(call.op, repeats, true));
  if (repeats.dim() != 1) {
    return Refused("size_mismatch", "repeat_interleave only accept 1D vector as repeat");
  }
  int64_t length;
  if (!call.args[1].IsNone()) {
    length = call.args[1].ToInt();
  } else if (!repeats.storage->shape_only()) {
    PAL_TRY(std::vector<int64_t> map, InterleaveMap(repeats, repeats.sizes[0]));
    length = static_cast<int64_t>(map.size());
  } else {
    return Unsupported(
        "repeat_interleave: the size of the result hangs on the contents of repeats: say "
        "output_size");
  }
  PAL_TRY(CheckSizes(Dims{length}));
  call.results.push_back(ResultSpec::Fresh(repeats.dtype, Dims{length}));
  return {};
}
Status InterleavedPlacesKernel(KernelCall& call) {
  const Tensor& repeats = call.args[0].tensor();
  const Tensor& result = call.results[0];
  PAL_TRY(std::vector<int64_t> map, InterleaveMap(repeats, repeats.sizes[0]));
  if (static_cast<int64_t>(map.size()) != result.numel()) {
    return RuntimeFailure("repeat_interleave: repeats do not add up to output_size",
                          "size_mismatch");
  }
  if (map.empty()) return {};
  auto storage = std::make_shared<Storage>(reinterpret_cast<std::byte*>(map.data()),
                                           static_cast<int64_t>(map.size() * 8), nullptr);
  return CopyTo(Tensor(ContiguousView(DType::kI64, result.sizes), storage), result);
}

}  // namespace

Status RegisterRearrangements(op::OpTable& table) {
  op::Traits may_refuse;
  may_refuse.may_refuse = true;
  return RegisterBuiltinRows(
      table,
      {
          {"aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", RepeatMeta, RepeatKernel},
          {"aten::tile(Tensor self, SymInt[] dims) -> Tensor", RepeatMeta, RepeatKernel},
          {"aten::flip(Tensor self, int[] dims) -> Tensor", FlipMeta, FlipKernel},
          {"aten::fliplr(Tensor self) -> Tensor", FlipMeta, FlipKernel},
          {"aten::flipud(Tensor self) -> Tensor", FlipMeta, FlipKernel},
          {"aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", RollMeta,
           RollKernel},
          {"aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", Rot90Meta,
           Rot90Kernel},
          {"aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, "
           "SymInt? output_size=None) -> Tensor",
           InterleaveMeta, InterleaveKernel},
          {"aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, "
           "SymInt? output_size=None) -> Tensor",
           InterleaveMeta, InterleaveKernel, may_refuse},
          {"aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
           InterleavedPlacesMeta, InterleavedPlacesKernel, may_refuse},
      });
}

}  // namespace palimpsest::kernels
