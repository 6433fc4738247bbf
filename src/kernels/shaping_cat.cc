// cat, stack and their kin: tensors side by side along one dim.
//
// The result is contiguous, or channels_last where every tensor is. Tensors of sizes [0] do not
// take part, but for the type.
#include <fmt/format.h>

#include <algorithm>

#include "core/promotion.h"
#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/reduce_dims.h"
#include "kernels/shaping.h"
#include "kernels/views.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;
using Tensors = std::vector<Tensor>;

bool IsSkipped(const View& view) { return view.dim() == 1 && view.sizes[0] == 0; }

struct Concatenation {
  Tensors tensors;  // as they are put side by side
  int64_t dim = 0;
};

Error Mismatch(std::string message) { return Refused("cat_mismatch", std::move(message)); }

Result<DType> CommonType(const Tensors& tensors) {
  TypePromotion promotion;
  for (const Tensor& t : tensors) promotion.AddTensor(t);
  return promotion.Get();
}

MemoryFormat CommonFormat(const Tensors& tensors) {
  MemoryFormat format = SuggestedFormat(tensors[0]);
  for (const Tensor& t : tensors) {
    if (SuggestedFormat(t) != format) return MemoryFormat::kContiguous;
  }
  return format;
}

// Sizes of tensors but for `dim` must agree.
Status CheckSizes(const Tensors& tensors, size_t first, size_t dim) {
  const Tensor& model = tensors[first];
  for (size_t i = first; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    if (IsSkipped(t)) continue;
    if (t.dim() != model.dim()) {
      return Mismatch(fmt::format("Tensors must have same number of dimensions: got {} and {}",
                                  model.dim(), t.dim()));
    }
    for (size_t d = 0; d < t.dim(); ++d) {
      if (d == dim || t.sizes[d] == model.sizes[d]) continue;
      return Mismatch(
          fmt::format("Sizes of tensors must match except in dimension {}. Expected "
                      "size {} but got size {} for tensor number {} in the list.",
                      dim, model.sizes[d], t.sizes[d], i));
    }
  }
  return {};
}

Status AddCat(MetaCall& call, const Concatenation& c) {
  if (c.tensors.empty()) return Mismatch("expected a non-empty list of Tensors");
  for (size_t i = 0; i < c.tensors.size(); ++i) {
    if (c.tensors[i].dim() > 0) continue;
    return Mismatch(
        fmt::format("zero-dimensional tensor (at position {}) cannot be concatenated", i));
  }
  PAL_TRY(DType dtype, CommonType(c.tensors));
  auto model = std::find_if(c.tensors.begin(), c.tensors.end(),
                            [](const Tensor& t) { return !IsSkipped(t); });
  if (model == c.tensors.end()) {
    call.results.push_back(ResultSpec::Fresh(dtype, Dims{0}));
    return {};
  }
  PAL_TRY(int64_t wrapped, WrapDim(c.dim, model->dim()));
  auto dim = static_cast<size_t>(wrapped);
  PAL_TRY(CheckSizes(c.tensors, static_cast<size_t>(model - c.tensors.begin()), dim));
  View view{dtype, model->sizes, {}, 0};
  view.sizes[dim] = 0;
  for (const Tensor& t : c.tensors) {
    if (!IsSkipped(t)) view.sizes[dim] += t.sizes[dim];
  }
  PAL_TRY(CheckedNumel(view.sizes));
  PAL_TRY(View layout, CopyLayout(view, CommonFormat(c.tensors)));
  layout.dtype = dtype;
  call.results.push_back(ResultSpec::Fresh(std::move(layout)));
  return {};
}

Status RunCat(const Concatenation& c, const Tensor& result) {
  if (result.numel() == 0) return {};
  PAL_TRY(int64_t dim, WrapDim(c.dim, result.dim()));
  int64_t at = 0;
  for (const Tensor& t : c.tensors) {
    if (IsSkipped(t)) continue;
    int64_t size = t.sizes[static_cast<size_t>(dim)];
    PAL_TRY(View part, SliceView(result, dim, at, at + size, 1));
    PAL_TRY(CopyTo(t, Tensor(part, result.storage)));
    at += size;
  }
  return {};
}

Tensors TensorsOf(const Value& list) {
  Tensors tensors;
  for (const Value& t : list.list()) tensors.push_back(t.tensor());
  return tensors;
}

// ---- What each operator puts side by side.

using CatRule = Result<Concatenation> (*)(std::span<const Value> args);

Result<Concatenation> CatRuleOf(std::span<const Value> args) {
  return Concatenation{TensorsOf(args[0]), args[1].ToInt()};
}

