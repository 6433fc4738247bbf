// any and all: bool, but u8 of u8.
#include "kernels/reduce.h"
#include "kernels/reduce_row.h"

namespace palimpsest::kernels {
namespace {

template <bool kAny>
void LogicSlice(SliceSource& slice, const ReduceParams&, SliceResult* results) {
  const bool* x = nullptr;
  bool value = !kAny;
  for (int64_t n; (n = slice.Next(&x)) > 0;) {
    for (int64_t i = 0; i < n; ++i) value = kAny ? value || x[i] : value && x[i];
  }
  *reinterpret_cast<bool*>(results->value) = value;
}
template <bool kAny>
SliceKernel Find(DType) {
  return LogicSlice<kAny>;
}

Result<ReduceTypes> LogicTypes(const ReduceArgs& args) {
  DType self = args.self().dtype;
  DType result = self == DType::kU8 ? DType::kU8 : DType::kB8;
  const Tensor* out = args.out();
  if (out != nullptr && out->dtype != DType::kB8 && out->dtype != DType::kU8) {
    return Refused("dtype_mismatch", "any and all only support bool and u8 tensors for out");
  }
  return ReduceTypes{self, DType::kB8, {result, result}};
}

template <bool kAny>
Status RegisterOne(op::OpTable& table) {
  std::string name = kAny ? "aten::any" : "aten::all";
  return RegisterReduceRow(
      table,
      {.schemas = {name + "(Tensor self) -> Tensor",
                   name + ".dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
                   name + ".dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
                   name + ".out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> "
                          "Tensor(a!)",
                   name + ".all_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"},
       .types = LogicTypes,
       .kernel = Find<kAny>,
       .empty_dims_is_none = true});
}

}  // namespace

Status RegisterReduceLogic(op::OpTable& table) {
  PAL_TRY(RegisterOne<true>(table));
  return RegisterOne<false>(table);
}

}  // namespace palimpsest::kernels
