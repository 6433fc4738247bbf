// Inputs for the default call signature: the file's sample inputs, else seeded values of the
// annotated types, with the sharing that "# storage:" lines say.

#include <fmt/format.h>

#include <algorithm>

#include "driver/default_inputs.h"

namespace palimpsest::driver {
namespace {

// A value for every symbol: the least of its range, but at least 4, so that dims differ from 0
// and 1.
SymBindings DefaultBindings(const ir::Graph& graph) {
  SymBindings bindings;
  auto bind = [&](const SymInt& expr) {
    for (const std::string& name : SymbolsOf(expr)) {
      if (bindings.contains(name)) continue;
      int64_t value = 4;
      auto it = graph.ranges.find(name);
      if (it != graph.ranges.end()) {
        value = std::max(value, it->second.min.value_or(value));
        value = std::min(value, it->second.max.value_or(value));
      }
      bindings[name] = {SymNumber::Kind::kInt, value, 0};
    }
  };
  for (size_t i = 0, n = graph.num_inputs(); i < n; ++i) {
    const ir::Type& type = graph.nodes[i].type;
    bind(type.sym);
    for (const SymInt& size : type.tensor.sizes) bind(size);
  }
  return bindings;
}

Result<Dims> EvaluateDims(const std::vector<SymInt>& dims, const SymBindings& bindings) {
  Dims result;
  for (const SymInt& dim : dims) {
    PAL_TRY(int64_t value, EvaluateInt(dim, bindings));
    result.push_back(value);
  }
  return result;
}

Result<View> ViewOf(const ir::TensorType& type, const SymBindings& bindings) {
  View view;
  view.dtype = type.dtype;
  PAL_TRY(view.sizes, EvaluateDims(type.sizes, bindings));
  if (type.strides) {
    PAL_TRY(view.strides, EvaluateDims(*type.strides, bindings));
  } else {
    view.strides = ContiguousStrides(view.sizes);
  }
  return view;
}

uint64_t NextRandom(uint64_t& state) {  // xorshift64*
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 2685821657736338717ull;
}

void Put(std::byte* at, DType dtype, uint64_t bits) {
  int64_t small = static_cast<int64_t>(bits % 4);
  double unit = static_cast<double>(bits >> 11) * 0x1p-53 * 2 - 1;
  switch (dtype) {
    case DType::kB8:
      *reinterpret_cast<uint8_t*>(at) = bits & 1;
      break;
    case DType::kU8:
    case DType::kI8:
      *reinterpret_cast<int8_t*>(at) = static_cast<int8_t>(small);
      break;
    case DType::kI16:
      *reinterpret_cast<int16_t*>(at) = static_cast<int16_t>(small);
      break;
    case DType::kI32:
      *reinterpret_cast<int32_t*>(at) = static_cast<int32_t>(small);
      break;
    case DType::kI64:
      *reinterpret_cast<int64_t*>(at) = small;
      break;
    case DType::kF16:
      *reinterpret_cast<Half*>(at) = Half(static_cast<float>(unit));
      break;
    case DType::kBF16:
      *reinterpret_cast<BFloat16*>(at) = BFloat16(static_cast<float>(unit));
      break;
    case DType::kF32:
      *reinterpret_cast<float*>(at) = static_cast<float>(unit);
      break;
    case DType::kF64:
      *reinterpret_cast<double*>(at) = unit;
      break;
    case DType::kC64:
      reinterpret_cast<float*>(at)[0] = static_cast<float>(unit);
      reinterpret_cast<float*>(at)[1] = static_cast<float>(small);
      break;
    case DType::kC128:
      reinterpret_cast<double*>(at)[0] = unit;
      reinterpret_cast<double*>(at)[1] = static_cast<double>(small);
      break;
  }
}

}  // namespace

void FillRandom(const StorageRef& storage, DType dtype, uint64_t seed) {
  uint64_t state = seed * 0x9E3779B97F4A7C15ull + 0x1234567;
  int64_t item = ItemSize(dtype);
  for (int64_t i = 0; i + item <= storage->bytes(); i += item) {
    Put(storage->data() + i, dtype, NextRandom(state));
  }
}

Result<std::vector<Value>> DefaultInputs(const Program::Impl& program, uint64_t seed) {
  if (program.has_samples) return program.sample_inputs;
  const ir::Graph& graph = program.program;
  SymBindings bindings = DefaultBindings(graph);
  std::vector<View> views(graph.num_inputs());
  for (size_t i = 0; i < views.size(); ++i) {
    if (graph.nodes[i].type.kind == ir::Type::Kind::kTensor) {
      PAL_TRY(views[i], ViewOf(graph.nodes[i].type.tensor, bindings));
    }
  }
  std::vector<int> group(views.size(), -1);
  for (size_t g = 0; g < graph.storages.size(); ++g) {
    for (const ir::StorageGroup::Member& member : graph.storages[g].members) {
      size_t i = static_cast<size_t>(member.input.index);
      views[i].offset = member.offset;
      group[i] = static_cast<int>(g);
    }
  }
  std::vector<int64_t> bytes(graph.storages.size(), 0);
  for (size_t i = 0; i < views.size(); ++i) {
    PAL_TRY(int64_t needed, RequiredBytes(views[i]));
    if (group[i] >= 0) {
      int64_t& b = bytes[static_cast<size_t>(group[i])];
      b = std::max(b, needed);
    }
  }
  std::vector<StorageRef> shared(graph.storages.size());
  std::vector<Value> inputs;
  for (size_t i = 0; i < views.size(); ++i) {
    if (!program.is_user(i)) continue;
    const ir::Type& type = graph.nodes[i].type;
    const ir::InputSpec& spec = program.input_spec(i);
    if (spec.kind == ir::InputSpec::Kind::kConstant) {
      PAL_TRY(Value constant, ConstantValue(spec.constant));
      inputs.push_back(std::move(constant));
    } else if (type.kind == ir::Type::Kind::kSym) {
      PAL_TRY(int64_t value, EvaluateInt(type.sym, bindings));
      inputs.emplace_back(value);
    } else if (type.kind == ir::Type::Kind::kTensor) {
      StorageRef storage;
      if (group[i] >= 0) storage = shared[static_cast<size_t>(group[i])];
      if (storage == nullptr) {
        PAL_TRY(int64_t needed, RequiredBytes(views[i]));
        if (group[i] >= 0) needed = bytes[static_cast<size_t>(group[i])];
        PAL_TRY(storage, AllocateStorage(needed));
        FillRandom(storage, views[i].dtype, seed + i);
        if (group[i] >= 0) shared[static_cast<size_t>(group[i])] = storage;
      }
      inputs.emplace_back(Tensor(views[i], storage));
    } else if (type.kind == ir::Type::Kind::kNone) {
      inputs.emplace_back();
    } else {
      return BadInput(
          fmt::format("input '{}' has no type annotation, so no default value can be made: give "
                      "one with --input",
                      program.input_name(i)));
    }
  }
  return inputs;
}

Result<Value> ConstantValue(const ir::Argument& argument) {
  if (argument.IsNone()) return Value();
  if (argument.Is<bool>()) return Value(argument.As<bool>());
  if (argument.Is<int64_t>()) return Value(argument.As<int64_t>());
  if (argument.Is<double>()) return Value(argument.As<double>());
  if (argument.Is<std::string>()) return Value(argument.As<std::string>());
  return Unsupported("an input constant that is no number, string or None");
}

}  // namespace palimpsest::driver
