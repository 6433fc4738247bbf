// The table of single views. One row makes up to four operators:
//
//   {"transpose", ".int", "int dim0, int dim1", TransposeRule, kInPlace | kCopy}
//
//   transpose.int       a view
//   transpose_          changes the layout of the tensor object itself
//   transpose_copy.int  the view, copied
//   select_scatter      (kScatter) self with the view's elements replaced by src's
#include "kernels/views.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/overlap.h"
#include "core/promotion.h"
#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/reduce_dims.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;
using Args = std::span<const Value>;

// ---- Rules: the arguments of one operator, read for the geometry.

Result<View> AliasRule(const Tensor& self, Args) { return self.view(); }
Result<View> SelectRule(const Tensor& self, Args a) {
  return SelectView(self, a[1].ToInt(), a[2].ToInt());
}
Result<View> SliceRule(const Tensor& self, Args a) {
  return SliceView(self, a[1].ToInt(), a[2].ToOptionalInt(), a[3].ToOptionalInt(), a[4].ToInt());
}
Result<View> NarrowRule(const Tensor& self, Args a) {
  return NarrowView(self, a[1].ToInt(), a[2].ToInt(), a[3].ToInt());
}
Result<View> PermuteRule(const Tensor& self, Args a) { return PermuteView(self, a[1].ToDims()); }
Result<View> TransposeRule(const Tensor& self, Args a) {
  return TransposeView(self, a[1].ToInt(), a[2].ToInt());
}
Result<View> TRule(const Tensor& self, Args) {
  if (self.dim() > 2) {
    return Refused(
        "dim_out_of_range",
        fmt::format("t() expects a tensor with <= 2 dimensions, but self is {}D", self.dim()));
  }
  return self.dim() < 2 ? self.view() : TransposeView(self, 0, 1);
}
Result<View> MatrixTransposeRule(const Tensor& self, Args) {
  if (self.dim() == 0) return self.view();
  if (self.dim() < 2) {
    return Refused(
        "dim_out_of_range",
        fmt::format("a matrix transpose needs at least 2 dimensions, self has {}", self.dim()));
  }
  return TransposeView(self, -2, -1);
}
// The same for real numbers; of complex ones it would be the conjugate.
Result<View> AdjointRule(const Tensor& self, Args args) {
  if (IsComplex(self.dtype)) return Unsupported("the adjoint of a complex tensor");
  return MatrixTransposeRule(self, args);
}
Result<View> ReverseDimsRule(const Tensor& self, Args) {
  Dims dims;
  for (size_t d = self.dim(); d-- > 0;) dims.push_back(static_cast<int64_t>(d));
  return PermuteView(self, dims);
}
Result<View> MoveDimRule(const Tensor& self, Args a) {
  Dims from = a[1].ToDims(), to = a[2].ToDims();
  if (from.size() != to.size()) {
    return Refused("dim_out_of_range",
                   "movedim: Invalid source or destination dims: they differ in number");
  }
  Dims order(self.dim(), -1);
  SmallVector<bool, 6> taken(self.dim(), false);
  for (size_t i = 0; i < from.size(); ++i) {
    PAL_TRY(int64_t s, WrapDim(from[i], self.dim()));
    PAL_TRY(int64_t d, WrapDim(to[i], self.dim()));
    if (self.dim() == 0) continue;
    if (taken[static_cast<size_t>(s)] || order[static_cast<size_t>(d)] >= 0) {
      return Refused("dim_repeated", "movedim: repeated dim");
    }
    taken[static_cast<size_t>(s)] = true;
    order[static_cast<size_t>(d)] = s;
  }
  size_t next = 0;
  for (int64_t& place : order) {
    if (place >= 0) continue;
    while (taken[next]) ++next;
    place = static_cast<int64_t>(next++);
  }
  return PermuteView(self, order);
}
Result<View> ExpandRule(const Tensor& self, Args a) { return ExpandView(self, a[1].ToDims()); }
Result<View> ExpandAsRule(const Tensor& self, Args a) {
  return ExpandView(self, a[1].tensor().sizes);
}
Result<View> UnsqueezeRule(const Tensor& self, Args a) { return UnsqueezeView(self, a[1].ToInt()); }
Result<View> SqueezeDims(const Tensor& self, const Dims* dims) {
  SmallVector<bool, 6> chosen(std::max<size_t>(self.dim(), 1), dims == nullptr);
  for (size_t i = 0; dims != nullptr && i < dims->size(); ++i) {
    PAL_TRY(int64_t d, WrapDim((*dims)[i], self.dim()));
    if (chosen[static_cast<size_t>(d)]) {
      return Refused("dim_repeated", fmt::format("dim {} appears multiple times in the list of "
                                                 "dims",
                                                 d));
    }
    chosen[static_cast<size_t>(d)] = true;
  }
  View view{self.dtype, {}, {}, self.offset};
  for (size_t d = 0; d < self.dim(); ++d) {
    if (chosen[d] && self.sizes[d] == 1) continue;
    view.sizes.push_back(self.sizes[d]);
    view.strides.push_back(self.strides[d]);
  }
  return view;
}
Result<View> SqueezeRule(const Tensor& self, Args) { return SqueezeDims(self, nullptr); }
Result<View> SqueezeDimsRule(const Tensor& self, Args a) {
  Dims dims = a[1].ToDims();
  return SqueezeDims(self, &dims);
}
Result<View> DiagonalRule(const Tensor& self, Args a) {
  return DiagonalView(self, a[1].ToInt(), a[2].ToInt(), a[3].ToInt());
}
Result<View> UnfoldRule(const Tensor& self, Args a) {
  return UnfoldView(self, a[1].ToInt(), a[2].ToInt(), a[3].ToInt());
}
Result<View> AsStridedRule(const Tensor& self, Args a) {
  return AsStridedView(self, a[1].ToDims(), a[2].ToDims(), a[3].ToOptionalInt());
}
Result<View> DTypeRule(const Tensor& self, Args a) { return DTypeView(self, a[1].As<DType>()); }
// A complex number is a pair of real ones, in a new last dim.
Result<View> AsRealRule(const Tensor& self, Args) {
  if (!IsComplex(self.dtype)) {
    return Refused("unsupported_dtype", "view_as_real is only supported for complex tensors");
  }
  View view{RealType(self.dtype), self.sizes, self.strides, self.offset * 2};
  for (int64_t& stride : view.strides) stride *= 2;
  view.sizes.push_back(2);
  view.strides.push_back(1);
  return view;
}
Result<View> AsComplexRule(const Tensor& self, Args) {
  if (self.dtype != DType::kF32 && self.dtype != DType::kF64) {
    return Refused("unsupported_dtype",
                   "view_as_complex is only supported for half, float and double tensors");
  }
  auto refuse = [](std::string_view why) {
    return Refused("dtype_view_impossible", fmt::format("view_as_complex: {}", why));
  };
  if (self.dim() == 0 || self.sizes.back() != 2)
    return refuse("Tensor must have a last dimension of size 2");
  if (self.strides.back() != 1) return refuse("Tensor must have a last dimension with stride 1");
  if (self.offset % 2 != 0) return refuse("Tensor must have a storage_offset divisible by 2");
  View view{ComplexType(self.dtype), self.sizes, self.strides, self.offset / 2};
  view.sizes.pop_back();
  view.strides.pop_back();
  for (int64_t& stride : view.strides) {
    if (stride % 2 != 0)
      return refuse("Tensor must have a stride divisible by 2 for all but last dimension");
    stride /= 2;
  }
  return view;
}
Result<View> ImagRule(const Tensor& self, Args args) {
  if (!IsComplex(self.dtype)) {
    return Refused("unsupported_dtype",
                   "imag is not implemented for tensors with non-complex dtypes.");
  }
  PAL_TRY(View pairs, AsRealRule(self, args));
  return SelectView(pairs, -1, 1);
}

