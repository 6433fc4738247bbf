// batch_norm and instance_norm: moments of a channel, over the batch or of each sample, or running
// ones.
//
// In training the running moments are arguments that are written: _native_batch_norm_legit says so
// in its schema. batch_norm and native_batch_norm write them without saying it; they are served
// only where they do not (evaluation, or no running moments).
#include <fmt/format.h>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/norm.h"
#include "kernels/norm_moments.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

struct BatchArgs {
  const Tensor& input;
  const Value& weight;
  const Value& bias;
  Value running_mean, running_var;
  bool training;
  double momentum, eps;
};

Value Optional(const op::Op& op, std::span<const Value> args, std::string_view name) {
  int i = op.schema.FindArg(name);
  return i < 0 ? Value() : args[static_cast<size_t>(i)];
}

BatchArgs ArgsOf(const op::Op& op, std::span<const Value> args) {
  Value training = Optional(op, args, "training");
  if (training.IsNone()) training = Optional(op, args, "use_input_stats");
  return {args[0].tensor(),
          Argument(op, args, "weight"),
          Argument(op, args, "bias"),
          Optional(op, args, "running_mean"),
          Optional(op, args, "running_var"),
          !training.IsNone() && training.ToBool(),
          Argument(op, args, "momentum").ToDouble(),
          Argument(op, args, "eps").ToDouble()};
}

bool IsInstanceNorm(const op::Op& op) { return op.schema.name == "instance_norm"; }
bool DeclaresWrites(const op::Op& op) {
  return op.schema.WritesAnything() || op.schema.returns.size() > 3;
}

Status CheckParameter(const char* name, const Value& value, int64_t channels) {
  if (!value.IsTensor()) return {};
  const Dims& sizes = value.tensor().sizes;
  if (sizes.size() == 1 && sizes[0] == channels) return {};
  return Refused("size_mismatch", fmt::format("{} should contain {} elements not {}", name,
                                              channels, value.tensor().numel()));
}

Status CheckBatchNorm(const MetaCall& call, const BatchArgs& args) {
  if (args.input.dim() < 2) {
    return Refused("size_mismatch", fmt::format("{}: expected at least 2 dims, got sizes {}",
                                                call.op.schema.Key(), ToString(args.input.sizes)));
  }
  int64_t channels = args.input.sizes[1];
  PAL_TRY(CheckParameter("weight", args.weight, channels));
  PAL_TRY(CheckParameter("bias", args.bias, channels));
  PAL_TRY(CheckParameter("running_mean", args.running_mean, channels));
  PAL_TRY(CheckParameter("running_var", args.running_var, channels));
  bool has_running = args.running_mean.IsTensor() && args.running_var.IsTensor();
  if (!args.training && !has_running) {
    return Refused("bad_argument",
                   "running_mean and running_var must be defined in evaluation mode");
  }
  if (args.training && has_running && !DeclaresWrites(call.op)) {
    return Unsupported(fmt::format(
        "{} in training writes its running moments without declaring it; export the program in "
        "evaluation mode, or run its decompositions, which use _native_batch_norm_legit",
        call.op.schema.Key()));
  }
  return CheckNormTypes(call, args.input,
                        {&args.weight, &args.bias, &args.running_mean, &args.running_var});
}

Status BatchNormMeta(MetaCall& call) {
  BatchArgs args = ArgsOf(call.op, call.args);
  PAL_TRY(CheckBatchNorm(call, args));
  MemoryFormat format =
      IsInstanceNorm(call.op) ? MemoryFormat::kContiguous : SuggestedFormat(args.input);
  PAL_TRY(View view, CopyLayout(args.input, format));
  call.results.push_back(ResultSpec::Fresh(view));
  size_t returns = call.op.schema.returns.size();
  if (returns == 1) return {};
  Dims saved = {args.training ? args.input.sizes[1] : 0};
  DType moments = MomentType(args.input, {&args.weight, &args.bias, &args.running_mean});
  call.results.push_back(ResultSpec::Fresh(moments, saved));
  call.results.push_back(ResultSpec::Fresh(moments, saved));
  for (size_t i = 3; i < returns; ++i) {
    const Value& running = i == 3 ? args.running_mean : args.running_var;
    call.results.push_back(ResultSpec::Fresh(running.tensor().dtype, running.tensor().sizes));
  }
  return {};
}

