// The loops of element-wise functions: which one serves an operator and a type.
//
// A function (unary_functions.h, binary_functions.h) is written once. levels/ makes one row kernel
// of it per type it computes in, and does so once per instruction-set level: FindLoops gives the
// kernels of the best level that this machine has. Types of operands other than the type of the
// loop are converted outside, in chunks (pointwise_run.h), so that there are functions +
// conversions loops, not products.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "palimpsest/dtype.h"

namespace palimpsest::kernels {

// What a row of elements shares.
struct LoopContext {
  const void* params = nullptr;  // numbers of the call in the type of the loop
  bool* failed = nullptr;        // set where an integer is divided by zero
};

// One row: pointers[0] is the result, whose elements are adjacent; an input's byte stride is its
// item size or 0. No input may start inside the result: it lies on it exactly or apart from it.
using RowFn = void (*)(std::byte* const* pointers, const int64_t* strides, int64_t n,
                       const LoopContext& context);

// clang-format off
enum class LoopId : uint8_t {
  kNone,
  // Unary, any type.
  kNeg, kAbs, kBitNot, kLogicalNot, kSign, kSquare, kRelu, kIsNan, kIsInf, kIsFinite, kFloor, kCeil,
  kTrunc, kRound, kRoundDecimals, kFrac, kNanToNum, kClamp, kClampMin, kClampMax,
  // Unary, floats.
  kExp, kExp2, kExpm1, kLog, kLog2, kLog10, kLog1p, kSqrt, kRsqrt, kReciprocal, kSin, kCos, kTan,
  kAsin, kAcos, kAtan, kSinh, kCosh, kTanh, kAsinh, kAcosh, kAtanh, kErf, kErfc, kSigmoid,
  // Activations.
  kGeluErf, kGeluTanh, kSilu, kMish, kElu, kSelu, kCelu, kRelu6, kHardSigmoid, kHardSwish,
  kLeakyRelu, kSoftplus, kLogSigmoid, kHardShrink, kSoftShrink, kThreshold,
  // Binary.
  kAdd, kSub, kMul, kMaximum, kMinimum, kFmax, kFmin, kAtan2, kHypot, kCopySign, kXlogy,
  kLogAddExp, kPow, kPowNumber, kPRelu, kDiv, kDivTrunc, kDivFloor, kRemainder, kFmod,
  kEq, kNe, kLt, kLe, kGt, kGe, kLogicalAnd, kLogicalOr, kLogicalXor,
  kBitAnd, kBitOr, kBitXor, kShiftLeft, kShiftRight,
  // Ternary.
  kWhere, kMaskedFill, kAddCMul, kAddCDiv, kLerp, kLerpNumber, kClampTensors,
  kCount,
};
// clang-format on

struct LoopTable {
  enum class ResultType : uint8_t { kSame, kBool, kReal };
  ResultType result = ResultType::kSame;
  bool mask_first = false;  // input 0 is bool, whatever the others are
  RowFn rows[kNumDTypes] = {};

  // The type of the loop that serves `common`: 16-bit floats are computed in f32.
  static DType LoopType(DType common) {
    return common == DType::kF16 || common == DType::kBF16 ? DType::kF32 : common;
  }
  // Null: no such function.
  RowFn Find(DType common) const { return rows[static_cast<size_t>(LoopType(common))]; }
  // The type of the result in memory before any cast to a given output.
  DType ResultOf(DType type) const {
    if (result == ResultType::kBool) return DType::kB8;
    if (result == ResultType::kReal && type == DType::kC64) return DType::kF32;
    if (result == ResultType::kReal && type == DType::kC128) return DType::kF64;
    return type;
  }
};

using LoopTables = std::array<LoopTable, static_cast<size_t>(LoopId::kCount)>;
const LoopTables& AllLoops();
inline const LoopTable& FindLoops(LoopId id) { return AllLoops()[static_cast<size_t>(id)]; }

}  // namespace palimpsest::kernels
