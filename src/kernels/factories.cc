#include "kernels/factories.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/copy_cast.h"
#include "kernels/reduce_dims.h"

namespace palimpsest::kernels {

Status CheckFactoryOptions(const op::MetaCall& call) {
  const Value& layout = Argument(call.op, call.args, "layout");
  if (layout.Is<LayoutKind>() && layout.As<LayoutKind>() != LayoutKind::kStrided) {
    return Unsupported(fmt::format("{}: only strided tensors are supported", call.op.schema.Key()));
  }
  return {};
}

namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

// Of a number without a type: bool, i64, the default float type, c64.
DType DefaultTypeOf(const Scalar& number) {
  switch (number.category) {
    case Category::kBool:
      return DType::kB8;
    case Category::kInteger:
      return DType::kI64;
    case Category::kFloat:
      return DType::kF32;
    case Category::kComplex:
      return DType::kC64;
  }
  return DType::kF32;
}

// new_*: self's type and, for the rest, as the factory without a self.
bool HasSelf(const op::Op& op) {
  return !op.schema.args.empty() && op.schema.args[0].name == "self";
}
DType FactoryType(const MetaCall& call, DType otherwise) {
  if (HasSelf(call.op)) otherwise = call.args[0].tensor().dtype;
  return TypeAsked(call.op, call.args, otherwise);
}

Status AddFresh(MetaCall& call, View view) {
  PAL_TRY(CheckFactoryOptions(call));
  PAL_TRY(CheckSizes(view.sizes));
  call.results.push_back(ResultSpec::Fresh(std::move(view)));
  return {};
}
Status AddContiguous(MetaCall& call, DType dtype, const Dims& sizes) {
  PAL_TRY(CheckSizes(sizes));
  return AddFresh(call, ContiguousView(dtype, sizes));
}

// empty, zeros, ones, rand-like factories of a size list.
Status SizedMeta(MetaCall& call) {
  return AddContiguous(call, FactoryType(call, DType::kF32),
                       Argument(call.op, call.args, "size").ToDims());
}

Status FullMeta(MetaCall& call) {
  Scalar value = Argument(call.op, call.args, "fill_value").ToScalar();
  DType dtype = FactoryType(call, DefaultTypeOf(value));
  PAL_TRY(CheckFits(value, dtype));
  return AddContiguous(call, dtype, Argument(call.op, call.args, "size").ToDims());
}

Status EmptyMeta(MetaCall& call) {
  Dims sizes = call.args[0].ToDims();
  PAL_TRY(CheckSizes(sizes));
  DType dtype = FactoryType(call, DType::kF32);
  MemoryFormat format = Argument(call.op, call.args, "memory_format")
                            .ToOptionalMemoryFormat()
                            .value_or(MemoryFormat::kContiguous);
  if (format == MemoryFormat::kPreserve) {
    return Refused("bad_memory_format", "empty(): preserve_format is not a layout");
  }
  PAL_TRY(View view, CopyLayout(ContiguousView(dtype, sizes), format));
  return AddFresh(call, std::move(view));
}

Status EmptyStridedMeta(MetaCall& call) {
  View view{FactoryType(call, DType::kF32), Argument(call.op, call.args, "size").ToDims(),
            Argument(call.op, call.args, "stride").ToDims(), 0};
  if (view.sizes.size() != view.strides.size()) {
    return Refused("size_mismatch",
                   fmt::format("empty_strided(): dimensionality of sizes ({}) must match "
                               "dimensionality of strides ({})",
                               view.sizes.size(), view.strides.size()));
  }
  PAL_TRY(CheckSizes(view.sizes));
  for (int64_t stride : view.strides) {
    if (stride < 0) return Refused("negative_stride", "empty_strided(): negative stride");
  }
  PAL_TRY(RequiredBytes(view));
  return AddFresh(call, std::move(view));
}

// physical_layout lists the dims from the slowest to the fastest.
Status EmptyPermutedMeta(MetaCall& call) {
  Dims sizes = call.args[0].ToDims(), layout = call.args[1].ToDims();
  PAL_TRY(CheckSizes(sizes));
  View view{FactoryType(call, DType::kF32), sizes, Dims(sizes.size(), 0), 0};
  if (layout.size() != sizes.size()) {
    return Refused("size_mismatch", "empty_permuted(): one dim of the layout per size is expected");
  }
  SmallVector<bool, 6> seen(sizes.size(), false);
  int64_t step = 1;
  for (size_t i = layout.size(); i-- > 0;) {
    int64_t d = layout[i];
    if (d < 0 || d >= static_cast<int64_t>(sizes.size())) {
      return Refused("dim_out_of_range", fmt::format("empty_permuted(): dim {}", d));
    }
    if (seen[static_cast<size_t>(d)]) {
      return Refused("dim_repeated", "empty_permuted(): duplicate dim in the physical layout");
    }
    seen[static_cast<size_t>(d)] = true;
    view.strides[static_cast<size_t>(d)] = step;
    step *= std::max<int64_t>(sizes[static_cast<size_t>(d)], 1);
  }
  return AddFresh(call, std::move(view));
}

Status ScalarTensorMeta(MetaCall& call) {
  return AddContiguous(call, FactoryType(call, DType::kF32), {});
}

Status EyeMeta(MetaCall& call) {
  int64_t n = call.args[0].ToInt();
  int64_t m = call.op.schema.overload == "m" ? call.args[1].ToInt() : n;
  return AddContiguous(call, FactoryType(call, DType::kF32), {n, m});
}

// ---- Ranges.

struct Range {
  Scalar start = Scalar::Int(0), end, step = Scalar::Int(1);
};

Range RangeOf(const op::Op& op, std::span<const Value> args) {
  Range range;
  if (op.schema.overload.empty()) {
    range.end = args[0].ToScalar();
    return range;
  }
  range.start = args[0].ToScalar();
  range.end = args[1].ToScalar();
  if (op.schema.overload == "start_step") range.step = args[2].ToScalar();
  return range;
}

DType RangeType(const Range& range) {
  bool integers = range.start.IsInt() && range.end.IsInt() && range.step.IsInt();
  return integers ? DType::kI64 : DType::kF32;
}

// A number as the integer types of ranges take it.
int64_t Whole(const Scalar& s) {
  if (s.IsInt()) return s.i;
  double x = s.c.real();
  return x >= -0x1p63 && x < 0x1p63 ? static_cast<int64_t>(x) : 0;
}

// The number of elements: exact for 64-bit integers, in double precision else.
Result<int64_t> RangeLength(const Range& range, DType dtype) {
  double start = range.start.AsDouble(), end = range.end.AsDouble(), step = range.step.AsDouble();
  auto refuse = [](std::string_view why) {
    return Refused("bad_step", fmt::format("arange: {}", why));
  };
  if (step == 0) return refuse("step must be nonzero");
  if (!std::isfinite(start) || !std::isfinite(end)) return refuse("unsupported range");
  if ((step > 0) != (end >= start) && start != end) {
    return refuse("upper bound and lower bound inconsistent with step sign");
  }
  if (dtype != DType::kI64) {
    double length = std::ceil((end - start) / step);
    if (!(length < 0x1p62)) return refuse("invalid size, possible overflow?");
    return static_cast<int64_t>(length);
  }
  int64_t stride = Whole(range.step);
  if (stride == 0) return refuse("step must be nonzero");
  __int128 span = static_cast<__int128>(Whole(range.end)) - Whole(range.start);
  __int128 size = stride > 0 ? (span + stride - 1) / stride : (span + stride + 1) / stride;
  if (size > (__int128{1} << 62)) return refuse("invalid size, possible overflow?");
  return static_cast<int64_t>(size);
}

Status ArangeMeta(MetaCall& call) {
  Range range = RangeOf(call.op, call.args);
  DType dtype = FactoryType(call, RangeType(range));
  if (dtype == DType::kB8 || IsComplex(dtype)) {
    return Refused("unsupported_dtype",
                   fmt::format("\"arange_cpu\" not implemented for '{}'", TorchName(dtype)));
  }
  PAL_TRY(int64_t length, RangeLength(range, dtype));
  return AddContiguous(call, dtype, {length});
}

// Calls f(element number) -> Scalar for a result of one dim.
template <typename F>
void FillLine(const Tensor& result, F&& f) {
  std::byte* to = result.data();
  int64_t step = result.dim() == 0 ? 0 : result.strides[0] * result.item_size();
  for (int64_t i = 0; i < result.numel(); ++i) StoreNumber(f(i), result.dtype, to + i * step);
}

Status ArangeKernel(KernelCall& call) {
  const Tensor& result = call.results[0];
  Range range = RangeOf(call.op, call.args);
  if (IsIntegral(result.dtype)) {
    // Each number is converted by itself, as PyTorch does.
    auto start = static_cast<uint64_t>(Whole(range.start));
    auto step = static_cast<uint64_t>(Whole(range.step));
    FillLine(result, [&](int64_t i) {
      return Scalar::Int(static_cast<int64_t>(start + step * static_cast<uint64_t>(i)));
    });
    return {};
  }
  double start = range.start.AsDouble(), step = range.step.AsDouble();
  FillLine(result, [&](int64_t i) { return Scalar::Float(start + step * static_cast<double>(i)); });
  return {};
}

Status LinspaceMeta(MetaCall& call) {
  int64_t steps = call.args[2].ToInt();
  if (steps < 0) return Refused("bad_step", "number of steps must be non-negative");
  DType dtype = FactoryType(call, DType::kF32);
  if (IsComplex(dtype) || dtype == DType::kB8) {
    return Unsupported(fmt::format("{} of {}", call.op.schema.Key(), TorchName(dtype)));
  }
  return AddContiguous(call, dtype, {steps});
}

// From both ends to the middle, so that the last element is exactly `end`.
Status LinspaceKernel(KernelCall& call) {
  const Tensor& result = call.results[0];
  double start = call.args[0].ToDouble(), end = call.args[1].ToDouble();
  bool powers = call.op.schema.name == "logspace";
  double base = powers ? call.args[3].ToDouble() : 0;
  int64_t steps = result.numel();
  double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  if (result.dtype == DType::kF32) step = static_cast<float>(step);
  FillLine(result, [&](int64_t i) {
    double x = i < steps / 2 || steps == 1 ? start + step * static_cast<double>(i)
                                           : end - step * static_cast<double>(steps - i - 1);
    return Scalar::Float(powers ? std::pow(base, x) : x);
  });
  return {};
}

// ---- tril_indices, triu_indices: the places below or above a diagonal, row by row.

struct Triangle {
  int64_t rows, columns, offset;
  bool lower;
  // Columns of row r: [first, last).
  std::pair<int64_t, int64_t> Row(int64_t r) const {
    int64_t at = std::clamp(lower ? r + offset + 1 : r + offset, int64_t{0}, columns);
    return lower ? std::pair(int64_t{0}, at) : std::pair(at, columns);
  }
};

Result<Triangle> TriangleOf(const op::Op& op, std::span<const Value> args) {
  Triangle t{args[0].ToInt(), args[1].ToInt(), args[2].ToInt(), op.schema.name == "tril_indices"};
  constexpr int64_t kMost = int64_t{1} << 31;
  if (t.rows < 0 || t.columns < 0)
    return Refused("negative_size", "row and col must be non-negative");
  if (t.rows > kMost || t.columns > kMost) return Unsupported("triangles of more than 2^31 rows");
  t.offset = std::clamp(t.offset, -kMost - 1, kMost + 1);
  return t;
}

Status TriangleMeta(MetaCall& call) {
  PAL_TRY(Triangle t, TriangleOf(call.op, call.args));
  int64_t count = 0;
  for (int64_t r = 0; r < t.rows; ++r) count += t.Row(r).second - t.Row(r).first;
  return AddContiguous(call, FactoryType(call, DType::kI64), {2, count});
}

Status TriangleKernel(KernelCall& call) {
  PAL_TRY(Triangle t, TriangleOf(call.op, call.args));
  const Tensor& result = call.results[0];
  int64_t item = result.item_size(), at = 0;
  for (int64_t r = 0; r < t.rows; ++r) {
    auto [first, last] = t.Row(r);
    for (int64_t c = first; c < last; ++c, ++at) {
      std::byte* to = result.data() + at * result.strides[1] * item;
      StoreNumber(Scalar::Int(r), result.dtype, to);
      StoreNumber(Scalar::Int(c), result.dtype, to + result.strides[0] * item);
    }
  }
  return {};
}

// ---- Kernels that fill.

Status Nothing(KernelCall&) { return {}; }
template <int kNumber>
Status FillConstant(KernelCall& call) {
  return FillWith(Scalar::Int(kNumber), call.results[0]);
}
Status FillValue(KernelCall& call) {
  return FillWith(Argument(call.op, call.args, "fill_value").ToScalar(), call.results[0]);
}
Status FillScalar(KernelCall& call) { return FillWith(call.args[0].ToScalar(), call.results[0]); }

Status EyeKernel(KernelCall& call) {
  const Tensor& result = call.results[0];
  PAL_TRY(FillWith(Scalar::Int(0), result));
  int64_t n = std::min(result.sizes[0], result.sizes[1]);
  View diagonal{result.dtype, {n}, {result.strides[0] + result.strides[1]}, result.offset};
  return FillWith(Scalar::Int(1), Tensor(diagonal, result.storage));
}

std::vector<BuiltinRow> SizedRows() {
  op::Traits none, empty, new_none, new_empty;
  empty.uninitialized = new_empty.uninitialized = true;
  new_none.metadata_only = new_empty.metadata_only = 1;
  auto schema = [](std::string_view name, std::string_view args, std::string_view more = "") {
    return fmt::format("aten::{}({}, *, {}{}) -> Tensor", name, args, kFactoryOptions, more);
  };
  return {
      {schema("empty.memory_format", "SymInt[] size", ", MemoryFormat? memory_format=None"),
       EmptyMeta, Nothing, empty},
      {schema("empty_strided", "SymInt[] size, SymInt[] stride"), EmptyStridedMeta, Nothing, empty},
      {schema("empty_permuted", "SymInt[] size, int[] physical_layout"), EmptyPermutedMeta, Nothing,
       empty},
      {schema("full", "SymInt[] size, Scalar fill_value"), FullMeta, FillValue, none},
      {schema("zeros", "SymInt[] size"), SizedMeta, FillConstant<0>, none},
      {schema("ones", "SymInt[] size"), SizedMeta, FillConstant<1>, none},
      {schema("new_empty", "Tensor self, SymInt[] size"), SizedMeta, Nothing, new_empty},
      {schema("new_empty_strided", "Tensor self, SymInt[] size, SymInt[] stride"), EmptyStridedMeta,
       Nothing, new_empty},
      {schema("new_zeros", "Tensor self, SymInt[] size"), SizedMeta, FillConstant<0>, new_none},
      {schema("new_ones", "Tensor self, SymInt[] size"), SizedMeta, FillConstant<1>, new_none},
      {schema("new_full", "Tensor self, SymInt[] size, Scalar fill_value"), FullMeta, FillValue,
       new_none},
  };
}

std::vector<BuiltinRow> NumberedRows() {
  auto schema = [](std::string_view name, std::string_view args) {
    return fmt::format("aten::{}({}, *, {}) -> Tensor", name, args, kFactoryOptions);
  };
  return {
      {schema("scalar_tensor", "Scalar s"), ScalarTensorMeta, FillScalar},
      {schema("arange", "Scalar end"), ArangeMeta, ArangeKernel},
      {schema("arange.start", "Scalar start, Scalar end"), ArangeMeta, ArangeKernel},
      {schema("arange.start_step", "Scalar start, Scalar end, Scalar step=1"), ArangeMeta,
       ArangeKernel},
      {schema("linspace", "Scalar start, Scalar end, int steps"), LinspaceMeta, LinspaceKernel},
      {schema("logspace", "Scalar start, Scalar end, int steps, float base=10."), LinspaceMeta,
       LinspaceKernel},
      {schema("eye", "SymInt n"), EyeMeta, EyeKernel},
      {schema("eye.m", "SymInt n, SymInt m"), EyeMeta, EyeKernel},
      {schema("tril_indices", "int row, int col, int offset=0"), TriangleMeta, TriangleKernel},
      {schema("triu_indices", "int row, int col, int offset=0"), TriangleMeta, TriangleKernel},
  };
}

}  // namespace

Status RegisterFactories(op::OpTable& table) {
  PAL_TRY(RegisterBuiltinRows(table, SizedRows()));
  return RegisterBuiltinRows(table, NumberedRows());
}

}  // namespace palimpsest::kernels
