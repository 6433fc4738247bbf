#include "tools/elements.h"

#include <fmt/format.h>

#include <cstring>

namespace palimpsest::tools {
namespace {

template <typename T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <typename T, typename V>
void Store(std::byte* at, V value) {
  T converted = static_cast<T>(value);
  std::memcpy(at, &converted, sizeof(T));
}

void StoreNumber(std::byte* at, DType dtype, double v) {
  switch (dtype) {
    case DType::kB8:
      return Store<uint8_t>(at, v != 0);
    case DType::kU8:
      return Store<uint8_t>(at, v);
    case DType::kI8:
      return Store<int8_t>(at, v);
    case DType::kI16:
      return Store<int16_t>(at, v);
    case DType::kI32:
      return Store<int32_t>(at, v);
    case DType::kI64:
      return Store<int64_t>(at, v);
    case DType::kF16:
      return Store<Half>(at, static_cast<float>(v));
    case DType::kBF16:
      return Store<BFloat16>(at, static_cast<float>(v));
    case DType::kF32:
      return Store<float>(at, v);
    case DType::kF64:
      return Store<double>(at, v);
    case DType::kC64:
      return Store<std::complex<float>>(at, static_cast<float>(v));
    case DType::kC128:
      return Store<std::complex<double>>(at, v);
  }
}

// splitmix64: every seed gives a good sequence.
uint64_t NextRandom(uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::string ShowNumber(const Value& value) {
  if (value.Is<bool>()) return value.As<bool>() ? "True" : "False";
  if (value.Is<int64_t>()) return fmt::format("{}", value.As<int64_t>());
  if (value.Is<double>()) return fmt::format("{:.6g}", value.As<double>());
  auto c = value.As<std::complex<double>>();
  return fmt::format("{:.6g}{:+.6g}j", c.real(), c.imag());
}

}  // namespace

Value ElementAt(const std::byte* at, DType dtype) {
  switch (dtype) {
    case DType::kB8:
      return Load<uint8_t>(at) != 0;
    case DType::kU8:
      return int64_t{Load<uint8_t>(at)};
    case DType::kI8:
      return int64_t{Load<int8_t>(at)};
    case DType::kI16:
      return int64_t{Load<int16_t>(at)};
    case DType::kI32:
      return int64_t{Load<int32_t>(at)};
    case DType::kI64:
      return Load<int64_t>(at);
    case DType::kF16:
      return double{static_cast<float>(Load<Half>(at))};
    case DType::kBF16:
      return double{static_cast<float>(Load<BFloat16>(at))};
    case DType::kF32:
      return double{Load<float>(at)};
    case DType::kF64:
      return Load<double>(at);
    case DType::kC64:
      return std::complex<double>(Load<std::complex<float>>(at));
    case DType::kC128:
      return Load<std::complex<double>>(at);
  }
  return {};
}

std::string ShowElement(const std::byte* at, DType dtype) {
  return ShowNumber(ElementAt(at, dtype));
}

std::string Show(const Value& value, int count) {
  if (value.IsNone()) return "None";
  if (value.IsNumber()) return ShowNumber(value);
  if (value.Is<std::string>()) return "'" + value.As<std::string>() + "'";
  if (value.IsList()) {
    std::string text;
    for (const Value& item : value.list()) text += (text.empty() ? "" : ", ") + Show(item, count);
    return "[" + text + "]";
  }
  if (!value.IsTensor()) return "(another value)";
  std::string text = ToString(value.tensor().view());
  int shown = 0;
  ForEachElement(value.tensor(), [&](const std::byte* at) {
    if (shown < count) text += " " + ShowElement(at, value.tensor().dtype);
    if (shown++ == count) text += " ...";
  });
  return text;
}

void FillElements(const Tensor& tensor, const Filling& filling) {
  uint64_t state = filling.seed;
  int64_t i = 0;
  uint64_t choices = tensor.dtype == DType::kB8 ? 2 : 4;
  ForEachElement(tensor, [&](std::byte* at) {
    double v = filling.value;
    if (filling.kind == Filling::Kind::kArange) v = static_cast<double>(i);
    if (filling.kind == Filling::Kind::kRandom) {
      uint64_t bits = NextRandom(state);
      v = IsIntegral(tensor.dtype) ? static_cast<double>(bits % choices)
                                   : static_cast<double>(bits >> 11) * 0x1p-52 - 1;
    }
    StoreNumber(at, tensor.dtype, v);
    ++i;
  });
}

}  // namespace palimpsest::tools
