// Tensors of a case: storages with their fill, tensors over them, elements, comparisons.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "json.h"
#include "palimpsest/value.h"

namespace cases {

using palimpsest::DType;
using palimpsest::StorageRef;
using palimpsest::Tensor;
using palimpsest::View;

DType DTypeOf(const Json& name);
// Reads and writes one element. Complex elements: real part; booleans are 0 and 1.
double DoubleAt(const std::byte* at, DType dtype);
int64_t IntAt(const std::byte* at, DType dtype);  // integers and booleans, exact
void Put(std::byte* at, DType dtype, const Json& value);

// A case's "storages" and the tensors over them.
struct Memory {
  std::vector<StorageRef> storages;
  std::vector<DType> dtypes;

  int64_t numel(size_t s) const { return storages[s]->bytes() / palimpsest::ItemSize(dtypes[s]); }
  std::vector<std::byte> Snapshot(size_t s) const {
    return {storages[s]->data(), storages[s]->data() + storages[s]->bytes()};
  }
};
palimpsest::Result<Memory> MakeMemory(const Json& storages);
// {"s", "sz", "st", "of"}. `object` is the identity of the tensor object.
Tensor MakeTensor(const Memory& memory, const Json& tensor, int64_t object);
// "args" in order; {"arg": k} is argument k again, numbers are Python numbers.
std::vector<palimpsest::Value> MakeArguments(const Memory& memory, const Json& args);

// Calls f(address of the element) in row-major order.
template <typename F>
void ForEachElement(const Tensor& t, F&& f) {
  int64_t n = t.numel();
  palimpsest::Dims index(t.dim(), 0);
  int64_t offset = 0;
  for (int64_t i = 0; i < n; ++i) {
    f(t.data() + offset * t.item_size());
    for (size_t d = t.dim(); d-- > 0;) {
      offset += t.strides[d];
      if (++index[d] < t.sizes[d]) break;
      offset -= t.strides[d] * t.sizes[d];
      index[d] = 0;
    }
  }
}

// |actual - expected| <= absolute + relative * |expected|; nan equals nan.
struct Tolerance {
  double relative = 0, absolute = 0;
  bool Holds(double actual, double expected) const;
};

// The first difference in words, or nothing. Integers and booleans exactly.
using Difference = std::optional<std::string>;
Difference CompareElements(const Tensor& actual, const Json& values, const Tolerance& tolerance);
Difference CompareElements(const Tensor& actual, const Tensor& expected,
                           const Tolerance& tolerance);
// [sum, sum of element * (index mod 7 + 1)], row-major, in double.
Difference CompareSums(const Tensor& actual, const Json& sums, const Tolerance& tolerance);
Difference CompareType(const View& actual, DType dtype, const palimpsest::Dims& sizes,
                       const palimpsest::Dims* strides);
// All elements of a storage as a one-dimensional tensor.
Tensor WholeStorage(const StorageRef& storage, DType dtype);
// Bytes from the first to past the last element of `t`; equal ends if there are none.
struct AddressRange {
  const std::byte *begin = nullptr, *end = nullptr;
  bool Meets(const AddressRange& other) const { return begin < other.end && other.begin < end; }
};
AddressRange RangeOf(const Tensor& t);
AddressRange RangeOf(const StorageRef& storage);

}  // namespace cases