// ---- The table.

enum Forms : uint8_t { kViewOnly = 0, kInPlace = 1, kCopy = 2, kScatter = 4 };
struct ViewRow {
  const char* name;
  const char* overload;  // with its dot
  const char* rest;      // arguments after self
  ViewRule rule;
  uint8_t forms = kViewOnly;
};

const ViewRow kViews[] = {
    {"alias", "", "", AliasRule, kCopy},
    {"detach", "", "", AliasRule, kInPlace | kCopy},
    {"select", ".int", "int dim, SymInt index", SelectRule, kCopy | kScatter},
    {"slice", ".Tensor", "int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1",
     SliceRule, kCopy | kScatter},
    {"narrow", "", "int dim, SymInt start, SymInt length", NarrowRule, kCopy},
    {"permute", "", "int[] dims", PermuteRule, kCopy},
    {"transpose", ".int", "int dim0, int dim1", TransposeRule, kInPlace | kCopy},
    {"swapaxes", "", "int axis0, int axis1", TransposeRule, kInPlace},
    {"swapdims", "", "int dim0, int dim1", TransposeRule, kInPlace},
    {"t", "", "", TRule, kInPlace | kCopy},
    {"mT", "", "", MatrixTransposeRule},
    {"mH", "", "", AdjointRule},
    {"matrix_H", "", "", AdjointRule},
    {"adjoint", "", "", AdjointRule},
    {"numpy_T", "", "", ReverseDimsRule},
    {"movedim", ".int", "int source, int destination", MoveDimRule},
    {"movedim", ".intlist", "int[] source, int[] destination", MoveDimRule},
    {"moveaxis", ".int", "int source, int destination", MoveDimRule},
    {"moveaxis", ".intlist", "int[] source, int[] destination", MoveDimRule},
    {"expand", "", "SymInt[] size, *, bool implicit=False", ExpandRule, kCopy},
    {"broadcast_to", "", "SymInt[] size", ExpandRule},
    {"expand_as", "", "Tensor other", ExpandAsRule},
    {"unsqueeze", "", "int dim", UnsqueezeRule, kInPlace | kCopy},
    {"squeeze", "", "", SqueezeRule, kInPlace | kCopy},
    {"squeeze", ".dim", "int dim", SqueezeDimsRule, kInPlace | kCopy},
    {"squeeze", ".dims", "int[] dim", SqueezeDimsRule, kInPlace | kCopy},
    {"diagonal", "", "int offset=0, int dim1=0, int dim2=1", DiagonalRule, kCopy | kScatter},
    {"unfold", "", "int dimension, int size, int step", UnfoldRule, kCopy},
    {"as_strided", "", "SymInt[] size, SymInt[] stride, SymInt? storage_offset=None", AsStridedRule,
     kInPlace | kCopy | kScatter},
    {"view", ".dtype", "ScalarType dtype", DTypeRule, kCopy},
    {"view_as_real", "", "", AsRealRule, kCopy},
    {"view_as_complex", "", "", AsComplexRule, kCopy},
    {"imag", "", "", ImagRule},
};

