// The _foreach_ operators that write: each is a list of calls of a point-wise in-place operator.
#include <fmt/format.h>

#include "kernels/pointwise.h"

namespace palimpsest::kernels {
namespace {

// "aten::_foreach_add_.List(Tensor(a!)[] self, ...) -> ()" calls "aten::add_.Tensor" per element.
struct Row {
  const char* schema;
  const char* element;
};

constexpr Row kRows[] = {
    {"aten::_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()", "aten::add_.Scalar"},
    {"aten::_foreach_sub_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()", "aten::sub_.Scalar"},
    {"aten::_foreach_mul_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()", "aten::mul_.Scalar"},
    {"aten::_foreach_div_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()", "aten::div_.Scalar"},
    {"aten::_foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()",
     "aten::add_.Tensor"},
    {"aten::_foreach_sub_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()",
     "aten::sub_.Tensor"},
    {"aten::_foreach_mul_.List(Tensor(a!)[] self, Tensor[] other) -> ()", "aten::mul_.Tensor"},
    {"aten::_foreach_div_.List(Tensor(a!)[] self, Tensor[] other) -> ()", "aten::div_.Tensor"},
    {"aten::_foreach_add_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()",
     "aten::add_.Scalar"},
    {"aten::_foreach_sub_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()",
     "aten::sub_.Scalar"},
    {"aten::_foreach_mul_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()",
     "aten::mul_.Scalar"},
    {"aten::_foreach_div_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()",
     "aten::div_.Scalar"},
    {"aten::_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()",
     "aten::copy_"},
    {"aten::_foreach_zero_(Tensor(a!)[] self) -> ()", "aten::zero_"},
    {"aten::_foreach_neg_(Tensor(a!)[] self) -> ()", "aten::neg_"},
    {"aten::_foreach_abs_(Tensor(a!)[] self) -> ()", "aten::abs_"},
    {"aten::_foreach_exp_(Tensor(a!)[] self) -> ()", "aten::exp_"},
    {"aten::_foreach_sqrt_(Tensor(a!)[] self) -> ()", "aten::sqrt_"},
    {"aten::_foreach_reciprocal_(Tensor(a!)[] self) -> ()", "aten::reciprocal_"},
};

// The element operator's arguments at position i: lists give their element i, the rest stays.
Result<std::vector<Value>> ElementArgs(const op::Op& element, const op::Op& op,
                                       std::span<const Value> args, size_t i) {
  size_t length = args[0].list().size();
  std::vector<Value> result;
  for (const Value& arg : args) {
    if (!arg.IsList()) {
      result.push_back(arg);
    } else if (arg.list().size() != length) {
      return Refused("bad_argument", fmt::format("{}: Tensor lists must have the same number of "
                                                 "tensors, got {} and {}",
                                                 op.schema.Key(), length, arg.list().size()));
    } else {
      result.push_back(arg.list()[i]);
    }
  }
  while (result.size() < element.schema.args.size()) {
    result.push_back(element.schema.args[result.size()].default_value.value_or(Value()));
  }
  return result;
}

Status RegisterRow(op::OpTable& table, const Row& row) {
  op::Op op;
  PAL_TRY(op.schema, op::ParseSchema(row.schema));
  const op::OpTable* all = &table;
  std::string key = row.element;
  op.meta = [all, key](op::MetaCall& call) -> Status {
    const op::Op& element = *all->Find(key);
    for (size_t i = 0; i < call.args[0].list().size(); ++i) {
      PAL_TRY(std::vector<Value> args, ElementArgs(element, call.op, call.args, i));
      op::MetaCall one{element, args, {}, {}, {}};
      PAL_TRY(element.meta(one));
    }
    return {};
  };
  op.kernel = [all, key](op::KernelCall& call) -> Status {
    const op::Op& element = *all->Find(key);
    for (size_t i = 0; i < call.args[0].list().size(); ++i) {
      PAL_TRY(std::vector<Value> args, ElementArgs(element, call.op, call.args, i));
      op::KernelCall one{element, args, {}, {}, nullptr};
      PAL_TRY(element.kernel(one));
    }
    return {};
  };
  return table.Register(std::move(op));
}

}  // namespace

Status RegisterForeach(op::OpTable& table) {
  for (const Row& row : kRows) PAL_TRY(RegisterRow(table, row));
  return {};
}

}  // namespace palimpsest::kernels
