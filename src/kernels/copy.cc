// The operators that copy, convert or fill.
//
// What is a copy step (trait `copy`): clone, _to_copy, copy_, and contiguous and to where they make
// something new. Which of them return their argument itself is decided from metadata alone.
#include "kernels/copy.h"

#include <fmt/format.h>

#include "core/overlap.h"
#include "kernels/copy_cast.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {

Result<View> CopyLayout(const View& self, MemoryFormat format) {
  View view{self.dtype, self.sizes, {}, 0};
  switch (format) {
    case MemoryFormat::kPreserve:
      view.strides = PreserveStrides(self);
      return view;
    case MemoryFormat::kContiguous:
      view.strides = ContiguousStrides(self.sizes);
      return view;
    case MemoryFormat::kChannelsLast:
    case MemoryFormat::kChannelsLast3d: {
      size_t rank = format == MemoryFormat::kChannelsLast ? 4 : 5;
      if (self.dim() != rank) {
        return Refused("bad_memory_format",
                       fmt::format("required rank {} tensor to use {} format", rank,
                                   rank == 4 ? "channels_last" : "channels_last_3d"));
      }
      view.strides = ChannelsLastStrides(self.sizes);
      return view;
    }
  }
  return view;
}

namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

const Value* FindArgument(const op::Op& op, std::span<const Value> args, std::string_view name) {
  int i = op.schema.FindArg(name);
  return i < 0 ? nullptr : &args[static_cast<size_t>(i)];
}
MemoryFormat FormatOf(const MetaCall& call) {
  const Value* format = FindArgument(call.op, call.args, "memory_format");
  return format == nullptr || format->IsNone() ? MemoryFormat::kPreserve
                                               : format->As<MemoryFormat>();
}
// Layout and type arguments that name what palimpsest does not have.
Status CheckPlacement(const MetaCall& call) {
  const Value* layout = FindArgument(call.op, call.args, "layout");
  if (layout != nullptr && layout->Is<LayoutKind>() &&
      layout->As<LayoutKind>() != LayoutKind::kStrided) {
    return Unsupported(fmt::format("{}: only strided tensors are supported", call.op.schema.Key()));
  }
  return {};
}
DType TypeOf(const MetaCall& call) {
  const Value* dtype = FindArgument(call.op, call.args, "dtype");
  const Value* other = FindArgument(call.op, call.args, "other");
  if (dtype != nullptr && dtype->Is<DType>()) return dtype->As<DType>();
  if (other != nullptr && other->IsTensor()) return other->tensor().dtype;
  return call.args[0].tensor().dtype;
}

Status CopyKernel(KernelCall& call) {
  if (call.results.empty()) return {};
  return CopyTo(call.args[0].tensor(), call.results[0]);
}

// clone, _to_copy, empty_like and its kin: always something new.
Status NewLikeMeta(MetaCall& call) {
  PAL_TRY(CheckPlacement(call));
  PAL_TRY(View view, CopyLayout(call.args[0].tensor(), FormatOf(call)));
  view.dtype = TypeOf(call);
  call.results.push_back(ResultSpec::Fresh(view));
  return {};
}

// to.*, type_as: the argument itself if nothing would change.
Status ToMeta(MetaCall& call) {
  PAL_TRY(CheckPlacement(call));
  const Tensor& self = call.args[0].tensor();
  MemoryFormat format = FormatOf(call);
  const Value* copy = FindArgument(call.op, call.args, "copy");
  bool must_copy = copy != nullptr && copy->ToBool();
  if (TypeOf(call) == self.dtype && !must_copy &&
      (format == MemoryFormat::kPreserve || format == SuggestedFormat(self))) {
    call.results.push_back(ResultSpec::Same(0));
    return {};
  }
  return NewLikeMeta(call);
}

Status ContiguousMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  MemoryFormat format = FormatOf(call);
  if (IsContiguous(self, format)) {
    call.results.push_back(ResultSpec::Same(0));
    return {};
  }
  if (format == MemoryFormat::kPreserve) {
    return Refused("bad_memory_format",
                   "preserve memory format is unsupported by the contiguous operator");
  }
  return NewLikeMeta(call);
}

Status ContiguousCloneMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  call.results.push_back(ResultSpec::Fresh(self.dtype, self.sizes));
  return {};
}

// The layout of `copy` and of palimpsest::clone_strides: x's own strides, gaps and windows that
// overlap included; only an expanded x becomes dense.
View StridesKept(const View& x) {
  View view{x.dtype, x.sizes, x.strides, 0};
  if (!CheckInternalOverlap(x).ok()) view.strides = PreserveStrides(x);
  return view;
}
Status CloneStridesMeta(MetaCall& call) {
  call.results.push_back(ResultSpec::Fresh(StridesKept(call.args[0].tensor())));
  return {};
}

