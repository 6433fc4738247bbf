// view, reshape, flatten and their kin: the same elements in row-major order under other sizes.
//
// Note [View or copy]: reshape is a view where the strides allow it. Old and new dims are matched
// in chunks from the right: a chunk of old dims that lie in memory like one long dim can be cut
// into any new dims of the same total.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/reduce_dims.h"
#include "kernels/views.h"

namespace palimpsest::kernels {

Result<Dims> InferSizes(const Dims& sizes, int64_t numel) {
  auto refuse = [&](std::string_view why) {
    return Refused("size_mismatch", fmt::format("shape '{}' is invalid for input of size {}{}",
                                                ToString(sizes), numel, why));
  };
  Dims result = sizes;
  std::optional<size_t> unknown;
  int64_t known = 1;
  bool empty = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      if (unknown) return refuse(": only one dimension can be inferred");
      unknown = i;
    } else if (sizes[i] < 0) {
      return refuse(": invalid shape dimension");
    } else if (sizes[i] == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(known, sizes[i], &known)) {
      return refuse("");
    }
  }
  if (empty) known = 0;
  if (!unknown) return known == numel ? Result<Dims>(result) : refuse("");
  if (known == 0) {
    return refuse(numel == 0 ? ": the unspecified dimension size -1 can be any value" : "");
  }
  if (numel % known != 0) return refuse("");
  result[*unknown] = numel / known;
  return result;
}

namespace {

// The strides for no elements: self's own if nothing changes, else contiguous ones.
Dims StridesOfNothing(const View& self, std::span<const int64_t> sizes) {
  if (std::equal(sizes.begin(), sizes.end(), self.sizes.begin(), self.sizes.end())) {
    return self.strides;
  }
  return ContiguousStrides(sizes);
}

// Does old dim d - 1 begin a chunk of its own, given that dims d.. of the chunk hold `numel`
// elements, `base` apart?
bool ChunkEndsAt(const View& self, size_t d, int64_t numel, int64_t base) {
  return d == 0 || (self.sizes[d - 1] != 1 && self.strides[d - 1] != numel * base);
}

}  // namespace

std::optional<Dims> ViewStrides(const View& self, std::span<const int64_t> sizes) {
  if (self.numel() == 0) return StridesOfNothing(self, sizes);
  if (self.dim() == 0) return Dims(sizes.size(), 1);
  Dims strides(sizes.size(), 0);
  size_t next = sizes.size();  // new dims from here on have their stride
  int64_t base = self.strides.back(), old_numel = 1, new_numel = 1;
  for (size_t d = self.dim(); d-- > 0;) {
    old_numel *= self.sizes[d];
    if (!ChunkEndsAt(self, d, old_numel, base)) continue;
    while (next > 0 && (new_numel < old_numel || sizes[next - 1] == 1)) {
      --next;
      strides[next] = new_numel * base;
      new_numel *= sizes[next];
    }
    if (new_numel != old_numel) return std::nullopt;
    if (d == 0) break;
    base = self.strides[d - 1];
    old_numel = new_numel = 1;
  }
  if (next != 0) return std::nullopt;
  return strides;
}

Result<View> ReshapeView(const View& self, const Dims& sizes) {
  PAL_TRY(Dims inferred, InferSizes(sizes, self.numel()));
  std::optional<Dims> strides = ViewStrides(self, inferred);
  if (!strides) {
    return Refused("view_incompatible",
                   fmt::format("view size is not compatible with input tensor's size and stride "
                               "(at least one dimension spans across two contiguous subspaces): {} "
                               "as {}. Use .reshape(...) instead.",
                               ToString(self), ToString(inferred)));
  }
  return View{self.dtype, inferred, *strides, self.offset};
}

