#include "kernels/own_ops.h"

#include <fmt/format.h>

#include "core/overlap.h"
#include "kernels/builtin_row.h"
#include "kernels/copy.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

Status StorageMeta(MetaCall& call) {
  const Tensor& x = call.args[0].tensor();
  View view{x.dtype, {x.storage->bytes() / x.item_size()}, {1}, 0};
  call.results.push_back(ResultSpec::ViewOf(0, std::move(view)));
  return {};
}

// A view from arguments first, first + 1, first + 2, within `bytes`.
Result<View> ViewFromArguments(const MetaCall& call, size_t first, DType dtype, int64_t bytes) {
  View view{dtype, call.args[first].ToDims(), call.args[first + 1].ToDims(),
            call.args[first + 2].ToInt()};
  if (view.sizes.size() != view.strides.size()) {
    return Refused("size_mismatch",
                   fmt::format("{}: sizes {} and strides {} differ in number", call.op.schema.Key(),
                               ToString(view.sizes), ToString(view.strides)));
  }
  PAL_TRY(int64_t needed, RequiredBytes(view));
  if (needed > bytes) {
    return Refused("out_of_storage",
                   fmt::format("{}: {} at offset {} needs {} bytes, the storage has {}",
                               call.op.schema.Key(), ToString(view), view.offset, needed, bytes));
  }
  return view;
}

Status ViewMeta(MetaCall& call) {
  const Tensor& x = call.args[0].tensor();
  PAL_TRY(View view, ViewFromArguments(call, 2, call.args[1].As<DType>(), x.storage->bytes()));
  call.results.push_back(ResultSpec::ViewOf(0, std::move(view)));
  return {};
}

// The base's layout; a base that overlaps itself gives a dense one.
View ScatterLayout(const View& base) {
  View view{base.dtype, base.sizes, base.strides, 0};
  if (OverlapsItself(base)) view.strides = PreserveStrides(base);
  return view;
}

Status ScatterViewMeta(MetaCall& call) {
  const Tensor& value = call.args[1].tensor();
  View layout = ScatterLayout(call.args[0].tensor());
  PAL_TRY(int64_t bytes, RequiredBytes(layout));
  PAL_TRY(View view, ViewFromArguments(call, 2, value.dtype, bytes));
  if (view.sizes != value.sizes) {
    return Refused("source_size_mismatch",
                   fmt::format("{}: a value of sizes {} for a view of sizes {}",
                               call.op.schema.Key(), ToString(value.sizes), ToString(view.sizes)));
  }
  call.results.push_back(ResultSpec::Fresh(std::move(layout)));
  return {};
}

Status ScatterViewKernel(KernelCall& call) {
  const Tensor& result = call.results[0];
  const Tensor& value = call.args[1].tensor();
  if (result.strides != ScatterLayout(call.args[0].tensor()).strides) {
    return InternalError(fmt::format("{}: the result {} has other strides than the base",
                                     call.op.schema.Key(), ToString(result.view())));
  }
  int64_t first = result.offset * result.item_size(), item = value.item_size();
  if (first % item != 0) {
    return InternalError(
        fmt::format("{}: elements of {} bytes at byte {}", call.op.schema.Key(), item, first));
  }
  View view{value.dtype, call.args[2].ToDims(), call.args[3].ToDims(),
            call.args[4].ToInt() + first / item};
  return CopyTo(value, Tensor(std::move(view), result.storage));
}

}  // namespace

Status RegisterOwnOperators(op::OpTable& table) {
  op::Traits scatter;
  scatter.tied = 0;
  return RegisterBuiltinRows(
      table, {
                 {.schema = "palimpsest::storage(Tensor(a) x) -> Tensor(a)", .meta = StorageMeta},
                 {.schema = "palimpsest::view(Tensor(a) x, ScalarType dtype, int[] size, int[] "
                            "stride, int storage_offset) -> Tensor(a)",
                  .meta = ViewMeta},
                 {.schema = "palimpsest::scatter_view(Tensor base, Tensor value, int[] size, int[] "
                            "stride, int storage_offset) -> Tensor",
                  .meta = ScatterViewMeta,
                  .kernel = ScatterViewKernel,
                  .traits = scatter},
             });
}

}  // namespace palimpsest::kernels
