// Inputs for the default call signature (docs/architecture.md).
#pragma once

#include <vector>

#include "driver/program_impl.h"

namespace palimpsest::driver {

// One value per user input: sample inputs, else seeded values in [-1, 1) (integers 0..3).
Result<std::vector<Value>> DefaultInputs(const Program::Impl& program, uint64_t seed);
void FillRandom(const StorageRef& storage, DType dtype, uint64_t seed);
Result<Value> ConstantValue(const ir::Argument& argument);

}  // namespace palimpsest::driver
