// The operators: checks, sizes and layouts of results; pooling_windows.h does the work.
#include "kernels/pooling.h"

#include <fmt/format.h>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/packed.h"
#include "kernels/pooling_windows.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

enum class Layout : uint8_t {
  kContiguous,
  kSuggested,    // channels_last where the input is; of three dims, without a batch dim too
  kOneIfAllOne,  // as kSuggested where the result has one element per plane, else contiguous
};

struct PoolingForm {
  const char* schema;
  size_t dims;
  bool largest = false;
  bool adaptive = false;
  Layout layout = Layout::kSuggested;
};

struct PoolingArgs {
  const Tensor& input;
  Dims output, kernel, stride, padding, dilation;  // output: of adaptive pooling
  bool ceil_mode = false;
  MeanRule mean;
};

Dims Spread(const op::Op& op, std::span<const Value> args, const char* name, size_t n,
            int64_t otherwise) {
  int i = op.schema.FindArg(name);
  Dims dims;
  if (i >= 0) dims = args[static_cast<size_t>(i)].ToDims();
  if (dims.size() == 1) dims.resize(n, dims[0]);
  if (i < 0) dims.resize(n, otherwise);
  return dims;
}

PoolingArgs ArgsOf(const PoolingForm& form, const op::Op& op, std::span<const Value> args) {
  PoolingArgs a{args[0].tensor(), {}, {}, {}, {}, {}, false, {}};
  size_t n = form.dims;
  if (form.adaptive) {
    a.output = Spread(op, args, "output_size", n, 1);
    a.mean.count_padding = false;
    return a;
  }
  a.kernel = Spread(op, args, "kernel_size", n, 1);
  a.stride = Spread(op, args, "stride", n, 1);
  if (a.stride.empty()) a.stride = a.kernel;
  a.padding = Spread(op, args, "padding", n, 0);
  a.dilation = Spread(op, args, "dilation", n, 1);
  a.ceil_mode = Argument(op, args, "ceil_mode").ToBool();
  if (form.largest) return a;
  a.mean.count_padding = Argument(op, args, "count_include_pad").ToBool();
  int divisor = op.schema.FindArg("divisor_override");
  if (divisor >= 0 && !args[static_cast<size_t>(divisor)].IsNone()) {
    a.mean.divisor = args[static_cast<size_t>(divisor)].ToInt();
  }
  return a;
}

Status CheckRule(const MetaCall& call, const PoolingForm& form, const PoolingArgs& a, size_t d) {
  auto refuse = [&](const char* what) {
    return Refused("bad_argument", fmt::format("{}: {}", call.op.schema.Key(), what));
  };
  constexpr int64_t kMost = int64_t{1} << 31;
  int64_t kernel = a.kernel[d], dilation = a.dilation[d], padding = a.padding[d];
  if (kernel <= 0) return refuse("kernel size should be greater than zero");
  if (a.stride[d] <= 0) return refuse("stride should be greater than zero");
  if (dilation <= 0) return refuse("dilation should be greater than zero");
  if (padding < 0) return refuse("pad must be non-negative");
  if (kernel > kMost || a.stride[d] > kMost || dilation > kMost) return refuse("beyond 2^31");
  int64_t reach = form.largest ? (kernel - 1) * dilation + 1 : kernel;
  if (padding > reach / 2) return refuse("pad should be at most half of effective kernel size");
  return {};
}

Status CheckType(const MetaCall& call, const PoolingForm& form, const PoolingArgs& a) {
  DType dtype = a.input.dtype;
  bool with_indices = call.op.schema.returns.size() > 1;
  bool integers = (form.largest && !form.adaptive && (form.dims > 1 || with_indices)) ||
                  (!form.largest && !form.adaptive && dtype == DType::kI64);
  bool known = IsFloating(dtype) || (CategoryOf(dtype) == Category::kInteger && integers);
  if (known) return {};
  return Refused("unsupported_dtype", fmt::format("{} is not implemented for {}",
                                                  call.op.schema.Key(), TorchName(dtype)));
}

