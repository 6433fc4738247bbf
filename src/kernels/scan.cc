// Running sums, products and extremes along one dim. Results are contiguous.
#include <fmt/format.h>
#include <cmath>

#include "kernels/copy_cast.h"
#include "kernels/reduce.h"
#include "kernels/reduce_dims.h"
#include "op/op.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

enum class Scan : uint8_t { kSum, kProduct, kLogSumExp, kMax, kMin };

// One line of n elements, converted to A on the way in and from A on the way out. Element i is read
// before element i is written, and nothing earlier is read again: the output may lie on the input.
template <typename A, Scan kScan>
class Line {
 public:
  void Step(A x) {
    if constexpr (kScan == Scan::kSum) {
      value_ = first_ ? x : static_cast<A>(Wide(value_) + Wide(x));
    } else if constexpr (kScan == Scan::kProduct) {
      value_ = first_ ? x : static_cast<A>(Wide(value_) * Wide(x));
    } else if constexpr (kScan == Scan::kLogSumExp) {
      value_ = first_ ? x : LogAdd(value_, x);
    } else {
      // Later equal ones and nan take over, as in PyTorch.
      bool takes = first_ || x != x ||
                   (value_ == value_ && (kScan == Scan::kMax ? x >= value_ : x <= value_));
      if (takes) {
        value_ = x;
        index_ = position_;
      }
    }
    first_ = false;
    ++position_;
  }
  const A& value() const { return value_; }
  const int64_t& index() const { return index_; }

 private:
  // Integers wrap.
  using W = std::conditional_t<std::is_integral_v<A>, uint64_t, A>;
  static W Wide(A x) { return static_cast<W>(x); }
  static A LogAdd(A x, A y) {
    if constexpr (std::is_floating_point_v<A>) {
      A most = std::max(x, y), least = std::min(x, y);
      return most == least && std::isinf(most) ? most : most + std::log1p(std::exp(least - most));
    } else {
      return x;
    }
  }
  A value_{};
  int64_t index_ = 0, position_ = 0;
  bool first_ = true;
};

struct ScanTypes {
  DType through;  // the elements are converted to this type first
  DType loop;
};

template <typename A, Scan kScan>
void ScanLine(const Tensor& input, const std::byte* from, const Tensor& output, std::byte* to,
              const Tensor* indices, std::byte* index_to, size_t dim, const ScanTypes& types) {
  CastFn in = FindCast(types.through, input.dtype), widen = FindCast(types.loop, types.through);
  CastFn out = FindCast(output.dtype, types.loop);
  int64_t n = input.dim() == 0 ? 1 : input.sizes[dim];
  int64_t step = input.dim() == 0 ? 0 : input.strides[dim] * input.item_size();
  int64_t out_step = input.dim() == 0 ? 0 : output.strides[dim] * output.item_size();
  Line<A, kScan> line;
  for (int64_t i = 0; i < n; ++i) {
    alignas(16) std::byte through[16];
    A x;
    in(through, 0, from + i * step, 0, 1);
    widen(reinterpret_cast<std::byte*>(&x), 0, through, 0, 1);
    line.Step(x);
    out(to + i * out_step, 0, reinterpret_cast<const std::byte*>(&line.value()), 0, 1);
    if (indices != nullptr) {
      int64_t index_step = input.dim() == 0 ? 0 : indices->strides[dim] * indices->item_size();
      *reinterpret_cast<int64_t*>(index_to + i * index_step) = line.index();
    }
  }
}

template <Scan kScan>
auto FindLine(DType loop) -> decltype(&ScanLine<double, kScan>) {
  switch (loop) {
    case DType::kI64:
      return ScanLine<int64_t, kScan>;
    case DType::kF64:
      return ScanLine<double, kScan>;
    case DType::kC128:
      if constexpr (kScan == Scan::kSum || kScan == Scan::kProduct) {
        return ScanLine<std::complex<double>, kScan>;
      }
      return nullptr;
    default:
      return nullptr;
  }
}

DType LoopOf(DType dtype) {
  if (IsIntegral(dtype)) return DType::kI64;
  return IsComplex(dtype) ? DType::kC128 : DType::kF64;
}

template <Scan kScan>
Status RunScan(const Tensor& input, int64_t wrapped_dim, DType through, const Tensor& output,
               const Tensor* indices) {
  if (input.numel() == 0) return {};
  size_t dim = static_cast<size_t>(wrapped_dim);
  ScanTypes types{through, LoopOf(through)};
  auto run = FindLine<kScan>(types.loop);
  // Every position of the other dims, as an iteration over views whose size along `dim` is 1.
  View from = input.view(), to = output.view(), at = indices != nullptr ? indices->view() : to;
  if (input.dim() > 0) from.sizes[dim] = to.sizes[dim] = at.sizes[dim] = 1;
  IteratorConfig config = IteratorConfig::Walk();
  config.AddOutput(to).AddInput(from).AddInput(at);
  PAL_TRY(Iteration iteration, Iteration::Build(config));
  std::byte* bases[] = {output.data(), input.data(),
                        indices != nullptr ? indices->data() : output.data()};
  iteration.ForEach(bases, [&](std::byte* const* p, const int64_t* s, int64_t n0, int64_t n1) {
    for (int64_t j = 0; j < n1; ++j) {
      for (int64_t i = 0; i < n0; ++i) {
        run(input, p[1] + j * s[4] + i * s[1], output, p[0] + j * s[3] + i * s[0], indices,
            p[2] + j * s[5] + i * s[2], dim, types);
      }
    }
  });
  return {};
}