// "int dim" -> ", int dim".
std::string AfterComma(const char* rest) { return *rest == '\0' ? "" : fmt::format(", {}", rest); }

BuiltinRow ViewForm(const ViewRow& row) {
  return {.schema = fmt::format("aten::{}{}(Tensor(a) self{}) -> Tensor(a)", row.name, row.overload,
                                AfterComma(row.rest)),
          .meta = [rule = row.rule](MetaCall& call) -> Status {
            PAL_TRY(View view, rule(call.args[0].tensor(), call.args));
            call.results.push_back(ResultSpec::ViewOf(0, std::move(view)));
            return {};
          }};
}

// The tensor object gets the view; detach_ leaves it as it is.
BuiltinRow RelayoutForm(const ViewRow& row) {
  bool keeps_overload = std::string_view(row.overload).starts_with(".dim");
  return {.schema = fmt::format("aten::{}_{}(Tensor(a!) self{}) -> Tensor(a!)", row.name,
                                keeps_overload ? row.overload : "", AfterComma(row.rest)),
          .meta = [rule = row.rule](MetaCall& call) -> Status {
            const Tensor& self = call.args[0].tensor();
            PAL_TRY(View view, rule(self, call.args));
            if (!(view == self.view())) call.relayouts.push_back({0, std::move(view)});
            call.results.push_back(ResultSpec::Same(0));
            return {};
          }};
}

BuiltinRow CopyForm(const ViewRow& row) {
  return {.schema = fmt::format("aten::{}_copy{}(Tensor self{}) -> Tensor", row.name, row.overload,
                                AfterComma(row.rest)),
          .meta = [rule = row.rule](MetaCall& call) -> Status {
            PAL_TRY(View view, rule(call.args[0].tensor(), call.args));
            call.results.push_back(ResultSpec::Fresh(view.dtype, view.sizes));
            return {};
          },
          .kernel = [rule = row.rule](KernelCall& call) -> Status {
            const Tensor& self = call.args[0].tensor();
            PAL_TRY(View view, rule(self, call.args));
            return CopyTo(Tensor(view, self.storage), call.results[0]);
          }};
}

