#include "kernels/builtin.h"

#include <gtest/gtest.h>

#include "op/op.h"

namespace palimpsest::kernels {
namespace {

TEST(Builtin, AllFamiliesRegister) {
  op::OpTable table;
  Status status = RegisterBuiltins(table);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_GT(table.All().size(), 500u);
}

// An in-place operator's functional form takes the same arguments, by name.
TEST(Builtin, FunctionalFormsExistAndFit) {
  op::OpTable table;
  ASSERT_TRUE(RegisterBuiltins(table).ok());
  for (const op::Op* op : table.All()) {
    if (op->functional.empty()) continue;
    const op::Op* twin = table.Find(op->functional);
    ASSERT_NE(twin, nullptr) << op->schema.Key() << " names " << op->functional;
    for (const op::SchemaArg& arg : twin->schema.args) {
      EXPECT_TRUE(op->schema.FindArg(arg.name) >= 0 || arg.default_value.has_value())
          << op->schema.ToString() << " / " << twin->schema.ToString();
    }
  }
}

}  // namespace
}  // namespace palimpsest::kernels
