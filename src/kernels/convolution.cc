// The operators: checks, sizes and layouts of results; convolution_run.h does the work.
//
// Layouts are PyTorch's: a 4-d or 5-d result is channels_last where the input or the weight is. A
// 1-d convolution is seen as a 2-d one of height 1, its input made contiguous first.
#include "kernels/convolution.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/builtin_row.h"
#include "kernels/convolution_run.h"
#include "kernels/packed.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

// The arguments of any of the operators, in the words of aten::convolution.
struct ConvolutionArgs {
  Tensor input;  // with a batch dim
  const Tensor& weight;
  const Tensor* bias = nullptr;
  ConvolutionShape shape;
  bool unbatched = false;  // the batch dim is ours
  std::string padding;     // "same", "valid", or empty: numbers
};

Dims Spread(const op::Op& op, std::span<const Value> args, const char* name, size_t n,
            int64_t otherwise) {
  int i = op.schema.FindArg(name);
  Dims dims;
  if (i >= 0) dims = args[static_cast<size_t>(i)].ToDims();
  if (i < 0) dims.resize(n, otherwise);
  if (dims.size() == 1) dims.resize(n, dims[0]);
  return dims;
}

bool IsTransposed(const op::Op& op, std::span<const Value> args) {
  int i = op.schema.FindArg("transposed");
  if (i >= 0) return args[static_cast<size_t>(i)].ToBool();
  return op.schema.name.starts_with("conv_transpose");
}

// torch.unsqueeze(input, 0): its stride decides whether the result counts as channels_last.
Tensor WithBatchDim(const Tensor& t) {
  Dims sizes = t.sizes, strides = t.strides;
  int64_t stride = t.dim() == 0 ? 1 : t.sizes[0] * t.strides[0];
  sizes.insert(sizes.begin(), 1);
  strides.insert(strides.begin(), stride);
  return Rearranged(t, sizes, strides, t.offset);
}

// Spatial dims that the operator's name fixes; 0: the weight's.
size_t SpatialDims(const op::Op& op) {
  for (size_t n = 1; n <= 3; ++n) {
    if (op.schema.name.ends_with(std::to_string(n) + "d")) return n;
  }
  return 0;
}

ConvolutionArgs ArgsOf(const op::Op& op, std::span<const Value> args) {
  ConvolutionArgs a{args[0].tensor(), args[1].tensor(), nullptr, {}, false, ""};
  if (args[2].IsTensor()) a.bias = &args[2].tensor();
  size_t n = a.weight.dim() < 2 ? 0 : a.weight.dim() - 2;
  bool takes_unbatched = SpatialDims(op) > 0;
  if (takes_unbatched && a.input.dim() == n + 1) {
    a.unbatched = true;
    a.input = WithBatchDim(a.input);
  }
  a.shape.stride = Spread(op, args, "stride", n, 1);
  a.shape.dilation = Spread(op, args, "dilation", n, 1);
  a.shape.output_padding = Spread(op, args, "output_padding", n, 0);
  a.shape.transposed = IsTransposed(op, args);
  a.shape.groups = Argument(op, args, "groups").ToInt();
  const Value& padding = Argument(op, args, "padding");
  if (padding.Is<std::string>()) {
    a.padding = padding.As<std::string>();
    a.shape.padding.resize(n, 0);
  } else {
    a.shape.padding = Spread(op, args, "padding", n, 0);
  }
  a.shape.padding_behind = a.shape.padding;
  return a;
}

Error Misfit(const MetaCall& call, const ConvolutionArgs& a) {
  return Refused("size_mismatch",
                 fmt::format("{}: weight of size {} with groups={} does not fit an input of size "
                             "{}",
                             call.op.schema.Key(), ToString(a.weight.sizes), a.shape.groups,
                             ToString(a.input.sizes)));
}

Status CheckNumbers(const MetaCall& call, const ConvolutionArgs& a) {
  size_t n = a.weight.dim() - 2;
  const ConvolutionShape& s = a.shape;
  auto refuse = [&](const char* what) {
    return Refused("bad_argument", fmt::format("{}: {}", call.op.schema.Key(), what));
  };
  for (const Dims* dims : {&s.stride, &s.padding, &s.dilation, &s.output_padding}) {
    if (dims->size() != n) return refuse("a list of numbers does not have one per spatial dim");
  }
  for (size_t d = 0; d < n; ++d) {
    if (s.stride[d] <= 0) return refuse("non-positive stride is not supported");
    if (s.padding[d] < 0) return refuse("negative padding is not supported");
    if (s.dilation[d] <= 0) return refuse("dilation should be greater than zero");
    if (s.output_padding[d] < 0) return refuse("negative output_padding is not supported");
    bool small = s.output_padding[d] < s.stride[d] || s.output_padding[d] < s.dilation[d];
    if (s.transposed && !small) {
      return refuse("output padding must be smaller than either stride or dilation");
    }
    constexpr int64_t kMost = int64_t{1} << 31;
    if (s.stride[d] > kMost || s.padding[d] > kMost || s.dilation[d] > kMost) {
      return refuse("a stride, padding or dilation beyond 2^31");
    }
  }
  if (s.groups <= 0) return refuse("groups must be positive");
  return {};
}

