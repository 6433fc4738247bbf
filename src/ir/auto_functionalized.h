// The printed form of "an operator that writes, run on copies": auto_functionalized (version 1: one
// copy per written argument) and auto_functionalized_v2 (one copy per distinct base).
//
//   auto_functionalized_v2 =
//   torch.ops.higher_order.auto_functionalized_v2(torch.ops.my.foo.default,
//       n = 1, _x_base_index = 0, _x_slice_dim = 0, _x_slice_start = 1, _x_slice_end = 3,
//       _all_bases = [f])
//
// means: copy f with its strides, take the slice [1:3] of dim 0 of the copy as argument x, call
// foo; the results are foo's results (one None if it has none), then one new version per base. The
// encoding is PyTorch's (docs/ir.md), with a few keys more: `_x_dtype` (the view has another dtype;
// its size, stride and offset count elements of it), base keys for an argument that is only read,
// where it shares memory with a written one of the same call, and `_xs_0` for those elements of
// such a list that do not.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "palimpsest/result.h"

namespace palimpsest::ir {

// How an argument is had from the (copied) bases.
struct BaseView {
  enum class Kind : uint8_t {
    kNone,       // the argument, or the element of the list, is None
    kBase,       // the base itself
    kAlias,      // another tensor with the base's layout
    kSlice,      // start:end of dim `dim`, step 1
    kAsStrided,  // size, stride, storage_offset on the base's storage
    kPlain,      // not on a base: `plain` (an element of a list that does not meet what is written)
    kFresh,      // `out=` operators: new memory of this size, stride and dtype
  };
  Kind kind = Kind::kNone;
  int base = -1;
  // Numbers, or nodes whose values are numbers.
  Argument dim, start, end;               // kSlice
  Argument size, stride, storage_offset;  // kAsStrided; kFresh (no offset)
  Argument plain;                         // kPlain
  Argument dtype;                         // kAsStrided: None if the base's; kFresh
};

struct FunctionalizedCall {
  const op::Op* op = nullptr;
  int version = 2;

  // One schema argument of `op`.
  struct Operand {
    bool on_base = false;  // `views` say how to get it; else `plain`
    bool is_list = false;  // of a list, one view per element
    Argument plain;
    std::vector<BaseView> views;
  };
  std::vector<Operand> operands;
  // What is copied. Version 1: the written tensors in schema order, lists flattened.
  std::vector<Argument> bases;

  // The results after those of the operator: a base, a list of bases, or None.
  struct NewValue {
    bool is_list = false;
    std::vector<int> bases;  // empty and not a list: None
  };
  std::vector<NewValue> new_values;
  // The call returns the operator's own single result, not a list (version 2 of `out=` operators).
  bool bare_result = false;
  // Index of the first of `new_values` among the results.
  size_t num_op_results() const;
};

// 1 or 2 for a call of auto_functionalized(_v2), else 0.
int AutoFunctionalizedVersion(const Node& node);
inline constexpr char kAutoFunctionalizedV1[] = "torch.ops.higher_order.auto_functionalized";
inline constexpr char kAutoFunctionalizedV2[] = "torch.ops.higher_order.auto_functionalized_v2";

// REQUIRES: AutoFunctionalizedVersion(node) != 0. Errors (kBadInput, kUnknownOperator) name the
// argument that is missing or does not fit.
Result<FunctionalizedCall> DecodeFunctionalized(const Graph& graph, const Node& node);

// Appends the keys of one view under `prefix` ("_x", "_xs_0") as PyTorch writes them.
void EncodeBaseView(const std::string& prefix, const BaseView& view,
                    std::vector<NamedArgument>* kwargs);

}  // namespace palimpsest::ir
