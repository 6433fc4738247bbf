// The call signature: everything about the inputs of a call that the compiler relies on.
//
// dtype, sizes and strides of every input, who shares a storage with whom and at which distance,
// values of number inputs, and the numbers that the program reads from memory ahead of the plan.
// Two calls with equal keys run the same executable.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "palimpsest/result.h"
#include "palimpsest/value.h"

namespace palimpsest::driver {

struct CallSignature {
  std::vector<Value> inputs;  // shape-only, one per graph input; sharing shows in the storages
  std::vector<StorageRef> storages;  // of the call, in order of appearance
  std::string key;
};

// Storages whose byte ranges meet count as one: inputs are rebased onto a merged storage that
// reaches from the lowest to the highest byte. kBadInput if an element then lies between two
// others.
Result<std::vector<Value>> MergeStorages(std::span<const Value> inputs);

// `inputs`: as MergeStorages gives them; `data`: numbers read ahead.
CallSignature SignatureOf(std::span<const Value> inputs, std::span<const Value> data);

// For people: "x: f32[2, 3][3, 1]; y: f32[3][1] in the storage of x, offset 2".
std::string Describe(const CallSignature& signature, std::span<const std::string> names);

}  // namespace palimpsest::driver