Status CheckTypes(const MetaCall& call, const ConvolutionArgs& a) {
  bool same =
      a.input.dtype == a.weight.dtype && (a.bias == nullptr || a.bias->dtype == a.input.dtype);
  if (!same) {
    return Refused(
        "dtype_mismatch",
        fmt::format("{}: input and weight types ({} and {}), and bias, should be the "
                    "same",
                    call.op.schema.Key(), TorchName(a.input.dtype), TorchName(a.weight.dtype)));
  }
  bool dilated = std::any_of(a.shape.dilation.begin(), a.shape.dilation.end(),
                             [](int64_t dilation) { return dilation != 1; });
  bool plain_only = IsIntegral(a.input.dtype) && (a.shape.transposed || dilated);
  if (a.input.dtype == DType::kB8 || plain_only) {
    return Refused("unsupported_dtype",
                   fmt::format("{} is not implemented for {}", call.op.schema.Key(),
                               TorchName(a.input.dtype)));
  }
  if (IsComplex(a.input.dtype)) {
    return Unsupported(
        fmt::format("{}: convolutions of complex numbers; convolve the real and "
                    "imaginary parts instead",
                    call.op.schema.Key()));
  }
  return {};
}

int64_t OutputChannels(const ConvolutionArgs& a) {
  return a.shape.transposed ? a.weight.sizes[1] * a.shape.groups : a.weight.sizes[0];
}

Status CheckSizes(const MetaCall& call, const ConvolutionArgs& a) {
  size_t rank = a.weight.dim();
  size_t asked = SpatialDims(call.op);
  if (rank < 3 || rank > 5 || (asked > 0 && rank != asked + 2)) {
    return Refused("size_mismatch", fmt::format("{}: a weight of size {}", call.op.schema.Key(),
                                                ToString(a.weight.sizes)));
  }
  if (a.input.dim() != rank) return Misfit(call, a);
  PAL_TRY(CheckNumbers(call, a));
  int64_t groups = a.shape.groups;
  if (a.weight.sizes[0] % groups != 0) return Misfit(call, a);
  int64_t channels = a.shape.transposed ? a.weight.sizes[0] : a.weight.sizes[1] * groups;
  if (a.input.sizes[1] != channels) return Misfit(call, a);
  if (a.bias != nullptr && (a.bias->dim() != 1 || a.bias->sizes[0] != OutputChannels(a))) {
    return Refused("size_mismatch",
                   fmt::format("{}: expected bias to be 1-dimensional with {} elements, but got "
                               "{}",
                               call.op.schema.Key(), OutputChannels(a), ToString(a.bias->sizes)));
  }
  return {};
}

// padding="same": the result has the input's size; an odd padding is larger behind.
Status ChoosePadding(ConvolutionArgs& a) {
  if (a.padding.empty() || a.padding == "valid") return {};
  if (a.padding != "same") {
    return Refused("bad_argument", fmt::format("invalid padding string: '{}'", a.padding));
  }
  for (size_t d = 0; d < a.shape.stride.size(); ++d) {
    if (a.shape.stride[d] != 1) {
      return Refused("bad_argument", "padding='same' is not supported for strided convolutions");
    }
    int64_t total = a.shape.dilation[d] * (a.weight.sizes[d + 2] - 1);
    a.shape.padding[d] = total / 2;
    a.shape.padding_behind[d] = total - total / 2;
  }
  return {};
}

Result<Dims> ResultSizes(const MetaCall& call, const ConvolutionArgs& a) {
  Dims sizes = {a.input.sizes[0], OutputChannels(a)};
  for (size_t d = 0; d < a.shape.stride.size(); ++d) {
    const ConvolutionShape& s = a.shape;
    int64_t input = a.input.sizes[d + 2];
    int64_t reach = s.dilation[d] * (a.weight.sizes[d + 2] - 1) + 1;
    int64_t size = 0;
    if (s.transposed) {
      size = (input - 1) * s.stride[d] - 2 * s.padding[d] + reach + s.output_padding[d];
    } else {
      int64_t padded = input + s.padding[d] + s.padding_behind[d];
      size = padded < reach ? 0 : (padded - reach) / s.stride[d] + 1;
    }
    if (size <= 0 || a.weight.sizes[d + 2] == 0) {
      return Refused(
          "size_mismatch",
          fmt::format("{}: the kernel {} is greater than the padded input {}", call.op.schema.Key(),
                      ToString(a.weight.sizes), ToString(a.input.sizes)));
    }
    sizes.push_back(size);
  }
  return sizes;
}

