#include "tensors.h"

#include <cmath>
#include <complex>
#include <cstring>

namespace cases {

using namespace palimpsest;

namespace {

template <typename T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <typename T>
void Store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

void PutInt(std::byte* at, DType dtype, int64_t v) {
  switch (dtype) {
    case DType::kB8:
      return Store<uint8_t>(at, v != 0);
    case DType::kU8:
      return Store(at, static_cast<uint8_t>(v));
    case DType::kI8:
      return Store(at, static_cast<int8_t>(v));
    case DType::kI16:
      return Store(at, static_cast<int16_t>(v));
    case DType::kI32:
      return Store(at, static_cast<int32_t>(v));
    default:
      return Store(at, v);
  }
}

void PutComplex(std::byte* at, DType dtype, std::complex<double> v) {
  auto real = static_cast<float>(v.real()), imaginary = static_cast<float>(v.imag());
  switch (dtype) {
    case DType::kF16:
      return Store(at, Half(real));
    case DType::kBF16:
      return Store(at, BFloat16(real));
    case DType::kF32:
      return Store(at, real);
    case DType::kF64:
      return Store(at, v.real());
    case DType::kC64:
      return Store(at, std::complex<float>(real, imaginary));
    default:
      return Store(at, v);
  }
}

// Element i of a storage with the seed: tests/cases/README.md, "Filling a storage".
void Fill(std::byte* at, DType dtype, uint32_t i, uint32_t seed) {
  uint32_t x = i * 2654435761u + seed * 40503u + 12345u;
  x ^= x >> 16;
  x *= 2246822519u;
  x ^= x >> 13;
  int64_t k = static_cast<int64_t>(x % 17) - 8;
  switch (CategoryOf(dtype)) {
    case Category::kBool:
      return PutInt(at, dtype, x & 1);
    case Category::kInteger:
      return PutInt(at, dtype, dtype == DType::kU8 ? k + 8 : k);
    default:
      break;
  }
  double imaginary = static_cast<double>((x / 17) % 17) / 4 - 2;
  PutComplex(at, dtype, {static_cast<double>(k) / 4, imaginary});
}

std::string Show(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

std::complex<double> ComplexAt(const std::byte* at, DType dtype) {
  if (dtype == DType::kC64) return Load<std::complex<float>>(at);
  if (dtype == DType::kC128) return Load<std::complex<double>>(at);
  return DoubleAt(at, dtype);
}

std::string Mismatch(int64_t index, const std::string& actual, const std::string& expected) {
  return "element " + std::to_string(index) + " is " + actual + ", expected " + expected;
}

// The difference of one element from an expected one of the same type.
Difference CompareElement(int64_t index, const std::byte* actual, const std::byte* expected,
                          DType dtype, const Tolerance& tolerance) {
  if (IsIntegral(dtype)) {
    int64_t a = IntAt(actual, dtype), e = IntAt(expected, dtype);
    if (a == e) return std::nullopt;
    return Mismatch(index, std::to_string(a), std::to_string(e));
  }
  std::complex<double> a = ComplexAt(actual, dtype), e = ComplexAt(expected, dtype);
  if (IsComplex(dtype) && std::isfinite(std::abs(e))) {
    if (tolerance.Holds(std::abs(a - e), 0) ||
        std::abs(a - e) <= tolerance.absolute + tolerance.relative * std::abs(e)) {
      return std::nullopt;
    }
  } else if (tolerance.Holds(a.real(), e.real()) && tolerance.Holds(a.imag(), e.imag())) {
    return std::nullopt;
  }
  return Mismatch(index, Show(a.real()), Show(e.real()));
}

}  // namespace

DType DTypeOf(const Json& name) {
  std::string text = name.Text();
  return text == "bool" ? DType::kB8 : DTypeFromName(text).value();
}

double DoubleAt(const std::byte* at, DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return static_cast<double>(static_cast<float>(Load<Half>(at)));
    case DType::kBF16:
      return static_cast<double>(static_cast<float>(Load<BFloat16>(at)));
    case DType::kF32:
      return static_cast<double>(Load<float>(at));
    case DType::kF64:
      return Load<double>(at);
    case DType::kC64:
      return static_cast<double>(Load<float>(at));
    case DType::kC128:
      return Load<double>(at);
    default:
      return static_cast<double>(IntAt(at, dtype));
  }
}

int64_t IntAt(const std::byte* at, DType dtype) {
  switch (dtype) {
    case DType::kB8:
    case DType::kU8:
      return Load<uint8_t>(at);
    case DType::kI8:
      return Load<int8_t>(at);
    case DType::kI16:
      return Load<int16_t>(at);
    case DType::kI32:
      return Load<int32_t>(at);
    default:
      return Load<int64_t>(at);
  }
}

void Put(std::byte* at, DType dtype, const Json& value) {
  if (value.IsBool()) return PutInt(at, dtype, value.Bool() ? 1 : 0);
  if (IsIntegral(dtype)) return PutInt(at, dtype, value.Int());
  if (value.IsArray()) return PutComplex(at, dtype, {value[0].Double(), value[1].Double()});
  PutComplex(at, dtype, {value.Double(), 0});
}

Result<Memory> MakeMemory(const Json& storages) {
  Memory memory;
  for (const Json& block : storages.items()) {
    DType dtype = DTypeOf(block["dt"]);
    int64_t n = block["n"].Int(), item = ItemSize(dtype);
    PAL_TRY(StorageRef storage, AllocateStorage(n * item));
    const Json* values = block.Find("vals");
    for (int64_t i = 0; i < n; ++i) {
      std::byte* at = storage->data() + i * item;
      if (values != nullptr) {
        Put(at, dtype, (*values)[static_cast<size_t>(i)]);
      } else {
        Fill(at, dtype, static_cast<uint32_t>(i), static_cast<uint32_t>(block["fill"].Int()));
      }
    }
    storage->set_resizable(!block.Has("fixed"));
    memory.storages.push_back(std::move(storage));
    memory.dtypes.push_back(dtype);
  }
  return memory;
}

Tensor MakeTensor(const Memory& memory, const Json& tensor, int64_t object) {
  size_t s = tensor["s"].Index();
  View view;
  view.dtype = memory.dtypes[s];
  view.sizes = tensor["sz"].Dims();
  view.strides = tensor["st"].Dims();
  view.offset = tensor["of"].Int();
  Tensor result(std::move(view), memory.storages[s]);
  result.object = object;
  return result;
}

std::vector<Value> MakeArguments(const Memory& memory, const Json& args) {
  std::vector<Value> values;
  for (const Json& arg : args.items()) {
    if (const Json* same = arg.Find("arg")) {
      values.push_back(values[same->Index()]);
    } else if (const Json* python = arg.Find("py")) {
      const Json& v = arg["v"];
      std::string type = python->Text();
      if (type == "int") values.push_back(Value(v.Int()));
      if (type == "float") values.push_back(Value(v.Double()));
      if (type == "bool") values.push_back(Value(v.IsBool() ? v.Bool() : v.Int() != 0));
    } else {
      auto object = static_cast<int64_t>(values.size()) + 1;
      values.push_back(MakeTensor(memory, arg, object));
    }
  }
  return values;
}

bool Tolerance::Holds(double actual, double expected) const {
  if (std::isnan(actual) || std::isnan(expected)) return std::isnan(actual) == std::isnan(expected);
  if (std::isinf(actual) || std::isinf(expected)) return actual == expected;
  return std::abs(actual - expected) <= absolute + relative * std::abs(expected);
}

Difference CompareElements(const Tensor& actual, const Json& values, const Tolerance& tolerance) {
  if (static_cast<int64_t>(values.size()) != actual.numel()) {
    return "has " + std::to_string(actual.numel()) + " elements, expected " +
           std::to_string(values.size());
  }
  Difference difference;
  size_t i = 0;
  ForEachElement(actual, [&](const std::byte* at) {
    std::byte expected[16];
    Put(expected, actual.dtype, values[i]);
    if (!difference)
      difference = CompareElement(static_cast<int64_t>(i), at, expected, actual.dtype, tolerance);
    ++i;
  });
  return difference;
}

Difference CompareElements(const Tensor& actual, const Tensor& expected,
                           const Tolerance& tolerance) {
  if (Difference type = CompareType(actual, expected.dtype, expected.sizes, nullptr)) return type;
  std::vector<const std::byte*> wanted;
  ForEachElement(expected, [&](const std::byte* at) { wanted.push_back(at); });
  Difference difference;
  size_t i = 0;
  ForEachElement(actual, [&](const std::byte* at) {
    if (!difference) {
      difference = CompareElement(static_cast<int64_t>(i), at, wanted[i], actual.dtype, tolerance);
    }
    ++i;
  });
  return difference;
}

Difference CompareSums(const Tensor& actual, const Json& sums, const Tolerance& tolerance) {
  double plain = 0, weighted = 0;
  int64_t index = 0;
  ForEachElement(actual, [&](const std::byte* at) {
    double v = DoubleAt(at, actual.dtype);
    plain += v;
    weighted += v * static_cast<double>(index % 7 + 1);
    ++index;
  });
  if (tolerance.Holds(plain, sums[0].Double()) && tolerance.Holds(weighted, sums[1].Double())) {
    return std::nullopt;
  }
  return "sums are [" + Show(plain) + ", " + Show(weighted) + "], expected [" +
         Show(sums[0].Double()) + ", " + Show(sums[1].Double()) + "]";
}

Difference CompareType(const View& actual, DType dtype, const Dims& sizes, const Dims* strides) {
  if (actual.dtype == dtype && actual.sizes == sizes &&
      (strides == nullptr || actual.strides == *strides)) {
    return std::nullopt;
  }
  std::string expected = std::string(DTypeName(dtype)) + ToString(sizes);
  if (strides != nullptr) expected += ToString(*strides);
  return "is " + ToString(actual) + ", expected " + expected;
}

Tensor WholeStorage(const StorageRef& storage, DType dtype) {
  int64_t n = storage->bytes() / ItemSize(dtype);
  return Tensor(ContiguousView(dtype, std::span<const int64_t>(&n, 1)), storage);
}

AddressRange RangeOf(const Tensor& t) {
  if (t.numel() == 0) return {t.data(), t.data()};
  int64_t last = 0;
  for (size_t d = 0; d < t.dim(); ++d) last += (t.sizes[d] - 1) * t.strides[d];
  return {t.data(), t.data() + (last + 1) * t.item_size()};
}

AddressRange RangeOf(const StorageRef& storage) {
  return {storage->data(), storage->data() + storage->bytes()};
}

}  // namespace cases
