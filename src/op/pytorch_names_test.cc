#include "op/pytorch_names.h"

#include <gtest/gtest.h>

namespace palimpsest::op {
namespace {

TEST(PyTorchNames, KnowsPyTorchsOwnOnly) {
  for (const char* target :
       {"torch.ops.aten.add.Tensor", "torch.ops.aten.einsum.default",
        "torch.ops.aten._fft_r2c.default", "torch.ops.higher_order.while_loop", "_operator.add",
        "torch.sym_max", "math.floor", "torch.ops.prims.convert_element_type.default"}) {
    EXPECT_TRUE(IsPyTorchOperator(target)) << target;
  }
  for (const char* target :
       {"torch.ops.aten.add.NoSuch", "torch.ops.aten.no_such.default", "torch.ops.my.foo.default",
        "torch.ops.higher_order.no_such", "os.system", "builtins.eval", "", "torch.ops.",
        "torch.ops.aten", "torch.ops.aten.", "torch.ops.aten.add.", "torch.ops.aten.add. "}) {
    EXPECT_FALSE(IsPyTorchOperator(target)) << target;
  }
}

}  // namespace
}  // namespace palimpsest::op