struct BatchShape {
  int64_t samples, channels, spatial = 1;
};
BatchShape ShapeOf(const Tensor& input) {
  BatchShape shape{input.sizes[0], input.sizes[1]};
  for (size_t d = 2; d < input.dim(); ++d) shape.spatial *= input.sizes[d];
  return shape;
}

// Moments of one channel over `samples` samples, beginning at x.
template <typename T>
Moments ChannelMoments(const T* x, const BatchShape& shape, int64_t samples) {
  int64_t sample_step = shape.channels * shape.spatial;
  double count = static_cast<double>(samples * shape.spatial);
  double sum = 0;
  for (int64_t s = 0; s < samples; ++s) {
    for (int64_t i = 0; i < shape.spatial; ++i) sum += static_cast<double>(x[s * sample_step + i]);
  }
  double mean = sum / count, squares = 0;
  for (int64_t s = 0; s < samples; ++s) {
    for (int64_t i = 0; i < shape.spatial; ++i) {
      double distance = static_cast<double>(x[s * sample_step + i]) - mean;
      squares += distance * distance;
    }
  }
  return {mean, squares / count};
}

template <typename T>
struct ChannelScale {
  T mean, factor, bias;
};

template <typename T>
class BatchNorm {
 public:
  static Result<BatchNorm> Prepare(KernelCall& call, const BatchArgs& args, DType type) {
    BatchNorm norm;
    norm.shape_ = ShapeOf(args.input);
    norm.eps_ = args.eps;
    PAL_TRY(norm.x_, Packed(args.input, type));
    PAL_TRY(norm.weight_, NormParameter::Of(args.weight, type));
    PAL_TRY(norm.bias_, NormParameter::Of(args.bias, type));
    PAL_TRY(norm.mean_, NormParameter::Of(args.running_mean, type));
    PAL_TRY(norm.var_, NormParameter::Of(args.running_var, type));
    PAL_TRY(norm.y_, PackedResult::For(call.results[0], type));
    return norm;
  }

  const BatchShape& shape() const { return shape_; }
  Moments MomentsOfBatch(int64_t channel) const {
    return ChannelMoments(x_.data_as<T>() + channel * shape_.spatial, shape_, shape_.samples);
  }
  Moments MomentsOfSample(int64_t sample, int64_t channel) const {
    int64_t begin = (sample * shape_.channels + channel) * shape_.spatial;
    return ChannelMoments(x_.data_as<T>() + begin, shape_, 1);
  }
  Moments RunningMoments(int64_t channel) const {
    return {static_cast<double>(mean_.template data<T>()[channel]),
            static_cast<double>(var_.template data<T>()[channel])};
  }
  void Write(int64_t sample, int64_t channel, const Moments& moments) const {
    const T* weight = weight_.template data<T>();
    const T* bias = bias_.template data<T>();
    T factor = static_cast<T>(1 / std::sqrt(moments.variance + eps_));
    if (weight != nullptr) factor *= weight[channel];
    T add = bias == nullptr ? T(0) : bias[channel];
    T mean = static_cast<T>(moments.mean);
    int64_t begin = (sample * shape_.channels + channel) * shape_.spatial;
    const T* from = x_.data_as<T>() + begin;
    T* to = y_.template data<T>() + begin;
    for (int64_t i = 0; i < shape_.spatial; ++i) to[i] = (from[i] - mean) * factor + add;
  }
  Status Store() const { return y_.Store(); }

 private:
  BatchShape shape_{};
  double eps_ = 0;
  Tensor x_;
  NormParameter weight_, bias_, mean_, var_;
  PackedResult y_;
};

template <typename T>
Status InstanceNormKernel(KernelCall& call, const BatchArgs& args, DType type) {
  PAL_TRY(BatchNorm<T> norm, BatchNorm<T>::Prepare(call, args, type));
  for (int64_t s = 0; s < norm.shape().samples; ++s) {
    for (int64_t c = 0; c < norm.shape().channels; ++c) {
      norm.Write(s, c, args.training ? norm.MomentsOfSample(s, c) : norm.RunningMoments(c));
    }
  }
  return norm.Store();
}