Result<Concatenation> StackRule(std::span<const Value> args) {
  Concatenation c{TensorsOf(args[0]), args[1].ToInt()};
  if (c.tensors.empty()) return Mismatch("stack expects a non-empty TensorList");
  PAL_TRY(c.dim, WrapDim(c.dim, c.tensors[0].dim() + 1));
  Dims sizes = c.tensors[0].sizes;
  for (size_t i = 0; i < c.tensors.size(); ++i) {
    Tensor& t = c.tensors[i];
    if (t.sizes != sizes) {
      return Mismatch(
          fmt::format("stack expects each tensor to be equal size, but got {} at entry "
                      "0 and {} at entry {}",
                      ToString(sizes), ToString(t.sizes), i));
    }
    PAL_TRY(View view, UnsqueezeView(t.view(), c.dim));
    t = Tensor(view, t.storage);
  }
  return c;
}

// The layout is that of the tensors put side by side without the new dim, which then splits theirs.
Status StackMeta(MetaCall& call) {
  PAL_TRY(Concatenation raised, StackRule(call.args));
  Concatenation flat{TensorsOf(call.args[0]), raised.dim};
  if (flat.dim == static_cast<int64_t>(flat.tensors[0].dim())) return AddCat(call, raised);
  PAL_TRY(AddCat(call, flat));
  Dims sizes = raised.tensors[0].sizes;
  sizes[static_cast<size_t>(raised.dim)] = static_cast<int64_t>(raised.tensors.size());
  View& view = call.results.back().view;
  PAL_TRY(view, ReshapeView(view, sizes));
  return {};
}
Status StackKernel(KernelCall& call) {
  PAL_TRY(Concatenation c, StackRule(call.args));
  return RunCat(c, call.results[0]);
}

// Reshapes every tensor of a lower rank to `sizes_of` its sizes.
Result<Tensors> Raised(const Value& list, size_t rank, Dims (*sizes_of)(const Dims&)) {
  Tensors tensors = TensorsOf(list);
  if (tensors.empty()) return Mismatch("stack expects a non-empty TensorList");
  for (Tensor& t : tensors) {
    if (t.dim() >= rank) continue;
    PAL_TRY(View view, ReshapeView(t, sizes_of(t.sizes)));
    t = Tensor(view, t.storage);
  }
  return tensors;
}
Dims AtLeast1(const Dims&) { return {1}; }
Dims AsRow(const Dims& s) { return s.empty() ? Dims{1, 1} : Dims{1, s[0]}; }
Dims AsColumn(const Dims& s) { return s.empty() ? Dims{1, 1} : Dims{s[0], 1}; }
Dims AtLeast3(const Dims& s) {
  if (s.empty()) return {1, 1, 1};
  return s.size() == 1 ? Dims{1, s[0], 1} : Dims{s[0], s[1], 1};
}

Result<Concatenation> HstackRule(std::span<const Value> args) {
  PAL_TRY(Tensors tensors, Raised(args[0], 1, AtLeast1));
  int64_t dim = tensors[0].dim() == 1 ? 0 : 1;
  return Concatenation{std::move(tensors), dim};
}
Result<Concatenation> VstackRule(std::span<const Value> args) {
  PAL_TRY(Tensors tensors, Raised(args[0], 2, AsRow));
  return Concatenation{std::move(tensors), 0};
}
Result<Concatenation> DstackRule(std::span<const Value> args) {
  PAL_TRY(Tensors tensors, Raised(args[0], 3, AtLeast3));
  return Concatenation{std::move(tensors), 2};
}
Result<Concatenation> ColumnStackRule(std::span<const Value> args) {
  PAL_TRY(Tensors tensors, Raised(args[0], 2, AsColumn));
  return Concatenation{std::move(tensors), 1};
}
// The rows of all combinations: grids, flattened, as columns.
Result<Concatenation> CartesianRule(std::span<const Value> args) {
  Concatenation c{TensorsOf(args[0]), -1};
  Dims shape;
  for (const Tensor& t : c.tensors) {
    if (t.dim() != 1) {
      return Refused("size_mismatch",
                     fmt::format("Expect a 1D vector, but got shape {}", ToString(t.sizes)));
    }
    shape.push_back(t.sizes[0]);
  }
  for (size_t i = 0; i < c.tensors.size(); ++i) {
    Tensor& t = c.tensors[i];
    Dims line(shape.size(), 1);
    line[i] = shape[i];
    PAL_TRY(View view, ReshapeView(t, line));
    PAL_TRY(view, ExpandView(view, shape));
    PAL_TRY(view, UnsqueezeView(view, -1));
    t = Tensor(view, t.storage);
  }
  return c;
}