Status CheckCopy(const Tensor& self, const Tensor& source, bool overlap) {
  IteratorConfig config = IteratorConfig::Copy();
  config.check_overlap = overlap;
  config.AddOutput(self).AddInput(source);
  PAL_TRY(Iteration::Build(config));
  return {};
}

Status CopyMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(CheckCopy(self, call.args[1].tensor(), false));
  call.results.push_back(ResultSpec::Fresh(StridesKept(self)));
  return {};
}

bool IsNothingToCopy(const Tensor& self, const Tensor& source) {
  if (self.object != 0 && self.object == source.object) return true;
  return self.storage == source.storage && self.view() == source.view();
}

Status CopyInPlaceMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& source = call.args[1].tensor();
  if (!IsNothingToCopy(self, source)) PAL_TRY(CheckCopy(self, source, true));
  call.results.push_back(ResultSpec::Same(0));
  return {};
}

// positive: the argument itself.
Status PositiveMeta(MetaCall& call) {
  if (call.args[0].tensor().dtype == DType::kB8) {
    return Refused("unsupported_dtype", "The `+` operator, on a bool tensor is not supported.");
  }
  call.results.push_back(ResultSpec::Same(0));
  return {};
}

// ---- Fills.

Status CheckFill(const MetaCall& call) {
  if (call.args.size() < 2) return {};
  const Value& value = call.args[1];
  if (value.IsNumber()) {
    Scalar number = value.ToScalar();
    if (number.category == Category::kComplex && !IsComplex(TypeOf(call))) {
      return Refused("number_out_of_range", "a complex number does not fit a real tensor");
    }
    return CheckFits(number, TypeOf(call));
  }
  if (value.tensor().dim() == 0) return {};
  return Refused("bad_argument",
                 fmt::format("fill_ only supports 0-dimension value tensor but got tensor with {} "
                             "dimensions.",
                             value.tensor().dim()));
}
Status FillMeta(MetaCall& call) {
  PAL_TRY(CheckFill(call));
  return NewLikeMeta(call);
}
// Overlap is of no concern: every element gets the same value.
Status FillInPlaceMeta(MetaCall& call) {
  PAL_TRY(CheckFill(call));
  // A tensor as the value is copied, which an expanded destination refuses.
  if (call.args.size() > 1 && call.args[1].IsTensor()) {
    PAL_TRY(CheckInternalOverlap(call.args[0].tensor()));
  }
  call.results.push_back(ResultSpec::Same(0));
  return {};
}
Scalar FillValue(std::span<const Value> args) {
  if (args.size() < 2) return Scalar::Int(0);
  if (args[1].IsNumber()) return args[1].ToScalar();
  const Tensor& value = args[1].tensor();
  return LoadNumber(value.dtype, value.data());
}
Status FillKernel(KernelCall& call) { return FillWith(FillValue(call.args), call.results[0]); }
Status FillInPlaceKernel(KernelCall& call) {
  return FillWith(FillValue(call.args), call.args[0].tensor());
}

// ---- Registration.

struct Row {
  std::string schema;
  op::MetaFn meta;
  op::KernelFn kernel;
  bool copy = false;
  int copy_source = 0;
  bool reads_self = true;
  bool uninitialized = false;
  const char* functional = "";
};

Status RegisterRow(op::OpTable& table, const Row& row) {
  op::Op op;
  PAL_TRY(op.schema, op::ParseSchema(row.schema));
  op.traits.pointwise = true;
  op.traits.copy = row.copy;
  op.traits.copy_source = row.copy_source;
  op.traits.metadata_only = row.reads_self ? 0 : 1;
  int other = op.schema.FindArg("other");  // of which only the type counts
  if (other >= 0) op.traits.metadata_only |= uint64_t{1} << other;
  op.traits.uninitialized = row.uninitialized;
  op.meta = row.meta;
  op.kernel = row.kernel;
  op.functional = row.functional;
  return table.Register(std::move(op));
}

Status FillsWith(KernelCall& call, const Scalar& number) {
  return FillWith(number, call.results[0]);
}

// The tail that the *_like operators share.
constexpr const char* kLikeOptions =
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "MemoryFormat? memory_format=None) -> Tensor";

