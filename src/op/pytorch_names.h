// The names of the operators that PyTorch itself has, whether or not there is a kernel here.
#pragma once

#include <string_view>

namespace palimpsest::op {

// `target` as in a graph: "torch.ops.aten.add.Tensor", "torch.ops.higher_order.scan". Python
// functions ("_operator.add", "math.floor", "torch.sym_max") count if PyTorch's exporter writes
// them.
bool IsPyTorchOperator(std::string_view target);

}  // namespace palimpsest::op