// The view operator's arguments out of a scatter's: without src.
std::vector<Value> WithoutSource(Args args) {
  std::vector<Value> rest = {args[0]};
  rest.insert(rest.end(), args.begin() + 2, args.end());
  return rest;
}

// The layout of a functional scatter's result: self's own, gaps included.
View ScatterLayout(const Tensor& self) {
  View view{self.dtype, self.sizes, self.strides, 0};
  if (OverlapsItself(self)) view.strides = PreserveStrides(self);
  return view;
}

Status ScatterMeta(MetaCall& call, ViewRule rule) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& source = call.args[1].tensor();
  PAL_TRY(View view, rule(self, WithoutSource(call.args)));
  if (view.sizes != source.sizes) {
    return Refused("source_size_mismatch",
                   fmt::format("{}: expected src to have a size equal to the view of self: {}, but "
                               "its size is {}",
                               call.op.schema.Key(), ToString(view.sizes), ToString(source.sizes)));
  }
  call.results.push_back(ResultSpec::Fresh(ScatterLayout(self)));
  return {};
}

Status ScatterKernel(KernelCall& call, ViewRule rule) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& result = call.results[0];
  std::vector<Value> args = WithoutSource(call.args);
  bool absolute = call.op.schema.name == "as_strided_scatter";
  if (absolute) {
    if (result.strides != ScatterLayout(self).strides) {
      return InternalError("as_strided_scatter: the result has other strides than meta said");
    }
    int64_t from_self = args[3].ToOptionalInt().value_or(self.offset) - self.offset;
    args[3] = Value(from_self + result.offset);
  }
  PAL_TRY(CopyTo(self, result));
  PAL_TRY(View view, rule(result, args));
  return CopyTo(call.args[1].tensor(), Tensor(view, result.storage));
}

BuiltinRow ScatterForm(const ViewRow& row) {
  std::string key = fmt::format("aten::{}_scatter", row.name);
  return {
      .schema = fmt::format("{}(Tensor self, Tensor src{}) -> Tensor", key, AfterComma(row.rest)),
      .meta = [rule = row.rule](MetaCall& call) { return ScatterMeta(call, rule); },
      .kernel = [rule = row.rule](KernelCall& call) { return ScatterKernel(call, rule); },
      .expansion = key};
}

Status SameMeta(MetaCall& call) {
  call.results.push_back(ResultSpec::Same(0));
  return {};
}
// The argument itself for real numbers.
Status RealOnlyMeta(MetaCall& call) {
  if (IsComplex(call.args[0].tensor().dtype)) {
    return Unsupported(fmt::format("{} of complex tensors", call.op.schema.Key()));
  }
  return SameMeta(call);
}
Status RealPartMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  if (!IsComplex(self.dtype)) return SameMeta(call);
  PAL_TRY(View pairs, AsRealRule(self, call.args));
  PAL_TRY(View part, SelectView(pairs, -1, 0));
  call.results.push_back(ResultSpec::ViewOf(0, std::move(part)));
  return {};
}

}  // namespace

Status RegisterViews(op::OpTable& table) {
  std::vector<BuiltinRow> rows;
  for (const ViewRow& row : kViews) {
    rows.push_back(ViewForm(row));
    if (row.forms & kInPlace) rows.push_back(RelayoutForm(row));
    if (row.forms & kCopy) rows.push_back(CopyForm(row));
    if (row.forms & kScatter) rows.push_back(ScatterForm(row));
  }
  for (const char* name : {"lift_fresh", "resolve_conj", "resolve_neg"}) {
    rows.push_back(
        {.schema = fmt::format("aten::{}(Tensor(a) self) -> Tensor(a)", name), .meta = SameMeta});
  }
  rows.push_back({.schema = "aten::conj(Tensor(a) self) -> Tensor(a)", .meta = RealOnlyMeta});
  rows.push_back({.schema = "aten::real(Tensor(a) self) -> Tensor(a)", .meta = RealPartMeta});
  PAL_TRY(RegisterBuiltinRows(table, std::move(rows)));
  PAL_TRY(RegisterReshapes(table));
  PAL_TRY(RegisterSplits(table));
  return RegisterViewsOfLists(table);
}

}  // namespace palimpsest::kernels
