// A built-in operator as one row of a table, for the families whose operators share no loop: views,
// factories, indexing, shaping, random, symbolic.
//
//   {.schema = "aten::t(Tensor(a) self) -> Tensor(a)", .meta = TMeta},
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "op/op.h"

namespace palimpsest::kernels {

struct BuiltinRow {
  std::string schema;
  op::MetaFn meta = {};
  op::KernelFn kernel = {};
  op::Traits traits = {};
  std::string functional = "";
  std::string expansion = "";
};
Status RegisterBuiltinRows(op::OpTable& table, std::vector<BuiltinRow> rows);

// What becomes of an update of a tensor that overlaps itself (an expanded one): refused as in
// eager, or, where eager runs it with a warning, not supported.
enum class SelfOverlap : uint8_t { kRefused, kUnsupported };
// The in-place form of `row`: name_(Tensor(a!) self, ...) -> Tensor(a!), computed by the row's own
// meta and kernel. `row` must take self first. An operand that shares memory with self is refused
// as far as PyTorch sees it.
BuiltinRow InPlaceForm(const BuiltinRow& row, SelfOverlap overlap = SelfOverlap::kRefused);

// Refuses an update of `self` one of whose other operands shares memory with it, as far as PyTorch
// sees it: both are dense and their bytes meet. Error "partial_overlap".
Status RefuseSharedMemory(const Tensor& self, const Tensor& other);

// Argument of a call by name; REQUIRES that the schema has it.
const Value& Argument(const op::Op& op, std::span<const Value> args, std::string_view name);
// Element type asked for by `dtype=`, else `otherwise`.
DType TypeAsked(const op::Op& op, std::span<const Value> args, DType otherwise);
// Sizes from a program: none negative, their product within 64 bits.
Status CheckSizes(std::span<const int64_t> sizes);

}  // namespace palimpsest::kernels
