// What an operator's code sees: plugin::Tensor, the errors it may throw, sizes of new results.
//
// Header only, needs nothing but the standard library: part of operator_library.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/dtype.h"
#include "palimpsest/plugin.h"

namespace palimpsest::plugin {

// The caller gave the operator what it does not take. Thrown in meta, before anything is written.
struct ContractError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A value read from memory (a slot, a position) is out of range.
struct IndexError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
inline void Require(bool condition, const char* what) {
  if (!condition) throw ContractError(what);
}

struct DTypeCode {
  uint8_t code, bits;
  friend bool operator==(const DTypeCode&, const DTypeCode&) = default;
};
inline constexpr DTypeCode kDTypeCodes[kNumDTypes] = {
    {6, 8},  {1, 8},  {0, 8},  {0, 16}, {0, 32}, {0, 64},
    {2, 16}, {4, 16}, {2, 32}, {2, 64}, {5, 64}, {5, 128},
};
inline DTypeCode CodeOf(DType dtype) { return kDTypeCodes[static_cast<size_t>(dtype)]; }
inline DType DTypeOf(DTypeCode code) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (kDTypeCodes[i] == code) return static_cast<DType>(i);
  }
  throw ContractError("an element type that this operator library does not know");
}

template <typename T>
struct DTypeFor;
template <>
struct DTypeFor<bool> {
  static constexpr DType value = DType::kB8;
};
template <>
struct DTypeFor<uint8_t> {
  static constexpr DType value = DType::kU8;
};
template <>
struct DTypeFor<int8_t> {
  static constexpr DType value = DType::kI8;
};
template <>
struct DTypeFor<int16_t> {
  static constexpr DType value = DType::kI16;
};
template <>
struct DTypeFor<int32_t> {
  static constexpr DType value = DType::kI32;
};
template <>
struct DTypeFor<int64_t> {
  static constexpr DType value = DType::kI64;
};
template <>
struct DTypeFor<BFloat16> {
  static constexpr DType value = DType::kBF16;
};
template <>
struct DTypeFor<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeFor<double> {
  static constexpr DType value = DType::kF64;
};

// accessor[i][j]: strided access, unchecked.
template <typename T, int N>
class Accessor {
 public:
  Accessor(T* data, const int64_t* sizes, const int64_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  int64_t size(int dim) const { return sizes_[dim]; }
  decltype(auto) operator[](int64_t i) const {
    if constexpr (N == 1) {
      return (data_[i * strides_[0]]);
    } else {
      return Accessor<T, N - 1>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
    }
  }

 private:
  T* data_;
  const int64_t *sizes_, *strides_;
};

// A borrowed tensor; valid during the call. Operands come with any strides, 0 among them.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(const PalTensor* tensor) : t_(tensor) {}

  int64_t dim() const { return t_->ndim; }
  std::span<const int64_t> sizes() const { return {t_->sizes, static_cast<size_t>(t_->ndim)}; }
  std::span<const int64_t> strides() const { return {t_->strides, static_cast<size_t>(t_->ndim)}; }
  // Negative dims count from the end.
  int64_t size(int64_t d) const { return t_->sizes[Wrap(d)]; }
  int64_t stride(int64_t d) const { return t_->strides[Wrap(d)]; }
  int64_t numel() const {
    int64_t n = 1;
    for (int64_t s : sizes()) n *= s;
    return n;
  }
  DType dtype() const { return DTypeOf({t_->dtype_code, t_->dtype_bits}); }
  bool is_read_only() const { return t_->read_only != 0; }

  // The first element. `const T` for arguments that the schema does not write. Null in meta.
  template <typename T>
  T* data() const {
    Require(dtype() == DTypeFor<std::remove_const_t<T>>::value, "unexpected element type");
    if (!std::is_const_v<T> && is_read_only()) {
      throw std::logic_error(
          "the schema does not declare this argument written: use data<const T>");
    }
    return static_cast<T*>(t_->data);
  }
  template <typename T, int N>
  Accessor<T, N> accessor() const {
    Require(dim() == N, "unexpected number of dims");
    return Accessor<T, N>(data<T>(), t_->sizes, t_->strides);
  }

 private:
  int64_t Wrap(int64_t d) const {
    if (d < 0) d += dim();
    Require(d >= 0 && d < dim(), "dim out of range");
    return d;
  }

  const PalTensor* t_ = nullptr;
};

// What meta returns for a new result. No strides: contiguous.
struct NewTensor {
  DType dtype;
  std::vector<int64_t> sizes, strides;

  NewTensor(DType dtype_in, std::vector<int64_t> sizes_in, std::vector<int64_t> strides_in = {})
      : dtype(dtype_in), sizes(std::move(sizes_in)), strides(std::move(strides_in)) {}
  // Contiguous, of the sizes and type of `t`.
  static NewTensor Like(const Tensor& t) {
    return NewTensor(t.dtype(), std::vector<int64_t>(t.sizes().begin(), t.sizes().end()));
  }
};

}  // namespace palimpsest::plugin