Status CheckPooling(const MetaCall& call, const PoolingForm& form, const PoolingArgs& a) {
  size_t n = form.dims, rank = a.input.dim();
  bool has_rank = rank == n + 1 || rank == n + 2;
  for (size_t d = rank == n + 2 ? 1 : 0; has_rank && d < rank; ++d) {
    has_rank = a.input.sizes[d] > 0;
  }
  if (!has_rank) {
    return Refused("size_mismatch", fmt::format("{}: an input of size {}", call.op.schema.Key(),
                                                ToString(a.input.sizes)));
  }
  auto refuse_list = [&]() {
    return Refused("bad_argument", fmt::format("{}: a list of numbers does not have one per dim",
                                               call.op.schema.Key()));
  };
  PAL_TRY(CheckType(call, form, a));
  if (form.adaptive) {
    if (a.output.size() != n) return refuse_list();
    for (int64_t size : a.output) {
      if (size < 0) return Refused("bad_argument", "output_size must be non-negative");
    }
    return {};
  }
  for (const Dims* dims : {&a.kernel, &a.stride, &a.padding, &a.dilation}) {
    if (dims->size() != n) return refuse_list();
  }
  for (size_t d = 0; d < n; ++d) PAL_TRY(CheckRule(call, form, a, d));
  bool zero = call.op.schema.FindArg("divisor_override") >= 0 &&
              !Argument(call.op, call.args, "divisor_override").IsNone() && a.mean.divisor == 0;
  return zero ? Status(Refused("bad_argument", "divisor must be not zero")) : Status();
}

// Places of a fixed window along a dim: the last one begins within the input or the padding before.
int64_t FixedSize(const PoolingArgs& a, size_t d, int64_t input) {
  int64_t reach = (a.kernel[d] - 1) * a.dilation[d] + 1;
  int64_t room = input + 2 * a.padding[d] - reach;
  if (a.ceil_mode) room += a.stride[d] - 1;
  if (room < 0) return 0;
  int64_t size = room / a.stride[d] + 1;
  if (a.ceil_mode && (size - 1) * a.stride[d] >= input + a.padding[d]) --size;
  return size;
}

Result<Dims> ResultSizes(const MetaCall& call, const PoolingForm& form, const PoolingArgs& a) {
  Dims sizes = a.input.sizes;
  size_t first = a.input.dim() - form.dims;
  for (size_t d = 0; d < form.dims; ++d) {
    int64_t size = form.adaptive ? a.output[d] : FixedSize(a, d, a.input.sizes[first + d]);
    if (!form.adaptive && size < 1) {
      return Refused("size_mismatch",
                     fmt::format("{}: given input size {}, the output size is too small",
                                 call.op.schema.Key(), ToString(a.input.sizes)));
    }
    sizes[first + d] = size;
  }
  return sizes;
}

// The view that PyTorch asks for the format: one-dim pooling is two-dim pooling of height 1.
Tensor AsAsked(const PoolingForm& form, const Tensor& t) {
  Dims sizes = t.sizes, strides = t.strides;
  if (form.dims == 1) {
    int64_t stride = sizes.back() * strides.back();
    sizes.insert(sizes.end() - 1, 1);
    strides.insert(strides.end() - 1, stride);
  }
  if (form.dims == 3 && t.dim() == 4) {
    int64_t stride = sizes[0] * strides[0];
    sizes.insert(sizes.begin(), 1);
    strides.insert(strides.begin(), stride);
  }
  return Rearranged(t, sizes, strides, t.offset);
}

Dims ResultStrides(const PoolingForm& form, const PoolingArgs& a, const Dims& sizes) {
  bool all_one = true;
  for (int64_t size : a.output) all_one = all_one && size == 1;
  bool asks = form.layout == Layout::kSuggested || (form.layout == Layout::kOneIfAllOne && all_one);
  if (!asks) return ContiguousStrides(sizes);
  Tensor asked = AsAsked(form, a.input);
  bool unbatched = form.dims == 3 && sizes.size() == 4;
  bool is_contiguous =
      unbatched ? IsContiguous(asked) || !IsContiguous(asked, MemoryFormat::kChannelsLast3d)
                : SuggestedFormat(asked) == MemoryFormat::kContiguous;
  if (is_contiguous || a.input.numel() == 0) return ContiguousStrides(sizes);
  Dims wide = sizes;
  if (form.dims == 1) wide.insert(wide.end() - 1, 1);
  if (unbatched) wide.insert(wide.begin(), 1);
  Dims strides = ChannelsLastStrides(wide);
  if (form.dims == 1) strides.erase(strides.end() - 2);
  if (unbatched) strides.erase(strides.begin());
  return strides;
}

Status PoolingMeta(const PoolingForm& form, MetaCall& call) {
  PoolingArgs a = ArgsOf(form, call.op, call.args);
  PAL_TRY(CheckPooling(call, form, a));
  PAL_TRY(Dims sizes, ResultSizes(call, form, a));
  View view{a.input.dtype, sizes, ResultStrides(form, a, sizes), 0};
  call.results.push_back(ResultSpec::Fresh(view));
  if (call.op.schema.returns.size() == 1) return {};
  view.dtype = DType::kI64;
  call.results.push_back(ResultSpec::Fresh(view));
  return {};
}