std::vector<Row> Rows() {
  auto nothing = [](KernelCall&) { return Status(); };
  auto zeros = [](KernelCall& call) { return FillsWith(call, Scalar::Int(0)); };
  auto ones = [](KernelCall& call) { return FillsWith(call, Scalar::Int(1)); };
  auto copy = [](KernelCall& call) { return CopyTo(call.args[1].tensor(), call.results[0]); };
  auto copy_in_place = [](KernelCall& call) {
    return CopyTo(call.args[1].tensor(), call.args[0].tensor());
  };
  return {
      {.schema = "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
       .meta = NewLikeMeta,
       .kernel = CopyKernel,
       .copy = true},
      {.schema = "aten::lift_fresh_copy(Tensor self) -> Tensor",
       .meta = ContiguousCloneMeta,
       .kernel = CopyKernel,
       .copy = true},
      {.schema = "palimpsest::clone_strides(Tensor x) -> Tensor",
       .meta = CloneStridesMeta,
       .kernel = CopyKernel,
       .copy = true},
      {.schema = "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
                 "Device? device=None, bool? pin_memory=None, bool non_blocking=False, "
                 "MemoryFormat? memory_format=None) -> Tensor",
       .meta = NewLikeMeta,
       .kernel = CopyKernel,
       .copy = true},
      {.schema = "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool "
                 "copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
       .meta = ToMeta,
       .kernel = CopyKernel,
       .copy = true},
      {.schema = "aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? "
                 "layout=None, Device? device=None, bool? pin_memory=None, bool "
                 "non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> "
                 "Tensor(a)",
       .meta = ToMeta,
       .kernel = CopyKernel,
       .copy = true},
      {.schema = "aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool "
                 "non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> "
                 "Tensor(a)",
       .meta = ToMeta,
       .kernel = CopyKernel,
       .copy = true},
      {.schema = "aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool "
                 "copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
       .meta = ToMeta,
       .kernel = CopyKernel,
       .copy = true},
      {.schema = "aten::type_as(Tensor self, Tensor other) -> Tensor",
       .meta = ToMeta,
       .kernel = CopyKernel,
       .copy = true},
      {.schema = "aten::contiguous(Tensor(a) self, *, MemoryFormat "
                 "memory_format=contiguous_format) -> Tensor(a)",
       .meta = ContiguousMeta,
       .kernel = CopyKernel,
       .copy = true},
      {.schema = "aten::positive(Tensor(a) self) -> Tensor(a)",
       .meta = PositiveMeta,
       .kernel = nothing},
      {.schema = "aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
       .meta = CopyMeta,
       .kernel = copy,
       .copy = true,
       .copy_source = 1,
       .reads_self = false},
      {.schema = "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
       .meta = CopyInPlaceMeta,
       .kernel = copy_in_place,
       .copy = true,
       .copy_source = 1,
       .reads_self = false,
       .functional = "aten::copy"},
      {.schema = std::string("aten::empty_like(Tensor self, ") + kLikeOptions,
       .meta = NewLikeMeta,
       .kernel = nothing,
       .reads_self = false,
       .uninitialized = true},
      {.schema = std::string("aten::zeros_like(Tensor self, ") + kLikeOptions,
       .meta = NewLikeMeta,
       .kernel = zeros,
       .reads_self = false},
      {.schema = std::string("aten::ones_like(Tensor self, ") + kLikeOptions,
       .meta = NewLikeMeta,
       .kernel = ones,
       .reads_self = false},
      {.schema = std::string("aten::full_like(Tensor self, Scalar fill_value, ") + kLikeOptions,
       .meta = FillMeta,
       .kernel = FillKernel,
       .reads_self = false},
      {.schema = "aten::fill.Scalar(Tensor self, Scalar value) -> Tensor",
       .meta = FillMeta,
       .kernel = FillKernel,
       .reads_self = false},
      {.schema = "aten::fill.Tensor(Tensor self, Tensor value) -> Tensor",
       .meta = FillMeta,
       .kernel = FillKernel,
       .reads_self = false},
      {.schema = "aten::zero(Tensor self) -> Tensor",
       .meta = FillMeta,
       .kernel = FillKernel,
       .reads_self = false},
      {.schema = "aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)",
       .meta = FillInPlaceMeta,
       .kernel = FillInPlaceKernel,
       .reads_self = false,
       .functional = "aten::fill.Scalar"},
      {.schema = "aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)",
       .meta = FillInPlaceMeta,
       .kernel = FillInPlaceKernel,
       .reads_self = false,
       .functional = "aten::fill.Tensor"},
      {.schema = "aten::zero_(Tensor(a!) self) -> Tensor(a!)",
       .meta = FillInPlaceMeta,
       .kernel = FillInPlaceKernel,
       .reads_self = false,
       .functional = "aten::zero"},
  };
}

}  // namespace

Status RegisterCopies(op::OpTable& table) {
  for (const Row& row : Rows()) PAL_TRY(RegisterRow(table, row));
  return {};
}

}  // namespace palimpsest::kernels
