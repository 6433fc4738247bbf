// Adapts a library's operator to op::Op: meta and kernel that call through the C ABI.
#pragma once

#include "op/op.h"
#include "palimpsest/plugin.h"

namespace palimpsest::op {

// The functions of a library's operator, and what its schema says of its returns.
struct PluginOperator {
  PalRunFn run = nullptr;
  PalMetaFn meta = nullptr;  // may be null: the operator returns no new tensors
  void* data = nullptr;
  // Per schema return: the written argument that it is, or kFresh, or kNumber.
  static constexpr int kFresh = -1, kNumber = -2;
  std::vector<int> returns;
};

MetaFn PluginMeta(PluginOperator plugin);
KernelFn PluginKernel(PluginOperator plugin);

}  // namespace palimpsest::op