Tensor AsTwoDims(const Tensor& t) {
  Dims sizes = {t.sizes[0], t.sizes[1], 1, t.sizes[2]};
  Dims strides = {t.strides[0], t.strides[1], t.sizes[2] * t.strides[2], t.strides[2]};
  return Rearranged(t, sizes, strides, t.offset);
}

Dims ResultStrides(const ConvolutionArgs& a, const Dims& sizes) {
  bool one_dim = a.weight.dim() == 3;
  MemoryFormat input = one_dim ? MemoryFormat::kContiguous : SuggestedFormat(a.input);
  MemoryFormat weight = SuggestedFormat(one_dim ? AsTwoDims(a.weight) : a.weight);
  MemoryFormat format = input == MemoryFormat::kContiguous ? weight : input;
  bool three_dims_by_loops = a.weight.dim() == 5 && ComputeType(a.input.dtype) != DType::kF32;
  if (a.input.numel() == 0 || three_dims_by_loops) format = MemoryFormat::kContiguous;
  if (format == MemoryFormat::kContiguous) return ContiguousStrides(sizes);
  if (!one_dim) return ChannelsLastStrides(sizes);
  Dims wide = ChannelsLastStrides(Dims{sizes[0], sizes[1], 1, sizes[2]});
  return {wide[0], wide[1], wide[3]};
}

Status ConvolutionMeta(MetaCall& call) {
  ConvolutionArgs a = ArgsOf(call.op, call.args);
  PAL_TRY(CheckSizes(call, a));
  PAL_TRY(CheckTypes(call, a));
  PAL_TRY(ChoosePadding(a));
  PAL_TRY(Dims sizes, ResultSizes(call, a));
  View view{a.input.dtype, sizes, ResultStrides(a, sizes), 0};
  if (a.unbatched) {
    view.sizes.erase(view.sizes.begin());
    view.strides.erase(view.strides.begin());
  }
  call.results.push_back(ResultSpec::Fresh(view));
  return {};
}

Status ConvolutionKernel(KernelCall& call) {
  ConvolutionArgs a = ArgsOf(call.op, call.args);
  PAL_TRY(ChoosePadding(a));
  // Output padding lengthens the result behind: as if so much less were cut there.
  for (size_t d = 0; d < a.shape.padding.size(); ++d) {
    if (a.shape.transposed) a.shape.padding_behind[d] -= a.shape.output_padding[d];
  }
  Tensor result = a.unbatched ? WithBatchDim(call.results[0]) : call.results[0];
  return RunConvolution({a.shape, a.input, a.weight, a.bias, result});
}

const char* const kSchemas[] = {
    "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] "
    "padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> "
    "Tensor",
    "aten::_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] "
    "padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool "
    "benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
    "aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, SymInt[1] "
    "padding=0, SymInt[1] dilation=1, SymInt groups=1) -> Tensor",
    "aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] "
    "padding=0, SymInt[2] dilation=1, SymInt groups=1) -> Tensor",
    "aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] "
    "padding=0, SymInt[3] dilation=1, SymInt groups=1) -> Tensor",
    "aten::conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, str "
    "padding=\"valid\", SymInt[1] dilation=1, SymInt groups=1) -> Tensor",
    "aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, str "
    "padding=\"valid\", SymInt[2] dilation=1, SymInt groups=1) -> Tensor",
    "aten::conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, str "
    "padding=\"valid\", SymInt[3] dilation=1, SymInt groups=1) -> Tensor",
    "aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, "
    "SymInt[1] padding=0, SymInt[1] output_padding=0, SymInt groups=1, SymInt[1] dilation=1) -> "
    "Tensor",
    "aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] "
    "stride=1, SymInt[2] padding=0, SymInt[2] output_padding=0, SymInt groups=1, SymInt[2] "
    "dilation=1) -> Tensor",
    "aten::conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] "
    "stride=1, SymInt[3] padding=0, SymInt[3] output_padding=0, SymInt groups=1, SymInt[3] "
    "dilation=1) -> Tensor",
};

}  // namespace

Status RegisterConvolution(op::OpTable& table) {
  std::vector<BuiltinRow> rows;
  for (const char* schema : kSchemas) {
    rows.push_back({.schema = schema, .meta = ConvolutionMeta, .kernel = ConvolutionKernel});
  }
  return RegisterBuiltinRows(table, std::move(rows));
}

}  // namespace palimpsest::kernels
