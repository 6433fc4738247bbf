// A point-wise operator is one row of a table; RegisterRows makes all its forms of it.
//
//   {.schema = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
//    .roles = "oop", .rule = Rule::kBinary, .loops = LoopId::kAdd, .in_place = "", .out = "out",
//    .after = CheckAlpha}
//
// registers add.Tensor, add_.Tensor and add.out. Their meta functions ask the iterator, with the
// row's rule, what the result looks like; their kernels run the row's loops.
#pragma once

#include <span>

#include "kernels/pointwise_run.h"
#include "op/op.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {

// Presets of the iterator (palimpsest/iterator.h).
enum class Rule : uint8_t {
  kBinary,
  kBinaryFloat,
  kUnary,
  kUnaryFloat,
  kLogicalNot,
  kComparison,
  kLerp,
  kWhere,
};

// How the functional form lays out its result, where that is not what the iterator says: some
// operations make the result themselves and hand it to the iterator as an output.
enum class NewLayout : uint8_t { kRule, kPreserve, kContiguous };

struct PointwiseRow {
  const char* schema;  // of the functional form
  // One letter per schema argument: 'o' an operand of the iterator (tensor or number), 'n' a number
  // that takes part in promotion only and is a parameter of the loop, 'p' a parameter, '-' neither.
  const char* roles;
  Rule rule;
  LoopId loops = LoopId::kNone;
  bool type_only_int = false;  // an implied integer takes part in promotion (square)
  NewLayout new_layout = NewLayout::kRule;
  Result<Dims> (*strides)(const Tensor& self) = nullptr;  // for layouts with a rule of their own
  bool swapped = false;            // the second argument is the first operand (rsub)
  const char* in_place = nullptr;  // null: none; "": name_; else its name (and overload)
  const char* out = nullptr;       // overload of the out= form; null: no such form
  // Checks that the operation makes itself, before the iterator is built and after.
  Status (*before)(std::span<const Value> args) = nullptr;
  Status (*after)(std::span<const Value> args, DType common) = nullptr;
  // Where the loops or the rule hang on the arguments (gelu's approximate, div's rounding_mode).
  LoopId (*choose)(std::span<const Value> args) = nullptr;
  Rule (*choose_rule)(std::span<const Value> args) = nullptr;
  // The value of an absent parameter; null: absent parameters are left out.
  Scalar (*absent)(int param, DType common) = nullptr;
  bool out_keeps_type = false;  // out= must have the common type (clamp with numbers)
  bool checks_overlap = true;   // threshold does not
  bool may_refuse = false;      // integer division by zero
  bool refuses_complex = true;  // false: PyTorch takes complex numbers here, and we may not
};

// An out= argument that takes another view: the relayout, the warning, the refusal of fixed memory.
Status ResizeOutput(op::MetaCall& call, int arg, const View& view);
// The same at run time: `out` with this view, its storage grown where it is too small.
Result<Tensor> GrownOutput(const Tensor& out, const View& view);

Status RegisterRows(op::OpTable& table, std::span<const PointwiseRow> rows);

}  // namespace palimpsest::kernels
