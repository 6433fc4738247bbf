// Operators that make tensors out of sizes and numbers: empty, full, arange, eye, ...
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterFactories(op::OpTable& table);

// The arguments that all factories end with.
inline constexpr const char* kFactoryOptions =
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None";
// Refuses layouts that palimpsest does not have.
Status CheckFactoryOptions(const op::MetaCall& call);

}  // namespace palimpsest::kernels
