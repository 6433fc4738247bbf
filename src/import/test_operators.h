// For tests: a table of a few operators of which only the schemas matter.
#pragma once

#include "op/op.h"

namespace palimpsest::importing {

inline bool RegisterTestOperators(op::OpTable& ops) {
  for (const char* text : {
           "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
           "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor",
           "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
           "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
           "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
           "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, "
           "SymInt step=1) -> Tensor(a)",
           "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
           "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
           "indices)",
           "aten::sym_size.int(Tensor self, int dim) -> SymInt",
       }) {
    Result<op::Schema> schema = op::ParseSchema(text);
    if (!schema.ok()) return false;
    op::Op op;
    op.schema = std::move(*schema);
    if (!ops.Register(std::move(op)).ok()) return false;
  }
  return true;
}

}  // namespace palimpsest::importing
