// Operators that check something and give nothing.
//
// What hangs on metadata alone is checked by the meta function, and the call needs no kernel. What
// hangs on memory is an effect: it keeps its place, and runs even though nobody uses a result.
#include <fmt/format.h>

#include "kernels/builtin_row.h"
#include "kernels/copy_cast.h"
#include "kernels/symbolic.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;

constexpr const char* kReason = "assertion_failed";

// A number of a call is known when the call is compiled for it.
Status AssertScalarMeta(MetaCall& call) {
  if (call.args[0].Is<std::complex<double>>() || call.args[0].ToBool()) return {};
  return Refused(kReason, call.args[1].As<std::string>());
}

Status TensorMetadataMeta(MetaCall& call) {
  const Tensor& a = call.args[0].tensor();
  auto refuse = [&](std::string_view what, const std::string& expected, const std::string& given) {
    return Refused(kReason,
                   fmt::format("Tensor {} mismatch! Expected: {}, Got: {}", what, expected, given));
  };
  if (call.args[1].IsList()) {
    Dims sizes = call.args[1].ToDims();
    if (sizes != a.sizes) return refuse("sizes", ToString(sizes), ToString(a.sizes));
  }
  if (call.args[2].IsList()) {
    Dims strides = call.args[2].ToDims();
    if (strides != a.strides) return refuse("strides", ToString(strides), ToString(a.strides));
  }
  std::optional<DType> dtype = call.args[3].ToOptionalDType();
  if (dtype && *dtype != a.dtype) {
    return refuse("dtype", std::string(TorchName(*dtype)), std::string(TorchName(a.dtype)));
  }
  return {};
}

Status ConstrainRangeMeta(MetaCall& call) {
  const Value& size = call.args[0];
  if (!size.Is<int64_t>() && !size.Is<bool>()) return {};  // unbacked floats are not checked
  std::optional<int64_t> least = call.args[1].ToOptionalInt();
  std::optional<int64_t> most = call.args[2].ToOptionalInt();
  if (call.op.schema.name == "sym_constrain_range_for_size" && !least) least = 0;
  int64_t value = size.ToInt();
  if ((least && value < *least) || (most && value > *most)) {
    return Refused(kReason, fmt::format("Invalid value range for {} between [{}, {}]", value,
                                        least ? std::to_string(*least) : "-inf",
                                        most ? std::to_string(*most) : "inf"));
  }
  return {};
}

Status AssertAsyncMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  if (self.numel() == 1) return {};
  return Refused("size_mismatch",
                 fmt::format("Boolean value of Tensor with {} values is ambiguous", self.numel()));
}
Status AssertAsyncKernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  Scalar number = LoadNumber(self.dtype, self.data());
  if (number.IsInt() ? number.i != 0 : number.c != 0.0) return {};
  return RuntimeFailure(call.args.size() > 1 ? call.args[1].As<std::string>()
                                             : "Expected Tensor with single nonzero value, but got "
                                               "zero",
                        kReason);
}

}  // namespace

Status RegisterAssertions(op::OpTable& table) {
  op::Traits effect, metadata_only;
  effect.effect = effect.may_refuse = true;
  metadata_only.metadata_only = 1;
  return RegisterBuiltinRows(
      table,
      {
          {"aten::_assert_scalar(Scalar self, str assert_msg) -> ()", AssertScalarMeta},
          {"aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? "
           "stride=None, ScalarType? dtype=None, *, Device? device=None, Layout? "
           "layout=None) -> ()",
           TensorMetadataMeta,
           {},
           metadata_only},
          {"aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()",
           ConstrainRangeMeta},
          {"aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? "
           "max=None) -> ()",
           ConstrainRangeMeta},
          {"aten::_assert_async(Tensor self) -> ()", AssertAsyncMeta, AssertAsyncKernel, effect},
          {"aten::_assert_async.msg(Tensor self, str assert_msg) -> ()", AssertAsyncMeta,
           AssertAsyncKernel, effect},
      });
}

}  // namespace palimpsest::kernels
