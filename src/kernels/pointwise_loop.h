// Rows of an element-wise function: one loop per function and type it computes in, made from the
// function by MakeLoops. Types of operands other than that type are converted outside, in chunks
// (pointwise_run.h), so that there are functions + conversions loops, not products.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "kernels/pointwise_number.h"
#include "palimpsest/dtype.h"

namespace palimpsest::kernels {

// Kinds of types that a function is made for.
enum : unsigned { kBools = 1, kInts = 2, kFloats = 4, kComplexes = 8 };
inline constexpr unsigned kReals = kBools | kInts | kFloats;
inline constexpr unsigned kAllKinds = kReals | kComplexes;

// pointers[0] is the result; byte strides.
using RowFn = void (*)(std::byte* const* pointers, const int64_t* strides, int64_t n,
                       const LoopContext& context);

struct LoopTable {
  enum class ResultType : uint8_t { kSame, kBool, kReal };
  ResultType result = ResultType::kSame;
  bool mask_first = false;  // input 0 is bool, whatever the others are
  RowFn rows[kNumDTypes] = {};

  // The loop that serves `common`: 16-bit floats are computed in f32. Null: no such function.
  static DType LoopType(DType common) {
    return common == DType::kF16 || common == DType::kBF16 ? DType::kF32 : common;
  }
  RowFn Find(DType common) const { return rows[static_cast<size_t>(LoopType(common))]; }
  // The type of the result in memory before any cast to a given output.
  DType ResultOf(DType type) const {
    if (result == ResultType::kBool) return DType::kB8;
    if (result == ResultType::kReal && type == DType::kC64) return DType::kF32;
    if (result == ResultType::kReal && type == DType::kC128) return DType::kF64;
    return type;
  }
};

namespace loop_detail {

// A byte of a bool tensor may hold anything (memory that nobody has written, a view of integers).
template <typename T>
T Load(const std::byte* at) {
  if constexpr (std::is_same_v<T, bool>) {
    return *reinterpret_cast<const uint8_t*>(at) != 0;
  } else {
    return *reinterpret_cast<const T*>(at);
  }
}

template <class F, typename T, typename... In, size_t... k>
void Row(std::byte* const* p, const int64_t* s, int64_t n, const LoopContext& context,
         std::index_sequence<k...>) {
  Number<T> b(context);
  using R = decltype(F::Apply(b, std::declval<In>()...));
  if (s[0] == static_cast<int64_t>(sizeof(R)) && (... && (s[k + 1] == int64_t{sizeof(In)}))) {
    R* out = reinterpret_cast<R*>(p[0]);
    for (int64_t i = 0; i < n; ++i) {
      out[i] = F::Apply(b, Load<In>(p[k + 1] + i * int64_t{sizeof(In)})...);
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    *reinterpret_cast<R*>(p[0] + i * s[0]) = F::Apply(b, Load<In>(p[k + 1] + i * s[k + 1])...);
  }
}

template <class F, typename T, int kInputs, bool kMaskFirst>
void RowOf(std::byte* const* p, const int64_t* s, int64_t n, const LoopContext& context) {
  using First = std::conditional_t<kMaskFirst, bool, T>;
  if constexpr (kInputs == 1) {
    Row<F, T, First>(p, s, n, context, std::make_index_sequence<1>());
  } else if constexpr (kInputs == 2) {
    Row<F, T, First, T>(p, s, n, context, std::make_index_sequence<2>());
  } else {
    static_assert(kInputs == 3);
    Row<F, T, First, T, T>(p, s, n, context, std::make_index_sequence<3>());
  }
}

template <class F, int kInputs, bool kMaskFirst, typename T>
constexpr void Put(LoopTable& table, DType dtype) {
  table.rows[static_cast<size_t>(dtype)] = &RowOf<F, T, kInputs, kMaskFirst>;
}

}  // namespace loop_detail

template <class F, int kInputs, unsigned kKinds,
          LoopTable::ResultType kResult = LoopTable::ResultType::kSame, bool kMaskFirst = false>
constexpr LoopTable MakeLoops() {
  LoopTable table;
  table.result = kResult;
  table.mask_first = kMaskFirst;
  using namespace loop_detail;
  if constexpr ((kKinds & kBools) != 0) Put<F, kInputs, kMaskFirst, bool>(table, DType::kB8);
  if constexpr ((kKinds & kInts) != 0) {
    Put<F, kInputs, kMaskFirst, uint8_t>(table, DType::kU8);
    Put<F, kInputs, kMaskFirst, int8_t>(table, DType::kI8);
    Put<F, kInputs, kMaskFirst, int16_t>(table, DType::kI16);
    Put<F, kInputs, kMaskFirst, int32_t>(table, DType::kI32);
    Put<F, kInputs, kMaskFirst, int64_t>(table, DType::kI64);
  }
  if constexpr ((kKinds & kFloats) != 0) {
    Put<F, kInputs, kMaskFirst, float>(table, DType::kF32);
    Put<F, kInputs, kMaskFirst, double>(table, DType::kF64);
  }
  if constexpr ((kKinds & kComplexes) != 0) {
    Put<F, kInputs, kMaskFirst, std::complex<float>>(table, DType::kC64);
    Put<F, kInputs, kMaskFirst, std::complex<double>>(table, DType::kC128);
  }
  return table;
}

}  // namespace palimpsest::kernels