// Saved and running moments as arrays of doubles, one per channel.
struct MomentArrays {
  Tensor mean, inverse, unbiased;
};

// running = (1 - momentum) * running + momentum * of the batch.
Status UpdateRunning(const Tensor& batch, const Tensor& old, double momentum, const Tensor& out) {
  PAL_TRY(Tensor packed, Packed(old, DType::kF64));
  PAL_TRY(Tensor updated, EmptyTensor(DType::kF64, old.sizes));
  for (int64_t c = 0; c < batch.numel(); ++c) {
    updated.data_as<double>()[c] =
        (1 - momentum) * packed.data_as<double>()[c] + momentum * batch.data_as<double>()[c];
  }
  return CopyTo(updated, out);
}

Status StoreMoments(KernelCall& call, const BatchArgs& args, const MomentArrays& moments) {
  if (call.results.size() > 1 && args.training) {
    PAL_TRY(CopyTo(moments.mean, call.results[1]));
    PAL_TRY(CopyTo(moments.inverse, call.results[2]));
  }
  bool functional = call.results.size() > 3;
  if (!args.training) {
    if (!functional) return {};
    PAL_TRY(CopyTo(args.running_mean.tensor(), call.results[3]));
    return CopyTo(args.running_var.tensor(), call.results[4]);
  }
  if (!DeclaresWrites(call.op) || !args.running_mean.IsTensor()) return {};
  const Tensor& mean = args.running_mean.tensor();
  const Tensor& variance = args.running_var.tensor();
  PAL_TRY(UpdateRunning(moments.mean, mean, args.momentum, functional ? call.results[3] : mean));
  return UpdateRunning(moments.unbiased, variance, args.momentum,
                       functional ? call.results[4] : variance);
}

template <typename T>
Status BatchNormKernel(KernelCall& call, const BatchArgs& args, DType type) {
  PAL_TRY(BatchNorm<T> norm, BatchNorm<T>::Prepare(call, args, type));
  const BatchShape& shape = norm.shape();
  Dims channels = {shape.channels};
  MomentArrays arrays;
  PAL_TRY(arrays.mean, EmptyTensor(DType::kF64, channels));
  PAL_TRY(arrays.inverse, EmptyTensor(DType::kF64, channels));
  PAL_TRY(arrays.unbiased, EmptyTensor(DType::kF64, channels));
  double count = static_cast<double>(shape.samples * shape.spatial);
  for (int64_t c = 0; c < shape.channels; ++c) {
    Moments moments = args.training ? norm.MomentsOfBatch(c) : norm.RunningMoments(c);
    arrays.mean.data_as<double>()[c] = moments.mean;
    arrays.inverse.data_as<double>()[c] = 1 / std::sqrt(moments.variance + args.eps);
    arrays.unbiased.data_as<double>()[c] = moments.variance * count / (count - 1);
    for (int64_t s = 0; s < shape.samples; ++s) norm.Write(s, c, moments);
  }
  PAL_TRY(norm.Store());
  return StoreMoments(call, args, arrays);
}

Status Kernel(KernelCall& call) {
  BatchArgs args = ArgsOf(call.op, call.args);
  DType type = ComputeType(args.input.dtype);
  bool is_double = type == DType::kF64;
  if (IsInstanceNorm(call.op)) {
    return is_double ? InstanceNormKernel<double>(call, args, type)
                     : InstanceNormKernel<float>(call, args, type);
  }
  return is_double ? BatchNormKernel<double>(call, args, type)
                   : BatchNormKernel<float>(call, args, type);
}

const char* const kSchemas[] = {
    "aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
    "running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
    "aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
    "Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    "aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) "
    "running_mean, Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, "
    "Tensor, Tensor)",
    "aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool "
    "training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor "
    "running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    "aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor "
    "running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor, "
    "Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)",
    "aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
    "running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
};

}  // namespace

Status RegisterBatchNorms(op::OpTable& table) {
  std::vector<BuiltinRow> rows;
  for (const char* schema : kSchemas) {
    rows.push_back({.schema = schema, .meta = BatchNormMeta, .kernel = Kernel});
  }
  return RegisterBuiltinRows(table, std::move(rows));
}

}  // namespace palimpsest::kernels
