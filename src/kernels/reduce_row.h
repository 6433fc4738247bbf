// A reduction is one row: its forms, its types, and a function from a slice to one or two numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/reduce_walk.h"
#include "op/op.h"

namespace palimpsest::kernels {

// The arguments of a reduction, by name.
struct ReduceArgs {
  const op::Schema& schema;
  std::span<const Value> args;

  const Tensor& self() const { return args[0].tensor(); }
  const Value* Find(std::string_view name) const {
    int i = schema.FindArg(name);
    return i < 0 ? nullptr : &args[static_cast<size_t>(i)];
  }
  Value dim() const {
    const Value* v = Find("dim");
    return v == nullptr ? Value() : *v;
  }
  bool keepdim() const {
    const Value* v = Find("keepdim");
    return v != nullptr && v->ToBool();
  }
  std::optional<DType> dtype() const {
    const Value* v = Find("dtype");
    return v == nullptr ? std::nullopt : v->ToOptionalDType();
  }
  int out_arg() const { return schema.FindArg("out"); }
  const Tensor* out() const {
    return out_arg() < 0 ? nullptr : &args[static_cast<size_t>(out_arg())].tensor();
  }
};

// Input -> `through` -> `loop` (what the slice function reads) -> `results`.
struct ReduceTypes {
  DType through, loop;
  DType results[2];
};

// Numbers for the slice function: the order of a norm, the correction of a variance.
struct ReduceParams {
  double number = 0;
};

struct SliceResult {
  alignas(16) std::byte value[16];
  int64_t index = 0;  // for reductions that also say where
};
using SliceKernel = void (*)(SliceSource& slice, const ReduceParams& params, SliceResult* results);

struct ReduceRow {
  std::vector<std::string> schemas;  // all forms; one that has an argument `out` writes there
  Result<ReduceTypes> (*types)(const ReduceArgs& args);
  SliceKernel (*kernel)(DType loop);           // null: no such function
  DType (*loop_result)(DType loop) = nullptr;  // type of SliceResult::value; null: the loop's
  int results = 1;
  bool index_is_result[2] = {false, false};  // result k is SliceResult::index
  bool empty_dims_is_none = false;           // an empty list of dims reduces nothing (any.dims)
  Status (*before)(const ReduceArgs& args) = nullptr;  // after types, before the dims are looked at
  ReduceParams (*params)(const ReduceArgs& args) = nullptr;
};

Status RegisterReduceRow(op::OpTable& table, const ReduceRow& row);

// ---- Type rules.
// Errors "dtype_mismatch": out is there and has another type; "cannot_cast": its type takes no
// `result`.
Status RefuseOtherOut(const ReduceArgs& args, DType expected);
Status RefuseUnsafeOut(const ReduceArgs& args, DType result);
// dtype given, else out's, else i64 for integers, else self's.
Result<ReduceTypes> SumTypes(const ReduceArgs& args);
// The type stays; `out` must have it. 16-bit floats are compared as f32, integers as i64.
Result<ReduceTypes> SameTypes(const ReduceArgs& args);
// i64 for integers and bools, f32 for 16-bit floats, else the type.
DType AccumulatorOf(DType dtype);
// Error "empty_reduction": a reduced dim of size 0 (all dims: no elements).
Status RefuseEmpty(const ReduceArgs& args);

}  // namespace palimpsest::kernels
