// Loops of complex numbers: one element at a time, at the compiler's own level.
#include <complex>
#include <cstring>
#include <utility>

#include "kernels/binary_functions.h"
#include "kernels/loop_levels.h"
#include "kernels/pointwise_number.h"

namespace palimpsest::kernels {
namespace {

namespace f = functions;

struct Baseline {};

template <typename In>
In Load(const std::byte* at) {
  if constexpr (std::is_same_v<In, bool>) {
    return *reinterpret_cast<const uint8_t*>(at) != 0;
  } else {
    return *reinterpret_cast<const In*>(at);
  }
}

template <class F, typename T, typename... In, size_t... k>
void RunRow(std::byte* const* p, const int64_t* s, int64_t n, const LoopContext& context,
            std::index_sequence<k...>) {
  Number<T, Baseline> b(context);
  using R = decltype(F::Apply(b, std::declval<In>()...));
  R* out = reinterpret_cast<R*>(p[0]);
  for (int64_t i = 0; i < n; ++i) out[i] = F::Apply(b, Load<In>(p[k + 1] + i * s[k + 1])...);
}

template <class F, typename T, int kInputs, bool kMaskFirst>
void RowOf(std::byte* const* p, const int64_t* s, int64_t n, const LoopContext& context) {
  using First = std::conditional_t<kMaskFirst, bool, T>;
  if constexpr (kInputs == 1) {
    RunRow<F, T, First>(p, s, n, context, std::make_index_sequence<1>());
  } else if constexpr (kInputs == 2) {
    RunRow<F, T, First, T>(p, s, n, context, std::make_index_sequence<2>());
  } else {
    RunRow<F, T, First, T, T>(p, s, n, context, std::make_index_sequence<3>());
  }
}

template <class F, int kInputs, bool kMaskFirst = false>
void Put(LoopTables& tables, LoopId id) {
  LoopTable& table = tables[static_cast<size_t>(id)];
  table.rows[static_cast<size_t>(DType::kC64)] =
      &RowOf<F, std::complex<float>, kInputs, kMaskFirst>;
  table.rows[static_cast<size_t>(DType::kC128)] =
      &RowOf<F, std::complex<double>, kInputs, kMaskFirst>;
}

}  // namespace

void PutComplexLoops(LoopTables& tables) {
  Put<f::Neg, 1>(tables, LoopId::kNeg);
  Put<f::Abs, 1>(tables, LoopId::kAbs);
  Put<f::LogicalNot, 1>(tables, LoopId::kLogicalNot);
  Put<f::Square, 1>(tables, LoopId::kSquare);
  Put<f::IsNan, 1>(tables, LoopId::kIsNan);
  Put<f::Exp, 1>(tables, LoopId::kExp);
  Put<f::Log, 1>(tables, LoopId::kLog);
  Put<f::Log10, 1>(tables, LoopId::kLog10);
  Put<f::Sqrt, 1>(tables, LoopId::kSqrt);
  Put<f::Rsqrt, 1>(tables, LoopId::kRsqrt);
  Put<f::Reciprocal, 1>(tables, LoopId::kReciprocal);
  Put<f::Sin, 1>(tables, LoopId::kSin);
  Put<f::Cos, 1>(tables, LoopId::kCos);
  Put<f::Tanh, 1>(tables, LoopId::kTanh);
  Put<f::Sigmoid, 1>(tables, LoopId::kSigmoid);
  Put<f::AddScaled, 2>(tables, LoopId::kAdd);
  Put<f::SubScaled, 2>(tables, LoopId::kSub);
  Put<f::Mul, 2>(tables, LoopId::kMul);
  Put<f::Pow, 2>(tables, LoopId::kPow);
  Put<f::PowNumber, 1>(tables, LoopId::kPowNumber);
  Put<f::Div, 2>(tables, LoopId::kDiv);
  Put<f::Eq, 2>(tables, LoopId::kEq);
  Put<f::Ne, 2>(tables, LoopId::kNe);
  Put<f::LogicalAnd, 2>(tables, LoopId::kLogicalAnd);
  Put<f::LogicalOr, 2>(tables, LoopId::kLogicalOr);
  Put<f::LogicalXor, 2>(tables, LoopId::kLogicalXor);
  Put<f::Where, 3, true>(tables, LoopId::kWhere);
  Put<f::MaskedFill, 2, true>(tables, LoopId::kMaskedFill);
  Put<f::AddCMul, 3>(tables, LoopId::kAddCMul);
  Put<f::AddCDiv, 3>(tables, LoopId::kAddCDiv);
  Put<f::Lerp, 3>(tables, LoopId::kLerp);
  Put<f::LerpNumber, 2>(tables, LoopId::kLerpNumber);
}

}  // namespace palimpsest::kernels
