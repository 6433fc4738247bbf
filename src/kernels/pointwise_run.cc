#include "kernels/pointwise_run.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "kernels/copy_cast.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {
namespace {

constexpr size_t kMaxOperands = 4;
constexpr size_t kMaxParams = 4;
constexpr int64_t kChunk = 512;  // elements converted at a time; a buffer of 8 KiB at most
constexpr size_t kItem = 16;     // bytes of the largest element

// One operand of the loop: where it lies and how it gets into the loop's type.
struct LoopOperand {
  int walked = -1;        // index in the iteration; -1: a number
  CastFn cast = nullptr;  // null: the loop reads (writes) the memory itself
  // Where the common type is a 16-bit float and the operand's type another: through the common
  // type, because that is where PyTorch rounds.
  CastFn through = nullptr;
  int64_t item = 0;  // bytes in the loop's type
  alignas(kItem) std::byte number[kItem];
};

class RowRunner {
 public:
  RowRunner(RowFn row, const LoopContext& context) : row_(row), context_(context) {}

  LoopOperand& Add() { return operands_[count_++]; }

  void Block(std::byte* const* pointers, const int64_t* strides, int64_t size0, int64_t size1,
             size_t num_walked) {
    std::array<std::byte*, kMaxOperands> at;
    std::array<int64_t, kMaxOperands> inner, outer;
    bool converts = false;
    for (size_t k = 0; k < count_; ++k) {
      LoopOperand& operand = operands_[k];
      converts |= operand.cast != nullptr;
      size_t w = static_cast<size_t>(operand.walked);
      at[k] = operand.walked < 0 ? operand.number : pointers[w];
      inner[k] = operand.walked < 0 ? 0 : strides[w];
      outer[k] = operand.walked < 0 ? 0 : strides[num_walked + w];
    }
    for (int64_t j = 0; j < size1; ++j) {
      if (converts) {
        ConvertedRow(at, inner, size0);
      } else {
        row_(at.data(), inner.data(), size0, context_);
      }
      for (size_t k = 0; k < count_; ++k) at[k] += outer[k];
    }
  }

 private:
  void ConvertedRow(std::array<std::byte*, kMaxOperands> at,
                    const std::array<int64_t, kMaxOperands>& strides, int64_t n) {
    alignas(64) std::byte buffer[kMaxOperands][kChunk * kItem];
    alignas(64) std::byte middle[kChunk * 2];  // 16-bit floats
    for (int64_t done = 0; done < n; done += kChunk) {
      int64_t length = std::min(kChunk, n - done);
      std::array<std::byte*, kMaxOperands> p = at;
      std::array<int64_t, kMaxOperands> s = strides;
      for (size_t k = 0; k < count_; ++k) {
        const LoopOperand& operand = operands_[k];
        if (operand.cast == nullptr) continue;
        p[k] = buffer[k];
        s[k] = k > 0 && strides[k] == 0 ? 0 : operand.item;
        if (k == 0) continue;
        int64_t count = s[k] == 0 ? 1 : length;
        if (operand.through != nullptr) {
          operand.through(middle, 2, at[k], strides[k], count);
          operand.cast(p[k], operand.item, middle, 2, count);
        } else {
          operand.cast(p[k], operand.item, at[k], strides[k], count);
        }
      }
      row_(p.data(), s.data(), length, context_);
      const LoopOperand& out = operands_[0];
      if (out.through != nullptr) {
        out.through(middle, 2, buffer[0], out.item, length);
        out.cast(at[0], strides[0], middle, 2, length);
      } else if (out.cast != nullptr) {
        out.cast(at[0], strides[0], buffer[0], out.item, length);
      }
      for (size_t k = 0; k < count_; ++k) at[k] += length * strides[k];
    }
  }

  RowFn row_;
  const LoopContext& context_;
  std::array<LoopOperand, kMaxOperands> operands_;
  size_t count_ = 0;
};

}  // namespace

Status RunPointwise(const LoopTable& loops, DType common, const Tensor& out,
                    std::span<const PointwiseInput> inputs, std::span<const Scalar> params) {
  RowFn row = loops.Find(common);
  PAL_CHECK(row != nullptr, "no loop for {}", DTypeName(common));
  PAL_CHECK(inputs.size() < kMaxOperands && params.size() <= kMaxParams, "too many operands");
  DType type = LoopTable::LoopType(common);

  alignas(kItem) std::byte numbers[kMaxParams * kItem] = {};
  for (size_t i = 0; i < params.size(); ++i) {
    StoreNumber(params[i], type, numbers + i * static_cast<size_t>(ItemSize(type)));
  }
  bool failed = false;
  LoopContext context{numbers, &failed};
  RowRunner runner(row, context);

  IteratorConfig config = IteratorConfig::Walk();
  config.AddOutput(out.view());
  SmallVector<std::byte*, kMaxOperands> bases{out.data()};
  LoopOperand& result = runner.Add();
  result.walked = 0;
  DType result_type = loops.ResultOf(type);
  result.item = ItemSize(result_type);
  if (out.dtype != result_type) result.cast = FindCast(out.dtype, result_type);
  bool rounds = type != common;  // a 16-bit float, computed in f32
  if (rounds && result_type == type && out.dtype != common) {
    result.through = FindCast(common, result_type);
    result.cast = FindCast(out.dtype, common);
  }

  for (size_t i = 0; i < inputs.size(); ++i) {
    LoopOperand& operand = runner.Add();
    DType wanted = i == 0 && loops.mask_first ? DType::kB8 : type;
    operand.item = ItemSize(wanted);
    if (inputs[i].tensor == nullptr) {
      StoreNumber(inputs[i].number, wanted, operand.number);
      continue;
    }
    const Tensor& tensor = *inputs[i].tensor;
    operand.walked = static_cast<int>(bases.size());
    if (tensor.dtype != wanted) operand.cast = FindCast(wanted, tensor.dtype);
    if (rounds && wanted == type && tensor.dtype != common) {
      operand.through = FindCast(common, tensor.dtype);
      operand.cast = FindCast(wanted, common);
    }
    config.AddInput(tensor.view());
    bases.push_back(tensor.data());
  }
  // An iteration needs an input; the result itself will do where all inputs are numbers.
  if (bases.size() == 1) {
    config.AddInput(out.view());
    bases.push_back(out.data());
  }
  PAL_TRY(Iteration iteration, Iteration::Build(config));
  size_t walked = bases.size();
  iteration.ForEach(
      bases, [&](std::byte* const* pointers, const int64_t* strides, int64_t size0, int64_t size1) {
        runner.Block(pointers, strides, size0, size1, walked);
      });
  if (failed) return RuntimeFailure("ZeroDivisionError: integer division by zero", "zero_division");
  return {};
}

}  // namespace palimpsest::kernels
