// dropout: each element is dropped with probability p, the others are scaled by 1 / (1 - p). Not
// in training it is its argument.
#include <fmt/format.h>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/copy_cast.h"
#include "kernels/random_draw.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

Status CheckProbability(double p) {
  if (p >= 0 && p <= 1) return {};
  return Refused("bad_argument",
                 fmt::format("dropout probability has to be between 0 and 1, but got {}", p));
}

// Is the call the identity?
bool IsIdentity(const MetaCall& call) {
  return !call.args[2].ToBool() || call.args[1].ToDouble() == 0 ||
         call.args[0].tensor().numel() == 0;
}

Status CheckType(const Tensor& input) {
  if (IsFloating(input.dtype)) return {};
  return Refused("unsupported_dtype",
                 fmt::format("dropout of {} in training", TorchName(input.dtype)));
}

Status DropoutMeta(MetaCall& call) {
  PAL_TRY(CheckProbability(call.args[1].ToDouble()));
  if (IsIdentity(call)) {
    call.results.push_back(ResultSpec::Same(0));
    return {};
  }
  const Tensor& input = call.args[0].tensor();
  PAL_TRY(CheckType(input));
  PAL_TRY(View view, CopyLayout(input, MemoryFormat::kPreserve));
  call.results.push_back(ResultSpec::Fresh(std::move(view)));
  return {};
}

// A bool tensor of what is kept.
Result<Tensor> DrawKept(KernelCall& call, double keep) {
  const Tensor& input = call.args[0].tensor();
  PAL_TRY(Tensor kept, EmptyTensor(View{DType::kB8, input.sizes, PreserveStrides(input), 0}));
  if (keep == 0) {
    PAL_TRY(FillWith(Scalar::Bool(false), kept));
    return kept;
  }
  DrawSource source(call);
  PAL_TRY(DrawInto(kept, kept.view(),
                   [&](const std::byte*) { return Scalar::Bool(source->Uniform64() < keep); }));
  return kept;
}

// result = input * (kept ? scale : 0), in the precision of the type.
Status Scale(const Tensor& input, const Tensor& kept, double scale, const Tensor& result) {
  PAL_TRY(CopyTo(input, result));
  PAL_TRY(Tensor mask, EmptyTensor(View{DType::kB8, result.sizes, result.strides, 0}));
  PAL_TRY(CopyTo(kept, mask));
  const std::byte* first = result.data();
  bool narrow = result.dtype != DType::kF64;
  return DrawInto(result, result.view(), [&](const std::byte* at) {
    int64_t element = (at - first) / result.item_size();
    double factor = mask.data()[element] != std::byte{0} ? scale : 0.0;
    double value = LoadNumber(result.dtype, at).AsDouble();
    if (!narrow) return Scalar::Float(value * factor);
    return Scalar::Float(
        static_cast<double>(static_cast<float>(value) * static_cast<float>(factor)));
  });
}

Status DropoutKernel(KernelCall& call) {
  if (call.results.empty()) return {};
  double keep = 1 - call.args[1].ToDouble();
  PAL_TRY(Tensor kept, DrawKept(call, keep));
  return Scale(call.args[0].tensor(), kept, keep == 0 ? 0 : 1 / keep, call.results[0]);
}

Status InPlaceMeta(MetaCall& call) {
  PAL_TRY(CheckProbability(call.args[1].ToDouble()));
  if (!IsIdentity(call)) {
    return Unsupported("dropout_ in training: use dropout, which is not in place");
  }
  call.results.push_back(ResultSpec::Same(0));
  return {};
}

// feature_dropout, alpha_dropout: only as the identity.
Status IdentityMeta(MetaCall& call) {
  PAL_TRY(CheckProbability(call.args[1].ToDouble()));
  if (!IsIdentity(call)) {
    return Unsupported(fmt::format("{} in training", call.op.schema.Key()));
  }
  call.results.push_back(ResultSpec::Same(0));
  return {};
}

Status NativeDropoutMeta(MetaCall& call) {
  const Tensor& input = call.args[0].tensor();
  PAL_TRY(CheckProbability(call.args[1].ToDouble()));
  PAL_TRY(CheckType(input));
  PAL_TRY(View view, CopyLayout(input, MemoryFormat::kPreserve));
  View mask = view;
  mask.dtype = DType::kB8;
  call.results.push_back(ResultSpec::Fresh(std::move(view)));
  call.results.push_back(ResultSpec::Fresh(std::move(mask)));
  return {};
}

Status NativeDropoutKernel(KernelCall& call) {
  const Tensor& input = call.args[0].tensor();
  bool train = call.args[2].IsNone() || call.args[2].ToBool();
  if (!train) {
    PAL_TRY(FillWith(Scalar::Bool(true), call.results[1]));
    return CopyTo(input, call.results[0]);
  }
  double keep = 1 - call.args[1].ToDouble();
  PAL_TRY(Tensor kept, DrawKept(call, keep));
  PAL_TRY(CopyTo(kept, call.results[1]));
  return Scale(input, kept, keep == 0 ? 0 : 1 / keep, call.results[0]);
}

}  // namespace

Status RegisterDropout(op::OpTable& table) {
  op::Traits random;
  random.random = true;
  std::vector<BuiltinRow> rows = {
      {"aten::dropout(Tensor input, float p, bool train) -> Tensor", DropoutMeta, DropoutKernel,
       random},
      {"aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
       NativeDropoutMeta, NativeDropoutKernel, random},
  };
  for (const char* name : {"dropout_", "alpha_dropout_", "feature_dropout_"}) {
    rows.push_back(
        {fmt::format("aten::{}(Tensor(a!) self, float p, bool train) -> Tensor(a!)", name),
         InPlaceMeta});
  }
  for (const char* name : {"alpha_dropout", "feature_dropout", "feature_alpha_dropout"}) {
    rows.push_back(
        {fmt::format("aten::{}(Tensor input, float p, bool train) -> Tensor", name), IdentityMeta});
  }
  return RegisterBuiltinRows(table, std::move(rows));
}

}  // namespace palimpsest::kernels