template <CatRule kRule>
BuiltinRow Row(std::string schema) {
  return {std::move(schema),
          [](MetaCall& call) -> Status {
            PAL_TRY(Concatenation c, kRule(call.args));
            return AddCat(call, c);
          },
          [](KernelCall& call) -> Status {
            PAL_TRY(Concatenation c, kRule(call.args));
            return RunCat(c, call.results[0]);
          }};
}

// ---- cartesian_prod: the grids of AddCat, as a matrix.

Status CartesianMeta(MetaCall& call) {
  if (call.args[0].list().size() == 1) {  // a single vector is itself
    call.results.push_back(ResultSpec::ViewOf(0, call.args[0].list()[0].tensor().view(), 0));
    return {};
  }
  PAL_TRY(Concatenation c, CartesianRule(call.args));
  PAL_TRY(AddCat(call, c));
  View view = std::move(call.results.back().view);
  call.results.pop_back();
  int64_t columns = view.sizes.back();
  int64_t rows = columns == 0 ? 0 : view.numel() / columns;
  call.results.push_back(ResultSpec::Fresh(view.dtype, Dims{rows, columns}));
  return {};
}
Status CartesianKernel(KernelCall& call) {
  if (call.results.empty()) return {};
  PAL_TRY(Concatenation c, CartesianRule(call.args));
  Dims shape = c.tensors[0].sizes;
  shape.back() = static_cast<int64_t>(c.tensors.size());
  PAL_TRY(Tensor grids, EmptyTensor(call.results[0].dtype, shape));
  PAL_TRY(RunCat(c, grids));
  View matrix = ContiguousView(grids.dtype, call.results[0].sizes);
  return CopyTo(Tensor(matrix, grids.storage), call.results[0]);
}

// ---- block_diag

Dims BlockSizes(const Tensor& t) { return t.dim() == 2 ? t.sizes : AsRow(t.sizes); }

Status BlockDiagMeta(MetaCall& call) {
  Tensors tensors = TensorsOf(call.args[0]);
  if (tensors.empty()) return Unsupported("block_diag of nothing");
  PAL_TRY(DType dtype, CommonType(tensors));
  Dims sizes = {0, 0};
  for (const Tensor& t : tensors) {
    if (t.dim() > 2) {
      return Refused("size_mismatch", "block_diag: Input tensors must have 2 or fewer dimensions");
    }
    for (size_t d : {0u, 1u}) sizes[d] += BlockSizes(t)[d];
  }
  call.results.push_back(ResultSpec::Fresh(dtype, sizes));
  return {};
}
Status BlockDiagKernel(KernelCall& call) {
  const Tensor& result = call.results[0];
  PAL_TRY(FillWith(Scalar::Int(0), result));
  Dims at = {0, 0};
  for (const Tensor& t : TensorsOf(call.args[0])) {
    Dims sizes = BlockSizes(t);
    PAL_TRY(View block, SliceView(result, 0, at[0], at[0] + sizes[0], 1));
    PAL_TRY(block, SliceView(block, 1, at[1], at[1] + sizes[1], 1));
    PAL_TRY(View source, ReshapeView(t, sizes));
    PAL_TRY(CopyTo(Tensor(source, t.storage), Tensor(block, result.storage)));
    for (size_t d : {0u, 1u}) at[d] += sizes[d];
  }
  return {};
}

}  // namespace

Status RegisterConcatenations(op::OpTable& table) {
  return RegisterBuiltinRows(
      table,
      {
          Row<CatRuleOf>("aten::cat(Tensor[] tensors, int dim=0) -> Tensor"),
          Row<CatRuleOf>("aten::concat(Tensor[] tensors, int dim=0) -> Tensor"),
          Row<CatRuleOf>("aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor"),
          {.schema = "aten::stack(Tensor[] tensors, int dim=0) -> Tensor",
           .meta = StackMeta,
           .kernel = StackKernel},
          Row<HstackRule>("aten::hstack(Tensor[] tensors) -> Tensor"),
          Row<VstackRule>("aten::vstack(Tensor[] tensors) -> Tensor"),
          Row<DstackRule>("aten::dstack(Tensor[] tensors) -> Tensor"),
          Row<ColumnStackRule>("aten::column_stack(Tensor[] tensors) -> Tensor"),
          {"aten::cartesian_prod(Tensor[] tensors) -> Tensor", CartesianMeta, CartesianKernel},
          {"aten::block_diag(Tensor[] tensors) -> Tensor", BlockDiagMeta, BlockDiagKernel},
      });
}

}  // namespace palimpsest::kernels
