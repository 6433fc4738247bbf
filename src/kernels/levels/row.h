// Row kernels: a function applied to a row of elements, one register at a time.
#pragma once

#include <utility>

#include "kernels/levels/vector.h"

namespace palimpsest::kernels::PAL_LEVEL {

// Kinds of types that a function is made for.
enum : unsigned { kBools = 1, kInts = 2, kFloats = 4, kComplexes = 8 };
inline constexpr unsigned kReals = kBools | kInts | kFloats;
inline constexpr unsigned kAllKinds = kReals | kComplexes;

// A bool that selects among elements of another type.
struct Truth {
  uint8_t byte;
};

// One input of a row: adjacent elements, or one element for all. In is T or Truth.
template <typename T, typename In>
class Source {
 public:
  using B = Vector<T>;
  static constexpr bool kIsMask = std::is_same_v<In, Truth>;
  static constexpr int64_t kItem = sizeof(In);
  using Raw = std::conditional_t<kIsMask, typename B::Bytes, typename B::V>;

  Source(const std::byte* at, int64_t stride) : at_(at), step_(B::kLanes * kItem) {
    if (stride != 0) return;
    for (int64_t i = 0; i < B::kLanes; ++i) std::memcpy(splat_ + i * kItem, at, kItem);
    at_ = splat_;
    step_ = 0;
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  auto Next() {
    Raw raw = Load<Raw>(at_);
    at_ += step_;
    return Value(raw);
  }
  auto Last(int64_t n) {
    return Value(step_ == 0 ? Load<Raw>(at_) : Padded(LoadPart<Raw>(at_, n * kItem), n));
  }

 private:
  // Integers are padded with ones: a division by a padding zero would fail the call.
  static Raw Padded(Raw raw, int64_t n) {
    if constexpr (B::kIsInt && !kIsMask) {
      for (int64_t i = 0; i < B::kLanes; ++i) raw[i] = i < n ? raw[i] : In{1};
    }
    return raw;
  }
  static auto Value(Raw raw) {
    if constexpr (kIsMask) {
      return B::FromBools(raw);
    } else {
      return B::FromMemory(raw);
    }
  }

  const std::byte* at_;
  int64_t step_;
  alignas(kRegister) std::byte splat_[sizeof(Raw)];
};

template <typename B>
inline auto Stored(const B&, typename B::V v) {
  return v;
}
template <typename B>
inline auto Stored(const B&, typename B::Mask mask) {
  return B::ToBools(mask);
}

template <class F, typename T, typename... In>
struct Row {
  template <size_t... k>
  static void Run(std::byte* const* p, const int64_t* s, int64_t n, const LoopContext& context,
                  std::index_sequence<k...>) {
    using B = Vector<T>;
    B b(context);
    Walk(b, p[0], n, Source<T, In>(p[k + 1], s[k + 1])...);
  }
  template <class B>
  static void Walk(const B& b, std::byte* out, int64_t n, Source<T, In>&&... in) {
    int64_t i = 0;
    for (; i + B::kLanes <= n; i += B::kLanes) {
      auto result = Stored(b, F::Apply(b, in.Next()...));
      Store(out, result);
      out += sizeof(result);
    }
    if (i == n) return;
    auto result = Stored(b, F::Apply(b, in.Last(n - i)...));
    StorePart(out, result, (n - i) * int64_t{sizeof(result)} / B::kLanes);
  }
};

template <class F, typename T, int kInputs, bool kMaskFirst>
void RowOf(std::byte* const* p, const int64_t* s, int64_t n, const LoopContext& context) {
  using First = std::conditional_t<kMaskFirst, Truth, T>;
  if constexpr (kInputs == 1) {
    Row<F, T, First>::Run(p, s, n, context, std::make_index_sequence<1>());
  } else if constexpr (kInputs == 2) {
    Row<F, T, First, T>::Run(p, s, n, context, std::make_index_sequence<2>());
  } else {
    static_assert(kInputs == 3);
    Row<F, T, First, T, T>::Run(p, s, n, context, std::make_index_sequence<3>());
  }
}

using ResultType = LoopTable::ResultType;

// Makes F's rows for the real types of kKinds. (Complex ones: complex.cc.)
template <class F, int kInputs, unsigned kKinds, ResultType kResult = ResultType::kSame,
          bool kMaskFirst = false>
void Put(LoopTables& tables, LoopId id) {
  LoopTable& table = tables[static_cast<size_t>(id)];
  table.result = kResult;
  table.mask_first = kMaskFirst;
  auto put = [&]<typename T>(DType dtype, T) {
    table.rows[static_cast<size_t>(dtype)] = &RowOf<F, T, kInputs, kMaskFirst>;
  };
  if constexpr ((kKinds & kBools) != 0) put(DType::kB8, bool{});
  if constexpr ((kKinds & kInts) != 0) {
    put(DType::kU8, uint8_t{});
    put(DType::kI8, int8_t{});
    put(DType::kI16, int16_t{});
    put(DType::kI32, int32_t{});
    put(DType::kI64, int64_t{});
  }
  if constexpr ((kKinds & kFloats) != 0) {
    put(DType::kF32, float{});
    put(DType::kF64, double{});
  }
}

}  // namespace palimpsest::kernels::PAL_LEVEL
