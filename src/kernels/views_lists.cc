// Views of several tensors at once: broadcast_tensors, meshgrid, atleast_1d.
#include <fmt/format.h>

#include "kernels/builtin_row.h"
#include "kernels/views.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {
namespace {

using op::MetaCall;
using op::ResultSpec;

Status BroadcastTensorsMeta(MetaCall& call) {
  const Value::List& tensors = call.args[0].list();
  Dims shape;
  for (const Value& t : tensors) {
    PAL_TRY(shape, BroadcastShapes(shape, t.tensor().sizes));
  }
  std::vector<ResultSpec> items;
  for (size_t i = 0; i < tensors.size(); ++i) {
    PAL_TRY(View view, ExpandView(tensors[i].tensor(), shape));
    items.push_back(ResultSpec::ViewOf(0, std::move(view), static_cast<int>(i)));
  }
  call.results.push_back(ResultSpec::List(std::move(items)));
  return {};
}

// Grid i is tensor i along dim i, expanded. "xy" swaps the first two.
Status MeshgridMeta(MetaCall& call) {
  const Value::List& tensors = call.args[0].list();
  bool swaps =
      call.args.size() > 1 && call.args[1].As<std::string>() == "xy" && tensors.size() >= 2;
  size_t n = tensors.size();
  if (n == 0) return Refused("size_mismatch", "meshgrid expects a non-empty TensorList");
  auto place = [&](size_t i) { return swaps && i < 2 ? 1 - i : i; };
  Dims shape(n, 1);
  for (size_t i = 0; i < n; ++i) {
    const Tensor& t = tensors[i].tensor();
    if (t.dim() > 1) {
      return Refused("size_mismatch",
                     fmt::format("torch.meshgrid: Expected 0D or 1D tensor in the tensor list but "
                                 "got {} dimensions",
                                 t.dim()));
    }
    if (t.dtype != tensors[0].tensor().dtype) {
      return Refused("dtype_mismatch", "torch.meshgrid expects all tensors to have the same dtype");
    }
    shape[place(i)] = t.numel();
  }
  std::vector<ResultSpec> items;
  for (size_t i = 0; i < n; ++i) {
    const Tensor& t = tensors[i].tensor();
    Dims sizes(n, 1);
    sizes[place(i)] = t.numel();
    PAL_TRY(View line, ReshapeView(t, sizes));
    PAL_TRY(View view, ExpandView(line, shape));
    items.push_back(ResultSpec::ViewOf(0, std::move(view), static_cast<int>(i)));
  }
  call.results.push_back(ResultSpec::List(std::move(items)));
  return {};
}

// At least kRank dims; the tensor itself where it has them.
template <int kRank>
Result<ResultSpec> AtLeast(const Tensor& t, int arg, int element) {
  if (t.dim() >= kRank) return ResultSpec::Same(arg, element);
  View view = t.view();
  if (t.dim() == 0) {
    PAL_TRY(view, ReshapeView(t, Dims(kRank, 1)));
  } else {
    if (t.dim() == 1 && kRank > 1) {
      PAL_TRY(view, UnsqueezeView(view, 0));
    }
    if (kRank == 3) {
      PAL_TRY(view, UnsqueezeView(view, -1));
    }
  }
  return ResultSpec::ViewOf(arg, std::move(view), element);
}

template <int kRank>
Status AtLeastMeta(MetaCall& call) {
  if (call.args[0].IsTensor()) {
    PAL_TRY(ResultSpec spec, AtLeast<kRank>(call.args[0].tensor(), 0, -1));
    call.results.push_back(std::move(spec));
    return {};
  }
  std::vector<ResultSpec> items;
  const Value::List& tensors = call.args[0].list();
  for (size_t i = 0; i < tensors.size(); ++i) {
    PAL_TRY(ResultSpec spec, AtLeast<kRank>(tensors[i].tensor(), 0, static_cast<int>(i)));
    items.push_back(std::move(spec));
  }
  call.results.push_back(ResultSpec::List(std::move(items)));
  return {};
}

}  // namespace

Status RegisterViewsOfLists(op::OpTable& table) {
  std::vector<BuiltinRow> rows = {
      {.schema = "aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]",
       .meta = BroadcastTensorsMeta},
      {.schema = "aten::meshgrid(Tensor[] tensors) -> Tensor[]", .meta = MeshgridMeta},
      {.schema = "aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
       .meta = MeshgridMeta},
  };
  const std::pair<int, op::MetaFn> ranks[] = {
      {1, AtLeastMeta<1>}, {2, AtLeastMeta<2>}, {3, AtLeastMeta<3>}};
  for (const auto& [rank, meta] : ranks) {
    rows.push_back(
        {.schema = fmt::format("aten::atleast_{}d(Tensor self) -> Tensor", rank), .meta = meta});
    rows.push_back(
        {.schema = fmt::format("aten::atleast_{}d.Sequence(Tensor[] tensors) -> Tensor[]", rank),
         .meta = meta});
  }
  return RegisterBuiltinRows(table, std::move(rows));
}

}  // namespace palimpsest::kernels
