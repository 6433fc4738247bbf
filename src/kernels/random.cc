// The generator, and the operators that fill tensors with random numbers.
//
// Note [Order of draws]: PyTorch draws for the elements in the order of its iterator, which goes by
// the strides of the tensor that is filled: memory order where it is dense. A result of ours may be
// placed with other strides, so the order comes from the layout that eager would fill.
#include "kernels/random.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/copy_cast.h"
#include "kernels/factories.h"
#include "kernels/random_draw.h"
#include "palimpsest/iterator.h"

namespace palimpsest::op {

// MT19937, M. Matsumoto and T. Nishimura, 1998.
void Generator::Seed(uint64_t seed) {
  auto x = static_cast<uint32_t>(seed);
  for (size_t i = 0; i < state_.size(); ++i) {
    state_[i] = x;
    x = 1812433253u * (x ^ (x >> 30)) + static_cast<uint32_t>(i) + 1;
  }
  next_ = state_.size();
  next_normal_.reset();
}

void Generator::Refill() {
  constexpr size_t kMiddle = 397;
  size_t n = state_.size();
  for (size_t i = 0; i < n; ++i) {
    uint32_t y = (state_[i] & 0x80000000u) | (state_[(i + 1) % n] & 0x7fffffffu);
    state_[i] = state_[(i + kMiddle) % n] ^ (y >> 1) ^ ((y & 1) != 0 ? 0x9908b0dfu : 0u);
  }
  next_ = 0;
}

uint32_t Generator::Draw32() {
  if (next_ >= state_.size()) Refill();
  uint32_t y = state_[next_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

uint64_t Generator::Draw64() {
  uint64_t high = Draw32();
  return (high << 32) | Draw32();
}

float Generator::Uniform32() { return static_cast<float>(Draw32() & 0xffffffu) * 0x1p-24f; }
double Generator::Uniform64() {
  return static_cast<double>(Draw64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
}

// Box and Muller's pair: the cosine first, the sine for the next call.
double Generator::Normal() {
  if (next_normal_) {
    double value = *next_normal_;
    next_normal_.reset();
    return value;
  }
  double angle = 2 * std::numbers::pi * Uniform64();
  double radius = std::sqrt(-2 * std::log1p(-Uniform64()));
  next_normal_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

}  // namespace palimpsest::op

namespace palimpsest::kernels {

Status DrawInto(const Tensor& result, const View& order,
                const std::function<Scalar(const std::byte* at)>& draw) {
  if (result.numel() == 0) return {};
  View reference = order;
  reference.dtype = result.dtype;  // one size of element for all
  IteratorConfig config = IteratorConfig::Walk();
  config.AddOutput(reference).AddInput(result.view());
  PAL_TRY(Iteration iteration, Iteration::Build(config));
  std::byte* bases[] = {result.data(), result.data()};  // the first is never looked at
  iteration.ForEach(bases, [&](std::byte* const* p, const int64_t* s, int64_t n0, int64_t n1) {
    for (int64_t j = 0; j < n1; ++j) {
      for (int64_t i = 0; i < n0; ++i) {
        std::byte* to = p[1] + j * s[3] + i * s[1];
        StoreNumber(draw(to), result.dtype, to);
      }
    }
  });
  return {};
}

double DrawUniform(op::Generator& generator, DType dtype) {
  return dtype == DType::kF64 ? generator.Uniform64() : static_cast<double>(generator.Uniform32());
}

namespace {

using op::Generator;
using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

bool HasTensor(std::span<const Value> args) { return !args.empty() && args[0].IsTensor(); }

// The layout whose order the draws follow: self's for updates of self, the copy's for *_like, row
// by row for factories.
View OrderOf(const KernelCall& call) {
  const Tensor& result = call.results[0];
  if (!HasTensor(call.args)) return ContiguousView(result.dtype, result.sizes);
  View order = call.args[0].tensor().view();
  if (call.op.schema.name.ends_with("_like")) order.strides = PreserveStrides(order);
  order.dtype = result.dtype;
  return order;
}

Status RefuseType(const op::Op& op, DType dtype) {
  return Refused("unsupported_dtype",
                 fmt::format("\"{}\" not implemented for '{}'", op.schema.name, TorchName(dtype)));
}

// A factory with sizes, or something like self.
Status NewMeta(MetaCall& call, DType otherwise, bool floats_only) {
  PAL_TRY(CheckFactoryOptions(call));
  View view;
  if (HasTensor(call.args)) {
    const Value& format = Argument(call.op, call.args, "memory_format");
    PAL_TRY(view, CopyLayout(call.args[0].tensor(),
                             format.ToOptionalMemoryFormat().value_or(MemoryFormat::kPreserve)));
    view.dtype = TypeAsked(call.op, call.args, view.dtype);
  } else {
    Dims sizes = Argument(call.op, call.args, "size").ToDims();
    PAL_TRY(CheckSizes(sizes));
    view = ContiguousView(TypeAsked(call.op, call.args, otherwise), sizes);
  }
  if (IsComplex(view.dtype)) return Unsupported("random complex numbers");
  if (floats_only && !IsFloating(view.dtype)) return RefuseType(call.op, view.dtype);
  call.results.push_back(ResultSpec::Fresh(std::move(view)));
  return {};
}

// What an update of self becomes as a function: self's type, the layout of a copy.
Status UpdateMeta(MetaCall& call, bool floats_only) {
  const Tensor& self = call.args[0].tensor();
  if (IsComplex(self.dtype)) return Unsupported("random complex numbers");
  if (floats_only && !IsFloating(self.dtype)) return RefuseType(call.op, self.dtype);
  PAL_TRY(View view, CopyLayout(self, MemoryFormat::kPreserve));
  call.results.push_back(ResultSpec::Fresh(std::move(view)));
  return {};
}

Status RandMeta(MetaCall& call) { return NewMeta(call, DType::kF32, true); }

Status RandKernel(KernelCall& call) {
  DrawSource source(call);
  DType dtype = call.results[0].dtype;
  return DrawInto(call.results[0], OrderOf(call),
                  [&](const std::byte*) { return Scalar::Float(DrawUniform(*source, dtype)); });
}

Status UniformMeta(MetaCall& call) {
  if (call.args[1].ToDouble() > call.args[2].ToDouble()) {
    return Refused("bad_argument", "uniform_ expects to return a [from, to) range, but from > to");
  }
  return UpdateMeta(call, true);
}

Status UniformKernel(KernelCall& call) {
  DrawSource source(call);
  DType dtype = call.results[0].dtype;
  double from = call.args[1].ToDouble(), to = call.args[2].ToDouble();
  return DrawInto(call.results[0], OrderOf(call), [&](const std::byte*) {
    if (dtype == DType::kF64) return Scalar::Float(source->Uniform64() * (to - from) + from);
    auto low = static_cast<float>(from), high = static_cast<float>(to);
    return Scalar::Float(static_cast<double>(source->Uniform32() * (high - low) + low));
  });
}

// ---- Integers.

struct Bounds {
  int64_t low, high;
};
Bounds BoundsOf(const op::Op& op, std::span<const Value> args) {
  int low = op.schema.FindArg("low");
  return {low < 0 ? 0 : args[static_cast<size_t>(low)].ToInt(), Argument(op, args, "high").ToInt()};
}

Status RandintMeta(MetaCall& call) {
  Bounds b = BoundsOf(call.op, call.args);
  if (b.low >= b.high) {
    return Refused("bad_argument",
                   fmt::format("random_ expects 'from' to be less than 'to', but got from={} >= "
                               "to={}",
                               b.low, b.high));
  }
  return NewMeta(call, DType::kI64, false);
}

int64_t DrawInteger(Generator& generator, const Bounds& b) {
  uint64_t range = static_cast<uint64_t>(b.high) - static_cast<uint64_t>(b.low);
  uint64_t draw = range >= (uint64_t{1} << 32) ? generator.Draw64() : generator.Draw32();
  return static_cast<int64_t>(draw % range + static_cast<uint64_t>(b.low));
}

Status RandintKernel(KernelCall& call) {
  DrawSource source(call);
  Bounds b = BoundsOf(call.op, call.args);
  return DrawInto(call.results[0], OrderOf(call),
                  [&](const std::byte*) { return Scalar::Int(DrawInteger(*source, b)); });
}

Status RandpermMeta(MetaCall& call) {
  PAL_TRY(CheckFactoryOptions(call));
  int64_t n = call.args[0].ToInt();
  if (n < 0) return Refused("negative_size", fmt::format("n must be non-negative, got {}", n));
  call.results.push_back(ResultSpec::Fresh(TypeAsked(call.op, call.args, DType::kI64), Dims{n}));
  return {};
}

// Fisher and Yates, from the front.
Status RandpermKernel(KernelCall& call) {
  DrawSource source(call);
  const Tensor& result = call.results[0];
  std::vector<int64_t> order(static_cast<size_t>(result.numel()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    std::swap(order[i], order[i + source->Draw32() % (order.size() - i)]);
  }
  auto next = order.begin();
  return DrawInto(result, ContiguousView(result.dtype, result.sizes),
                  [&](const std::byte*) { return Scalar::Int(*next++); });
}

// ---- Bernoulli: 1 with probability p.

Status CheckProbability(double p) {
  if (p >= 0 && p <= 1) return {};
  return Refused("bad_argument",
                 fmt::format("bernoulli_ expects p to be in [0, 1], but got p={}", p));
}

Status BernoulliNumberMeta(MetaCall& call) {
  PAL_TRY(CheckProbability(call.args[1].ToDouble()));
  return UpdateMeta(call, false);
}
Status BernoulliNumberKernel(KernelCall& call) {
  DrawSource source(call);
  double p = call.args[1].ToDouble();
  return DrawInto(call.results[0], OrderOf(call),
                  [&](const std::byte*) { return Scalar::Int(source->Uniform64() < p ? 1 : 0); });
}

Status BernoulliMeta(MetaCall& call) { return UpdateMeta(call, true); }

// The probabilities are self's elements, compared in self's type. Out of range ones are refused
// before anything is drawn.
Status BernoulliKernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(Tensor p, EmptyTensor(View{self.dtype, self.sizes, PreserveStrides(self), 0}));
  PAL_TRY(CopyTo(self, p));
  bool out_of_range = false;
  PAL_TRY(DrawInto(p, p.view(), [&](const std::byte* at) {
    Scalar number = LoadNumber(p.dtype, at);
    out_of_range = out_of_range || !(number.AsDouble() >= 0 && number.AsDouble() <= 1);
    return number;
  }));
  if (out_of_range)
    return RuntimeFailure("Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
  DrawSource source(call);
  PAL_TRY(DrawInto(p, p.view(), [&](const std::byte* at) {
    double draw = DrawUniform(*source, p.dtype);
    return Scalar::Int(draw < LoadNumber(p.dtype, at).AsDouble() ? 1 : 0);
  }));
  return CopyTo(p, call.results[0]);
}

// ---- Normal numbers.

// Blocks of 16 from uniform numbers: eight radii, eight angles.
template <typename T>
void NormalBlock(T* x) {
  for (int i = 0; i < 8; ++i) {
    T radius = std::sqrt(T(-2) * std::log(T(1) - x[i]));
    T angle = T(2) * static_cast<T>(std::numbers::pi) * x[i + 8];
    x[i] = radius * std::cos(angle);
    x[i + 8] = radius * std::sin(angle);
  }
}

template <typename T>
void FillNormal(Generator& generator, std::span<T> x) {
  auto uniform = [&]() -> T {
    if constexpr (sizeof(T) == 8) {
      return generator.Uniform64();
    } else {
      return generator.Uniform32();
    }
  };
  for (T& v : x) v = uniform();
  for (size_t i = 0; i + 16 <= x.size(); i += 16) NormalBlock(&x[i]);
  if (x.size() % 16 == 0) return;
  // The last block is drawn anew, over the end.
  T* last = &x[x.size() - 16];
  for (int i = 0; i < 16; ++i) last[i] = uniform();
  NormalBlock(last);
}

struct Moments {
  double mean = 0, std = 1;
};

// `packed`: eager fills contiguous memory, by blocks; else one number at a time.
Status DrawNormal(Generator& generator, const Tensor& result, const View& order, bool packed,
                  const Moments& moments) {
  auto n = static_cast<size_t>(result.numel());
  if (!packed || n < 16) {
    return DrawInto(result, order, [&](const std::byte*) {
      return Scalar::Float(generator.Normal() * moments.std + moments.mean);
    });
  }
  size_t next = 0;
  if (result.dtype == DType::kF64) {
    std::vector<double> x(n);
    FillNormal<double>(generator, x);
    return DrawInto(result, order, [&](const std::byte*) {
      return Scalar::Float(x[next++] * moments.std + moments.mean);
    });
  }
  std::vector<float> x(n);
  FillNormal<float>(generator, x);
  return DrawInto(result, order, [&](const std::byte*) {
    float value = x[next++] * static_cast<float>(moments.std) + static_cast<float>(moments.mean);
    return Scalar::Float(static_cast<double>(value));
  });
}

Status RandnKernel(KernelCall& call) {
  DrawSource source(call);
  View order = OrderOf(call);
  return DrawNormal(*source, call.results[0], order, IsContiguous(order), {});
}

Status NormalMeta(MetaCall& call) {
  if (call.args[2].ToDouble() < 0) {
    return Refused("bad_argument", fmt::format("normal expects std >= 0.0, but found std {}",
                                               call.args[2].ToDouble()));
  }
  return UpdateMeta(call, true);
}
Status NormalKernel(KernelCall& call) {
  DrawSource source(call);
  View order = OrderOf(call);
  return DrawNormal(*source, call.results[0], order, IsContiguous(order),
                    {call.args[1].ToDouble(), call.args[2].ToDouble()});
}

// ---- Registration.

op::Traits RandomTraits(bool reads_self) {
  op::Traits traits;
  traits.random = true;
  if (!reads_self) traits.metadata_only = 1;
  return traits;
}

// A factory in its two overloads: without and with a generator argument.
void AddFactory(std::vector<BuiltinRow>& rows, std::string_view name, std::string_view overload,
                std::string_view args, bool like, op::MetaFn meta, op::KernelFn kernel) {
  std::string options = kFactoryOptions;
  if (like) options += ", MemoryFormat? memory_format=None";
  std::string plain = overload.empty() ? "" : fmt::format(".{}", overload);
  std::string with = overload.empty() ? ".generator" : fmt::format(".{}_generator", overload);
  if (like && overload == "low_dtype") with = ".low_generator_dtype";
  for (bool generator : {false, true}) {
    rows.push_back({fmt::format("aten::{}{}({}, *, {}{}) -> Tensor", name, generator ? with : plain,
                                args, generator ? "Generator? generator, " : "", options),
                    meta, kernel, RandomTraits(!like)});
  }
}

void AddUpdate(std::vector<BuiltinRow>& rows, std::string schema, op::MetaFn meta,
               op::KernelFn kernel) {
  BuiltinRow row{std::move(schema), std::move(meta), std::move(kernel), RandomTraits(false)};
  rows.push_back(InPlaceForm(row));
  rows.push_back(std::move(row));
}

}  // namespace

Status RegisterRandom(op::OpTable& table) {
  std::vector<BuiltinRow> rows;
  AddFactory(rows, "rand", "", "SymInt[] size", false, RandMeta, RandKernel);
  AddFactory(rows, "rand_like", "", "Tensor self", true, RandMeta, RandKernel);
  AddFactory(rows, "randn", "", "SymInt[] size", false, RandMeta, RandnKernel);
  AddFactory(rows, "randn_like", "", "Tensor self", true, RandMeta, RandnKernel);
  AddFactory(rows, "randint", "", "SymInt high, SymInt[] size", false, RandintMeta, RandintKernel);
  AddFactory(rows, "randint", "low", "SymInt low, SymInt high, SymInt[] size", false, RandintMeta,
             RandintKernel);
  AddFactory(rows, "randint_like", "", "Tensor self, SymInt high", true, RandintMeta,
             RandintKernel);
  AddFactory(rows, "randint_like", "low_dtype", "Tensor self, SymInt low, SymInt high", true,
             RandintMeta, RandintKernel);
  AddFactory(rows, "randperm", "", "SymInt n", false, RandpermMeta, RandpermKernel);
  AddUpdate(rows,
            "aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) "
            "-> Tensor",
            UniformMeta, UniformKernel);
  AddUpdate(rows,
            "aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? "
            "generator=None) -> Tensor",
            NormalMeta, NormalKernel);
  rows[rows.size() - 2].schema =
      "aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) "
      "-> Tensor(a!)";
  rows.push_back({"aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
                  BernoulliNumberMeta, BernoulliNumberKernel, RandomTraits(false)});
  BuiltinRow update = InPlaceForm(rows.back());
  update.schema =
      "aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> "
      "Tensor(a!)";
  rows.push_back(std::move(update));
  rows.push_back({"aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
                  BernoulliMeta, BernoulliKernel, RandomTraits(true)});
  PAL_TRY(RegisterBuiltinRows(table, std::move(rows)));
  return RegisterDropout(table);
}

}  // namespace palimpsest::kernels
