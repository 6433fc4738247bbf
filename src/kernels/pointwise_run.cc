#include "kernels/pointwise_run.h"

#include "base/check.h"
#include "core/overlap.h"
#include "kernels/copy_cast.h"
#include "kernels/loop_nest.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {
namespace {

constexpr size_t kMaxParams = 4;

// Does the result meet the input other than element on element?
bool Meets(const Tensor& out, const Tensor& input) {
  if (out.storage != input.storage || SameElements(out, input)) return false;
  return MayOverlap(out, input);
}

struct Types {
  DType common;                                   // of the operation
  DType loop;                                     // of the row kernel
  bool rounds() const { return common != loop; }  // a 16-bit float, computed in f32
};

// An operand in memory of type `dtype` that the kernel wants as `wanted`.
void SetType(NestOperand& o, DType dtype, DType wanted, const Types& types, bool is_result) {
  auto find = [&](DType kernel, DType memory) {
    return is_result ? FindCast(memory, kernel) : FindCast(kernel, memory);
  };
  o.dtype = dtype;
  o.item = ItemSize(wanted);
  o.from_item = ItemSize(dtype);
  bool rounds = types.rounds() && wanted == types.loop && dtype != types.common;
  // The bytes of a bool tensor may hold anything: kernels see to that themselves.
  if (dtype == wanted && !rounds) return;
  o.cast = find(wanted, dtype);
  if (!rounds) return;
  o.through = is_result ? FindCast(types.common, wanted) : FindCast(types.common, dtype);
  o.cast = is_result ? FindCast(dtype, types.common) : FindCast(wanted, types.common);
}

}  // namespace

Status RunPointwise(LoopId function, DType common, const Tensor& out,
                    std::span<const PointwiseInput> inputs, std::span<const Scalar> params) {
  const LoopTable& loops = FindLoops(function);
  LoopNest nest;
  nest.row = loops.Find(common);
  PAL_CHECK(nest.row != nullptr, "no loop for {}", DTypeName(common));
  PAL_CHECK(inputs.size() < kMaxNestOperands && params.size() <= kMaxParams, "too many operands");
  Types types{common, LoopTable::LoopType(common)};

  alignas(kLargestItem) std::byte numbers[kMaxParams * kLargestItem] = {};
  for (size_t i = 0; i < params.size(); ++i) {
    StoreNumber(params[i], types.loop, numbers + i * static_cast<size_t>(ItemSize(types.loop)));
  }
  nest.params = numbers;

  IteratorConfig config = IteratorConfig::Walk();
  config.AddOutput(out.view());
  SmallVector<std::byte*, kMaxNestOperands> bases{out.data()};
  NestOperand& result = nest.operands[nest.count++];
  result.walked = 0;
  SetType(result, out.dtype, loops.ResultOf(types.loop), types, true);
  nest.in_order = !IsDense(out) && OverlapsItself(out);

  for (size_t i = 0; i < inputs.size(); ++i) {
    NestOperand& operand = nest.operands[nest.count++];
    DType wanted = i == 0 && loops.mask_first ? DType::kB8 : types.loop;
    if (inputs[i].tensor == nullptr) {
      operand.item = operand.from_item = ItemSize(wanted);
      StoreNumber(inputs[i].number, wanted, operand.number);
      continue;
    }
    const Tensor& tensor = *inputs[i].tensor;
    operand.walked = static_cast<int>(bases.size());
    SetType(operand, tensor.dtype, wanted, types, false);
    nest.in_order |= Meets(out, tensor);
    config.AddInput(tensor.view());
    bases.push_back(tensor.data());
  }
  // An iteration needs an input; the result itself will do where all inputs are numbers.
  if (bases.size() == 1) {
    config.AddInput(out.view());
    bases.push_back(out.data());
  }
  PAL_TRY(Iteration iteration, Iteration::Build(config));
  if (RunNest(nest, iteration, bases.data())) return {};
  return RuntimeFailure("ZeroDivisionError: integer division by zero", "zero_division");
}

}  // namespace palimpsest::kernels
