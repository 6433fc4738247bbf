#include "tools/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>

#include "tools/elements.h"

namespace palimpsest::tools {
namespace {

constexpr double kTolerance = 1e-5;

struct Bytes {
  const std::byte *begin, *end;
  bool Meets(const Bytes& other) const { return begin < other.end && other.begin < end; }
};
Bytes BytesOf(const Tensor& t) {
  int64_t last = 0;
  for (size_t d = 0; d < t.dim(); ++d) last += (t.sizes[d] - 1) * t.strides[d];
  return {t.data(), t.data() + (t.numel() == 0 ? 0 : (last + 1) * t.item_size())};
}

bool NearlyEqual(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  return std::abs(a - b) <= kTolerance * std::max(1.0, std::abs(b));
}

bool SameElement(const Value& a, const Value& b, DType dtype) {
  if (IsIntegral(dtype)) return a.ToInt() == b.ToInt();
  // 16-bit types round differently where an operator is put together otherwise.
  double slack = dtype == DType::kF16 || dtype == DType::kBF16 ? 1e-2 : 0;
  if (!IsComplex(dtype)) {
    double x = a.ToDouble(), y = b.ToDouble();
    return NearlyEqual(x, y) || std::abs(x - y) <= slack * std::abs(y);
  }
  auto x = a.As<std::complex<double>>(), y = b.As<std::complex<double>>();
  return NearlyEqual(x.real(), y.real()) && NearlyEqual(x.imag(), y.imag());
}

std::optional<std::string> TensorDifference(const Tensor& a, const Tensor& e) {
  if (a.dtype != e.dtype || a.sizes != e.sizes || a.strides != e.strides) {
    return fmt::format("is {}, interpreted {}", ToString(a.view()), ToString(e.view()));
  }
  std::vector<const std::byte*> expected;
  ForEachElement(e, [&](const std::byte* at) { expected.push_back(at); });
  std::optional<std::string> difference;
  size_t i = 0;
  ForEachElement(a, [&](const std::byte* at) {
    if (!difference &&
        !SameElement(ElementAt(at, a.dtype), ElementAt(expected[i], a.dtype), a.dtype)) {
      difference = fmt::format("element {} is {}, interpreted {}", i, ShowElement(at, a.dtype),
                               ShowElement(expected[i], a.dtype));
    }
    ++i;
  });
  return difference;
}

std::optional<std::string> ValueDifference(const Value& a, const Value& e) {
  if (a.IsTensor() && e.IsTensor()) return TensorDifference(a.tensor(), e.tensor());
  bool same = a.IsNumber() && e.IsNumber() ? Show(a, 1) == Show(e, 1)
                                           : Show(a, 1 << 20) == Show(e, 1 << 20);
  if (same && a.IsTensor() == e.IsTensor()) return std::nullopt;
  return fmt::format("is {}, interpreted {}", Show(a), Show(e));
}

// Distance in bytes of two tensors that share memory; nothing if they do not.
std::optional<int64_t> Sharing(const Value& a, const Value& b) {
  if (!a.IsTensor() || !b.IsTensor()) return std::nullopt;
  Bytes x = BytesOf(a.tensor()), y = BytesOf(b.tensor());
  if (!x.Meets(y)) return std::nullopt;
  return y.begin - x.begin;
}

std::string ShowSharing(std::optional<int64_t> distance) {
  return distance ? fmt::format("share memory at distance {}", *distance) : "share no memory";
}

}  // namespace

Result<std::vector<Value>> CloneSharing(const std::vector<Value>& values) {
  std::map<Storage*, StorageRef> clones;
  std::vector<Value> result;
  for (const Value& value : values) {
    result.push_back(value);
    if (!value.IsTensor()) continue;
    const StorageRef& storage = value.tensor().storage;
    StorageRef& clone = clones[storage.get()];
    if (clone == nullptr) {
      PAL_TRY(clone, AllocateStorage(storage->bytes()));
      std::memcpy(clone->data(), storage->data(), static_cast<size_t>(storage->bytes()));
      clone->set_resizable(storage->resizable());
    }
    result.back().As<Tensor>().storage = clone;
  }
  return result;
}

std::optional<std::string> FirstDifference(const Observed& actual, const Observed& expected) {
  if (actual.items.size() != expected.items.size()) return "another number of results";
  for (size_t i = 0; i < actual.items.size(); ++i) {
    const Observed::Item &a = actual.items[i], &e = expected.items[i];
    if (auto difference = ValueDifference(a.value, e.value)) return a.name + " " + *difference;
    for (size_t j = 0; j < i; ++j) {
      auto shared = Sharing(actual.items[j].value, a.value);
      auto wanted = Sharing(expected.items[j].value, e.value);
      if (shared == wanted) continue;
      return fmt::format("{} and {} {}, interpreted they {}", actual.items[j].name, a.name,
                         ShowSharing(shared), ShowSharing(wanted));
    }
  }
  return std::nullopt;
}

}  // namespace palimpsest::tools
