#include "op/plugin_arguments.h"

#include <fmt/format.h>

namespace palimpsest::op {
namespace {

// In the order of DType.
constexpr PluginDType kCodes[kNumDTypes] = {
    {6, 8},  {1, 8},  {0, 8},  {0, 16}, {0, 32}, {0, 64},
    {2, 16}, {4, 16}, {2, 32}, {2, 64}, {5, 64}, {5, 128},
};

PalArg Number(int32_t kind, int64_t i, double f) {
  PalArg arg = {};
  arg.kind = kind;
  arg.i = i;
  arg.f = f;
  return arg;
}

bool WantsFloat(const SchemaType& type) { return type.base == BaseType::kFloat; }

}  // namespace

PluginDType ToPluginDType(DType dtype) { return kCodes[static_cast<size_t>(dtype)]; }

std::optional<DType> FromPluginDType(PluginDType dtype) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (kCodes[i].code == dtype.code && kCodes[i].bits == dtype.bits) return static_cast<DType>(i);
  }
  return std::nullopt;
}

Status PluginArguments::Add(const SchemaArg& arg, const Value& value) {
  PAL_TRY(PalArg converted, Convert(arg, value, false));
  args_.push_back(converted);
  return {};
}

void PluginArguments::AddResult(const Tensor& result) {
  args_.push_back(ConvertTensor(result, false));
}

PalArg PluginArguments::ConvertTensor(const Tensor& tensor, bool read_only) {
  PalTensor t = {};
  t.data = memory_ == Memory::kReal ? tensor.data() : nullptr;
  t.ndim = static_cast<int32_t>(tensor.dim());
  PluginDType dtype = ToPluginDType(tensor.dtype);
  t.dtype_code = dtype.code;
  t.dtype_bits = dtype.bits;
  t.read_only = read_only ? 1 : 0;
  t.sizes = tensor.sizes.data();
  t.strides = tensor.strides.data();
  tensors_.push_back(t);
  PalArg arg = {};
  arg.kind = PAL_TENSOR;
  arg.tensor = &tensors_.back();
  return arg;
}

PalArg PluginArguments::ConvertString(std::string text) {
  strings_.push_back(std::move(text));
  PalArg arg = {};
  arg.kind = PAL_STRING;
  arg.s = strings_.back().c_str();
  return arg;
}

Result<PalArg> PluginArguments::Convert(const SchemaArg& arg, const Value& value, bool in_list) {
  const SchemaType& type = arg.type;
  if (value.IsNone()) return Number(PAL_NONE, 0, 0);
  if (value.IsList()) {
    if (!type.IsList() || in_list) {
      return BadInput(fmt::format("argument '{}' does not take a list", arg.name));
    }
    std::vector<PalArg>& items = lists_.emplace_back();
    items.reserve(value.list().size());
    for (const Value& item : value.list()) {
      PAL_TRY(PalArg converted, Convert(arg, item, true));
      items.push_back(converted);
    }
    PalArg list = Number(PAL_LIST, static_cast<int64_t>(items.size()), 0);
    list.items = items.data();
    return list;
  }
  if (value.IsTensor() != type.IsTensorLike()) {
    return BadInput(fmt::format("argument '{}' {} a tensor", arg.name,
                                type.IsTensorLike() ? "must be" : "does not take"));
  }
  if (value.IsTensor()) return ConvertTensor(value.tensor(), !type.is_write());
  if (value.Is<double>()) return Number(PAL_FLOAT, 0, value.As<double>());
  if (value.Is<int64_t>() || value.Is<bool>()) {
    if (WantsFloat(type)) return Number(PAL_FLOAT, 0, value.ToDouble());
    return Number(value.Is<bool>() ? PAL_BOOL : PAL_INT, value.ToInt(), 0);
  }
  if (value.Is<std::string>()) return ConvertString(value.As<std::string>());
  if (value.Is<DType>()) return ConvertString(std::string(DTypeName(value.As<DType>())));
  if (value.Is<Device>()) return ConvertString(value.As<Device>().type);
  return Unsupported(fmt::format("argument '{}': operators from libraries take no {}", arg.name,
                                 value.IsNumber() ? "complex numbers" : "values of this type"));
}

}  // namespace palimpsest::op