DType GivenType(std::span<const Value> args, DType otherwise) {
  return args.size() > 2 ? args[2].ToOptionalDType().value_or(otherwise) : otherwise;
}

// cumsum and its kin: integers give i64 unless a type is asked for.
Result<DType> ResultType(std::span<const Value> args, bool keeps_type) {
  DType self = args[0].tensor().dtype;
  if (keeps_type) return self;
  return GivenType(args, IsIntegral(self) ? DType::kI64 : self);
}

template <Scan kScan>
Status ScanMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  constexpr bool kKeepsType =
      kScan == Scan::kLogSumExp || kScan == Scan::kMax || kScan == Scan::kMin;
  PAL_TRY(WrapDim(call.args[1].ToInt(), self.dim()));
  PAL_TRY(DType type, ResultType(call.args, kKeepsType));
  if (FindLine<kScan>(LoopOf(type)) == nullptr || (kScan == Scan::kLogSumExp && IsIntegral(type)) ||
      (!kKeepsType && type == DType::kB8)) {
    return Refused("unsupported_dtype", fmt::format("{} is not implemented for {}",
                                                    call.op.schema.Key(), TorchName(type)));
  }
  call.results.push_back(ResultSpec::Fresh(type, self.sizes));
  if (call.op.schema.returns.size() == 2) {
    call.results.push_back(ResultSpec::Fresh(DType::kI64, self.sizes));
  }
  return {};
}

template <Scan kScan>
Status ScanKernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(int64_t dim, WrapDim(call.args[1].ToInt(), self.dim()));
  const Tensor* indices = call.results.size() == 2 ? &call.results[1] : nullptr;
  return RunScan<kScan>(self, dim, call.results[0].dtype, call.results[0], indices);
}

// In place the type stays that of self, and another one may not be asked for.
Status InPlaceMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(WrapDim(call.args[1].ToInt(), self.dim()));
  if (DType asked = GivenType(call.args, self.dtype); asked != self.dtype) {
    return Refused(
        "dtype_mismatch",
        fmt::format("Bad in-place call: input tensor dtype {} and output tensor dtype {} "
                    "should match",
                    TorchName(self.dtype), TorchName(asked)));
  }
  if (self.dtype == DType::kB8 && self.dim() > 0) {
    return Refused("unsupported_dtype",
                   fmt::format("{} is not implemented for bool", call.op.schema.Key()));
  }
  PAL_TRY(CheckInternalOverlap(self));
  call.results.push_back(ResultSpec::Same(0));
  return {};
}

template <Scan kScan>
Status InPlaceKernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(int64_t dim, WrapDim(call.args[1].ToInt(), self.dim()));
  return RunScan<kScan>(self, dim, self.dtype, self, nullptr);
}

template <Scan kScan>
Status RegisterScan(
    op::OpTable& table, const std::string& name, bool in_place,
    const char* rest = "(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor") {
  op::Op op;
  PAL_TRY(op.schema, op::ParseSchema("aten::" + name + rest));
  op.meta = ScanMeta<kScan>;
  op.kernel = ScanKernel<kScan>;
  std::string key = op.schema.Key();
  PAL_TRY(table.Register(std::move(op)));
  if (!in_place) return {};
  op::Op writes;
  PAL_TRY(writes.schema,
          op::ParseSchema(fmt::format("aten::{}_(Tensor(a!) self, int dim, *, ScalarType? "
                                      "dtype=None) -> Tensor(a!)",
                                      name)));
  writes.functional = key;
  writes.meta = InPlaceMeta;
  writes.kernel = InPlaceKernel<kScan>;
  return table.Register(std::move(writes));
}

constexpr const char* kWithIndices = "(Tensor self, int dim) -> (Tensor values, Tensor indices)";

}  // namespace

Status RegisterScans(op::OpTable& table) {
  PAL_TRY(RegisterScan<Scan::kSum>(table, "cumsum", true));
  PAL_TRY(RegisterScan<Scan::kProduct>(table, "cumprod", true));
  PAL_TRY(RegisterScan<Scan::kLogSumExp>(table, "logcumsumexp", false,
                                         "(Tensor self, int dim) -> Tensor"));
  PAL_TRY(RegisterScan<Scan::kMax>(table, "cummax", false, kWithIndices));
  return RegisterScan<Scan::kMin>(table, "cummin", false, kWithIndices);
}

}  // namespace palimpsest::kernels