namespace {

using op::MetaCall;
using op::ResultSpec;

// The sizes that an operator of this file asks for; nullopt: self itself.
using SizesRule = Result<std::optional<Dims>> (*)(std::span<const Value> args);

Result<std::optional<Dims>> SizesGiven(std::span<const Value> args) { return {args[1].ToDims()}; }
Result<std::optional<Dims>> SizesOfOther(std::span<const Value> args) {
  return {args[1].tensor().sizes};
}

Result<std::optional<Dims>> FlattenedSizes(std::span<const Value> args) {
  const Tensor& self = args[0].tensor();
  PAL_TRY(int64_t start, WrapDim(args[1].ToInt(), self.dim()));
  PAL_TRY(int64_t end, WrapDim(args[2].ToInt(), self.dim()));
  if (start > end) {
    return Refused("dim_out_of_range",
                   "flatten() has invalid args: start_dim cannot come after end_dim");
  }
  if (self.dim() == 0) return {Dims{1}};
  if (start == end) return {std::nullopt};
  Dims sizes;
  int64_t product = 1;
  for (size_t d = 0; d < self.dim(); ++d) {
    auto at = static_cast<int64_t>(d);
    if (at >= start && at <= end) product *= self.sizes[d];
    if (at < start || at > end) sizes.push_back(self.sizes[d]);
    if (at == end) sizes.push_back(product);
  }
  return {sizes};
}

Result<std::optional<Dims>> UnflattenedSizes(std::span<const Value> args) {
  const Tensor& self = args[0].tensor();
  PAL_TRY(int64_t wrapped, WrapDim(args[1].ToInt(), self.dim()));
  Dims pieces = args[2].ToDims();
  if (pieces.empty()) return Refused("size_mismatch", "unflatten: sizes must be non-empty");
  if (self.dim() == 0) return Refused("dim_out_of_range", "unflatten() of a 0-dim tensor");
  auto d = static_cast<size_t>(wrapped);
  PAL_TRY(Dims inferred, InferSizes(pieces, self.sizes[d]));
  Dims sizes;
  for (size_t i = 0; i < d; ++i) sizes.push_back(self.sizes[i]);
  for (int64_t piece : inferred) sizes.push_back(piece);
  for (size_t i = d + 1; i < self.dim(); ++i) sizes.push_back(self.sizes[i]);
  return {sizes};
}

template <SizesRule kRule>
Status ViewMeta(MetaCall& call) {
  PAL_TRY(std::optional<Dims> sizes, kRule(call.args));
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(View view, ReshapeView(self, sizes.value_or(self.sizes)));
  call.results.push_back(ResultSpec::ViewOf(0, std::move(view)));
  return {};
}

template <SizesRule kRule>
Status ReshapeMeta(MetaCall& call) {
  PAL_TRY(std::optional<Dims> sizes, kRule(call.args));
  if (!sizes) {
    call.results.push_back(ResultSpec::Same(0));
    return {};
  }
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(Dims inferred, InferSizes(*sizes, self.numel()));
  std::optional<Dims> strides = ViewStrides(self, inferred);
  if (strides) {
    View view{self.dtype, inferred, *strides, self.offset};
    call.results.push_back(ResultSpec::ViewOf(0, std::move(view)));
  } else {
    call.results.push_back(ResultSpec::Fresh(self.dtype, inferred));
  }
  return {};
}

// contiguous().view(-1).
Status RavelMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  Dims sizes = {self.numel()};
  if (IsContiguous(self)) {
    View view{self.dtype, sizes, {1}, self.offset};
    if (self.dim() == 1) view.strides = self.strides;
    call.results.push_back(ResultSpec::ViewOf(0, std::move(view)));
  } else {
    call.results.push_back(ResultSpec::Fresh(self.dtype, sizes));
  }
  return {};
}

// view of the given strides, as a caller that has computed them asks for it.
Status ReshapeAliasMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(View view,
          AsStridedView(self, call.args[1].ToDims(), call.args[2].ToDims(), self.offset));
  call.results.push_back(ResultSpec::ViewOf(0, std::move(view)));
  return {};
}

// The elements of self in row-major order into the result, whatever its sizes.
Status CopyInOrder(op::KernelCall& call) {
  if (call.results.empty()) return {};
  const Tensor& self = call.args[0].tensor();
  const Tensor& result = call.results[0];
  // The result seen in self's sizes: always possible where it lies as meta asked for.
  std::optional<Dims> strides = ViewStrides(result, self.sizes);
  if (strides) {
    Tensor same_sizes(View{result.dtype, self.sizes, *strides, result.offset}, result.storage);
    return CopyTo(self, same_sizes);
  }
  PAL_TRY(Tensor packed, EmptyTensor(self.dtype, self.sizes));
  PAL_TRY(CopyTo(self, packed));
  Tensor reshaped(View{self.dtype, result.sizes, ContiguousStrides(result.sizes), 0},
                  packed.storage);
  return CopyTo(reshaped, result);
}

BuiltinRow ViewOrCopy(std::string schema, op::MetaFn meta) {
  op::Traits traits;
  traits.copy = true;
  return {.schema = std::move(schema),
          .meta = std::move(meta),
          .kernel = CopyInOrder,
          .traits = traits};
}

}  // namespace

Status RegisterReshapes(op::OpTable& table) {
  return RegisterBuiltinRows(
      table,
      {
          {.schema = "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
           .meta = ViewMeta<SizesGiven>},
          {.schema = "aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
           .meta = ViewMeta<SizesGiven>},
          {.schema = "aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
           .meta = ViewMeta<SizesOfOther>},
          {.schema = "aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)",
           .meta = ViewMeta<UnflattenedSizes>},
          {.schema = "aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> "
                     "Tensor(a)",
           .meta = ReshapeAliasMeta},
          ViewOrCopy("aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
                     ReshapeMeta<SizesGiven>),
          ViewOrCopy("aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
                     ReshapeMeta<SizesOfOther>),
          ViewOrCopy("aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) "
                     "-> Tensor(a)",
                     ReshapeMeta<FlattenedSizes>),
          ViewOrCopy("aten::ravel(Tensor(a) self) -> Tensor(a)", RavelMeta),
      });
}

}  // namespace palimpsest::kernels
