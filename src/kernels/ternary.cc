// Operators of three operands, and masked_fill.
#include <fmt/format.h>

#include "kernels/copy_cast.h"
#include "kernels/pointwise.h"
#include "kernels/pointwise_row.h"

namespace palimpsest::kernels {
namespace {

Status CheckCondition(std::span<const Value> args) {
  DType dtype = args[0].tensor().dtype;
  if (dtype == DType::kB8 || dtype == DType::kU8) return {};
  return Refused(
      "condition_not_bool",
      fmt::format("where expected condition to be a boolean tensor, but got a tensor with "
                  "dtype {}",
                  TorchName(dtype)));
}
Status SameTypes(std::span<const Value> args) {
  DType dtype = args[0].tensor().dtype;
  for (const Value& value : args.subspan(1)) {
    if (!value.IsTensor() || value.tensor().dtype == dtype) continue;
    return Refused("dtype_mismatch",
                   fmt::format("lerp: expected dtype {} but got dtype {}", TorchName(dtype),
                               TorchName(value.tensor().dtype)));
  }
  return {};
}
Status SameEndTypes(std::span<const Value> args) { return SameTypes(args.first(2)); }
// A 0-dim weight may have another type: it is converted then.
bool IsForeignWeight(const Value& weight, DType self) {
  return weight.tensor().dim() == 0 && weight.tensor().dtype != self;
}
Status SameThreeTypes(std::span<const Value> args) {
  bool foreign = IsForeignWeight(args[2], args[0].tensor().dtype);
  return SameTypes(args.first(foreign ? 2 : 3));
}
Rule ChooseLerpRule(std::span<const Value> args) {
  return IsForeignWeight(args[2], args[0].tensor().dtype) ? Rule::kBinary : Rule::kLerp;
}

Status NumbersFit(std::span<const Value> args, DType common) {
  for (const Value& value : args.subspan(1, 2)) {
    if (value.IsNumber()) PAL_TRY(CheckFits(value.ToScalar(), common));
  }
  return {};
}

Status ValueFits(std::span<const Value> args, DType common) {
  return CheckFits(args[3].ToScalar(), common);
}

bool IsIntegralValue(const Value& value) {
  return value.IsTensor() ? IsIntegral(value.tensor().dtype) : value.ToScalar().IsInt();
}
Status RefuseIntegerDivision(std::span<const Value> args) {
  if (!IsIntegralValue(args[1]) || !IsIntegralValue(args[2])) return {};
  return Refused("unsupported_dtype",
                 "Integer division with addcdiv is no longer supported: convert tensor1 or tensor2 "
                 "to a floating type");
}
LoopId ChooseBounds(std::span<const Value> args) {
  if (args[2].IsNone()) return LoopId::kMaximum;
  return args[1].IsNone() ? LoopId::kMinimum : LoopId::kClampTensors;
}
Status RefuseNoBounds(std::span<const Value> args) {
  if (!args[1].IsNone() || !args[2].IsNone()) return {};
  return Refused("missing_bound", "clamp: at least one of 'min' or 'max' must not be None");
}

constexpr PointwiseRow WhereRow(const char* schema, const char* out) {
  return {.schema = schema,
          .roles = "ooo",
          .rule = Rule::kWhere,
          .loops = LoopId::kWhere,
          .out = out,
          .before = CheckCondition,
          .after = NumbersFit};
}

const PointwiseRow kRows[] = {
    WhereRow("aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", "self_out"),
    WhereRow("aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
             nullptr),
    WhereRow("aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
             nullptr),
    WhereRow("aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", nullptr),
    {.schema = "aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> "
               "Tensor",
     .roles = "ooop",
     .rule = Rule::kBinary,
     .loops = LoopId::kAddCMul,
     .in_place = "",
     .out = "out",
     .after = ValueFits},
    {.schema = "aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> "
               "Tensor",
     .roles = "ooop",
     .rule = Rule::kBinary,
     .loops = LoopId::kAddCDiv,
     .in_place = "",
     .out = "out",
     .before = RefuseIntegerDivision},
    {.schema = "aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
     .roles = "oop",
     .rule = Rule::kBinary,
     .loops = LoopId::kLerpNumber,
     .in_place = "",
     .out = "Scalar_out",
     .before = SameEndTypes},
    {.schema = "aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
     .roles = "ooo",
     .rule = Rule::kLerp,
     .loops = LoopId::kLerp,
     .in_place = "",
     .out = "Tensor_out",
     .before = SameThreeTypes,
     .choose_rule = ChooseLerpRule},
    {.schema = "aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
     .roles = "ooo",
     .rule = Rule::kBinary,
     .in_place = "",
     .out = "Tensor_out",
     .before = RefuseNoBounds,
     .choose = ChooseBounds},
};

// ---- masked_fill: the result is contiguous, whatever the layout of self.

Status CheckMask(std::span<const Value> args) {
  if (args[1].tensor().dtype != DType::kB8) {
    return Refused(
        "unsupported_dtype",
        fmt::format("masked_fill_ only supports boolean masks, but got mask with dtype {}",
                    TorchName(args[1].tensor().dtype)));
  }
  DType self = args[0].tensor().dtype;
  if (args[2].IsTensor()) {
    const Tensor& value = args[2].tensor();
    if (value.dim() != 0) {
      return Refused("bad_argument",
                     fmt::format("masked_fill_ only supports a 0-dimensional value tensor, but got "
                                 "tensor with {} dimensions.",
                                 value.dim()));
    }
    if (CategoryOf(value.dtype) == Category::kComplex && !IsComplex(self)) {
      return Refused("cannot_cast", "masked_fill_: a complex value in a real tensor");
    }
    return {};
  }
  return CheckFits(args[2].ToScalar(), self);
}

Status MaskedFillMeta(op::MetaCall& call) {
  PAL_TRY(CheckMask(call.args));
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(Dims shape, BroadcastShapes(self.sizes, call.args[1].tensor().sizes));
  PAL_TRY(CheckedNumel(shape));
  call.results.push_back(op::ResultSpec::Fresh(self.dtype, shape));
  return {};
}

Status MaskedFillInPlaceMeta(op::MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& mask = call.args[1].tensor();
  PAL_TRY(Dims shape, BroadcastShapes(self.sizes, mask.sizes));
  if (!(shape == self.sizes)) {
    return Refused("output_shape_mismatch",
                   fmt::format("output with shape {} doesn't match the broadcast shape {}",
                               ToString(std::span<const int64_t>(self.sizes)),
                               ToString(std::span<const int64_t>(shape))));
  }
  PAL_TRY(CheckMask(call.args));
  PAL_TRY(CheckPartialOverlap(self, mask));
  call.results.push_back(op::ResultSpec::Same(0));
  return {};
}

Status RunMaskedFill(std::span<const Value> args, const Tensor& out) {
  const Tensor& self = args[0].tensor();
  Scalar value = args[2].IsTensor() ? LoadNumber(args[2].tensor().dtype, args[2].tensor().data())
                                    : args[2].ToScalar();
  PointwiseInput inputs[] = {{&args[1].tensor(), {}}, {&self, {}}};
  return RunPointwise(LoopId::kMaskedFill, self.dtype, out, inputs, {&value, 1});
}

Status RegisterMaskedFill(op::OpTable& table, const char* overload, const char* type) {
  op::Op functional;
  PAL_TRY(
      functional.schema,
      op::ParseSchema(fmt::format(
          "aten::masked_fill.{}(Tensor self, Tensor mask, {} value) -> Tensor", overload, type)));
  functional.traits.pointwise = true;
  functional.meta = MaskedFillMeta;
  functional.kernel = [](op::KernelCall& call) {
    return call.results[0].numel() == 0 ? Status() : RunMaskedFill(call.args, call.results[0]);
  };
  op::Op in_place;
  PAL_TRY(in_place.schema, op::ParseSchema(fmt::format("aten::masked_fill_.{}(Tensor(a!) self, "
                                                       "Tensor mask, {} value) -> Tensor(a!)",
                                                       overload, type)));
  in_place.traits.pointwise = true;
  in_place.functional = functional.schema.Key();
  in_place.meta = MaskedFillInPlaceMeta;
  in_place.kernel = [](op::KernelCall& call) {
    const Tensor& self = call.args[0].tensor();
    return self.numel() == 0 ? Status() : RunMaskedFill(call.args, self);
  };
  PAL_TRY(table.Register(std::move(functional)));
  return table.Register(std::move(in_place));
}

}  // namespace

Status RegisterTernary(op::OpTable& table) {
  PAL_TRY(RegisterRows(table, kRows));
  PAL_TRY(RegisterMaskedFill(table, "Scalar", "Scalar"));
  return RegisterMaskedFill(table, "Tensor", "Tensor");
}

}  // namespace palimpsest::kernels