Windows WindowsOf(const PoolingForm& form, const PoolingArgs& a, const Dims& sizes) {
  Windows w;
  size_t first = a.input.dim() - form.dims;
  w.planes = 1;
  for (size_t d = 0; d < first; ++d) w.planes *= a.input.sizes[d];
  for (size_t d = 0; d < 3; ++d) {
    if (d + form.dims < 3) {
      w.dims[d] = {{0, 1, 1, 1}};
      continue;
    }
    size_t i = d + form.dims - 3;
    int64_t input = a.input.sizes[first + i], output = sizes[first + i];
    w.sizes[d] = input;
    w.dims[d] =
        form.adaptive
            ? AdaptiveWindows(input, output)
            : FixedWindows(input, output, {a.kernel[i], a.stride[i], a.padding[i], a.dilation[i]});
  }
  return w;
}

Status PoolingKernel(const PoolingForm& form, KernelCall& call) {
  PoolingArgs a = ArgsOf(form, call.op, call.args);
  const Tensor& result = call.results[0];
  if (result.numel() == 0) return {};
  DType type = ComputeType(a.input.dtype);
  PAL_TRY(Tensor input, Packed(a.input, type));
  PAL_TRY(PackedResult output, PackedResult::For(result, type));
  Windows windows = WindowsOf(form, a, result.sizes);
  if (!form.largest) {
    PoolMeans(windows, a.mean, input, output.tensor());
    return output.Store();
  }
  PackedResult indices;
  bool has_indices = call.results.size() > 1;
  if (has_indices) {
    PAL_TRY(indices, PackedResult::For(call.results[1], DType::kI64));
  }
  PoolLargest(windows, input, output.tensor(), indices.tensor());
  if (has_indices) PAL_TRY(indices.Store());
  return output.Store();
}

const PoolingForm kForms[] = {
    {.schema = "aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
               "padding=0, int[1] dilation=1, bool ceil_mode=False) -> Tensor",
     .dims = 1,
     .largest = true,
     .adaptive = false,
     .layout = Layout::kContiguous},
    {.schema = "aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], "
               "int[1] padding=0, int[1] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     .dims = 1,
     .largest = true,
     .adaptive = false,
     .layout = Layout::kSuggested},
    {.schema = "aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
               "padding=0, bool ceil_mode=False, bool count_include_pad=True) -> Tensor",
     .dims = 1,
     .largest = false,
     .adaptive = false,
     .layout = Layout::kSuggested},
    {.schema = "aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
     .dims = 1,
     .largest = false,
     .adaptive = true,
     .layout = Layout::kSuggested},
    {.schema = "aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)",
     .dims = 1,
     .largest = true,
     .adaptive = true,
     .layout = Layout::kSuggested},
    {.schema = "aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
               "padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor",
     .dims = 2,
     .largest = true,
     .adaptive = false,
     .layout = Layout::kSuggested},
    {.schema = "aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], "
               "int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     .dims = 2,
     .largest = true,
     .adaptive = false,
     .layout = Layout::kSuggested},
    {.schema =
         "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
         "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
     .dims = 2,
     .largest = false,
     .adaptive = false,
     .layout = Layout::kSuggested},
    {.schema = "aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
     .dims = 2,
     .largest = false,
     .adaptive = true,
     .layout = Layout::kSuggested},
    {.schema = "aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
     .dims = 2,
     .largest = false,
     .adaptive = true,
     .layout = Layout::kSuggested},
    {.schema = "aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)",
     .dims = 2,
     .largest = true,
     .adaptive = true,
     .layout = Layout::kSuggested},
    {.schema = "aten::max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] "
               "padding=0, int[3] dilation=1, bool ceil_mode=False) -> Tensor",
     .dims = 3,
     .largest = true,
     .adaptive = false,
     .layout = Layout::kSuggested},
    {.schema = "aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], "
               "int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     .dims = 3,
     .largest = true,
     .adaptive = false,
     .layout = Layout::kSuggested},
    {.schema =
         "aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "
         "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
     .dims = 3,
     .largest = false,
     .adaptive = false,
     .layout = Layout::kContiguous},
    {.schema = "aten::adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
     .dims = 3,
     .largest = false,
     .adaptive = true,
     .layout = Layout::kOneIfAllOne},
    {.schema = "aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
     .dims = 3,
     .largest = false,
     .adaptive = true,
     .layout = Layout::kContiguous},
    {.schema = "aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)",
     .dims = 3,
     .largest = true,
     .adaptive = true,
     .layout = Layout::kContiguous},
};

}  // namespace

Status RegisterPooling(op::OpTable& table) {
  std::vector<BuiltinRow> rows;
  for (const PoolingForm& form : kForms) {
    rows.push_back({.schema = form.schema,
                    .meta = [&form](MetaCall& call) { return PoolingMeta(form, call); },
                    .kernel = [&form](KernelCall& call) { return PoolingKernel(form, call); }});
  }
  return RegisterBuiltinRows(table, std::move(rows));
}

}  // namespace palimpsest::kernels
