// Padding: with a constant, or with elements of self (reflect, replicate, circular).
#include <fmt/format.h>

#include <algorithm>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/shaping.h"
#include "kernels/views.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

struct Padding {
  int64_t before = 0, after = 0;  // negative: elements are cut off
};

// `pad` lists pairs from the last dim to the first.
Result<std::vector<Padding>> PaddingOf(const View& self, const Dims& pad) {
  if (pad.size() % 2 != 0) {
    return Refused("size_mismatch",
                   fmt::format("Length of pad must be even but instead it equals {}", pad.size()));
  }
  if (pad.size() / 2 > self.dim()) {
    return Refused("size_mismatch",
                   fmt::format("Length of pad should be no more than twice the number of "
                               "dimensions of the input. Pad length is {} while the input has {} "
                               "dimensions.",
                               pad.size(), self.dim()));
  }
  std::vector<Padding> padding(self.dim());
  for (size_t i = 0; i * 2 < pad.size(); ++i) {
    padding[self.dim() - 1 - i] = {pad[i * 2], pad[i * 2 + 1]};
  }
  return padding;
}

Result<Dims> PaddedSizes(const View& self, const std::vector<Padding>& padding) {
  Dims sizes;
  for (size_t d = 0; d < self.dim(); ++d) {
    int64_t size;
    if (__builtin_add_overflow(self.sizes[d], padding[d].before, &size) ||
        __builtin_add_overflow(size, padding[d].after, &size)) {
      return Refused("negative_size", "padding beyond 2^63 elements");
    }
    int64_t kept = self.sizes[d] + std::min<int64_t>(padding[d].before, 0);
    if (size < 0 || kept < 0 || kept + std::min<int64_t>(padding[d].after, 0) < 0) {
      return Refused("negative_size",
                     fmt::format("The input size {}, plus negative padding {} and {} resulted in a "
                                 "negative output size, which is invalid. Check dimension {} of "
                                 "your input.",
                                 self.sizes[d], padding[d].before, padding[d].after, d));
    }
    sizes.push_back(size);
  }
  PAL_TRY(CheckedNumel(sizes));
  return sizes;
}

// ---- constant

Status AddConstant(MetaCall& call, const Dims& pad) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(std::vector<Padding> padding, PaddingOf(self, pad));
  PAL_TRY(Dims sizes, PaddedSizes(self, padding));
  bool only_cuts = std::all_of(padding.begin(), padding.end(),
                               [](const Padding& p) { return p.before <= 0 && p.after <= 0; });
  View view{self.dtype, sizes, self.strides, 0};
  PAL_TRY(view,
          CopyLayout(view, only_cuts ? MemoryFormat::kPreserve : SuggestedFormat(self.view())));
  call.results.push_back(ResultSpec::Fresh(std::move(view)));
  return {};
}

Status PadConstant(const Tensor& self, const Dims& pad, const Scalar& value, const Tensor& result) {
  PAL_TRY(std::vector<Padding> padding, PaddingOf(self, pad));
  PAL_TRY(FillWith(value, result));
  // The part that both show.
  View from = self.view(), to = result.view();
  for (size_t d = 0; d < padding.size(); ++d) {
    int64_t cut = std::max<int64_t>(-padding[d].before, 0);
    int64_t shift = std::max<int64_t>(padding[d].before, 0);
    int64_t length = std::min(self.sizes[d] - cut, result.sizes[d] - shift);
    if (length <= 0) return {};
    PAL_TRY(from, NarrowView(from, static_cast<int64_t>(d), cut, length));
    PAL_TRY(to, NarrowView(to, static_cast<int64_t>(d), shift, length));
  }
  return CopyTo(Tensor(from, self.storage), Tensor(to, result.storage));
}

Status ConstantMeta(MetaCall& call) { return AddConstant(call, call.args[1].ToDims()); }
Status ConstantKernel(KernelCall& call) {
  return PadConstant(call.args[0].tensor(), call.args[1].ToDims(), call.args[2].ToScalar(),
                     call.results[0]);
}

// ---- with elements of self

enum class Mode : uint8_t { kReflect, kReplicate, kCircular };

Status CheckMode(Mode mode, const Tensor& self, const std::vector<Padding>& padding) {
  for (size_t d = 0; d < padding.size(); ++d) {
    int64_t size = self.sizes[d], most = std::max(padding[d].before, padding[d].after);
    if (padding[d].before == 0 && padding[d].after == 0) continue;
    bool fits = mode == Mode::kReflect    ? most < size
                : mode == Mode::kCircular ? most <= size
                                          : size > 0;
    if (fits) continue;
    return Refused("size_mismatch",
                   fmt::format("Padding size should be less than the corresponding input "
                               "dimension, but got: padding ({}, {}) at dimension {} of input {}",
                               padding[d].before, padding[d].after, d, ToString(self.sizes)));
  }
  return {};
}

Result<Mode> ModeNamed(const std::string& name) {
  if (name == "reflect") return Mode::kReflect;
  if (name == "replicate") return Mode::kReplicate;
  if (name == "circular") return Mode::kCircular;
  return Refused("bad_argument", fmt::format("Unrecognised padding mode {}", name));
}

Status AddMapped(MetaCall& call, Mode mode, const Dims& pad) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(std::vector<Padding> padding, PaddingOf(self, pad));
  size_t padded = pad.size() / 2;
  // One dim of channels, and perhaps one of a batch, before those that are padded.
  if (padded == 0 || padded > 3 || (self.dim() != padded + 1 && self.dim() != padded + 2)) {
    return Refused("size_mismatch",
                   fmt::format("Only {}D or {}D tensors can be padded in {} dims, self has {}",
                               padded + 1, padded + 2, padded, self.dim()));
  }
  PAL_TRY(CheckMode(mode, self, padding));
  PAL_TRY(Dims sizes, PaddedSizes(self, padding));
  View view{self.dtype, sizes, ContiguousStrides(sizes), 0};
  if (mode != Mode::kCircular) {
    PAL_TRY(view, CopyLayout(view, SuggestedFormat(self.view())));
  }
  call.results.push_back(ResultSpec::Fresh(std::move(view)));
  return {};
}

int64_t SourcePlace(Mode mode, int64_t place, int64_t size) {
  switch (mode) {
    case Mode::kReflect: {
      int64_t inside = place < 0 ? -place : place;
      return inside >= size ? 2 * (size - 1) - inside : inside;
    }
    case Mode::kReplicate:
      return std::clamp<int64_t>(place, 0, size - 1);
    case Mode::kCircular:
      return ((place % size) + size) % size;
  }
  return place;
}

Status PadMapped(const Tensor& self, Mode mode, const Dims& pad, const Tensor& result) {
  if (result.numel() == 0) return {};
  PAL_TRY(std::vector<Padding> padding, PaddingOf(self, pad));
  DimMaps maps;
  for (size_t d = 0; d < padding.size(); ++d) {
    maps.push_back(IdentityMap(result.sizes[d]));
    for (int64_t& place : maps.back()) {
      place = SourcePlace(mode, place - padding[d].before, self.sizes[d]);
    }
  }
  return CopyMapped(self, maps, result);
}

template <Mode kMode>
BuiltinRow MappedRow(std::string_view name, int dims) {
  return {fmt::format("aten::{}_pad{}d(Tensor self, SymInt[{}] padding) -> Tensor", name, dims,
                      2 * dims),
          [dims](MetaCall& call) -> Status {
            Dims pad = call.args[1].ToDims();
            if (pad.size() != static_cast<size_t>(2 * dims)) {
              return Refused("size_mismatch",
                             fmt::format("padding size is expected to be {}, but got: {}", 2 * dims,
                                         pad.size()));
            }
            return AddMapped(call, kMode, pad);
          },
          [](KernelCall& call) {
            return PadMapped(call.args[0].tensor(), kMode, call.args[1].ToDims(), call.results[0]);
          }};
}

// ---- pad: any of them, by name.

bool IsConstant(std::span<const Value> args) { return args[2].As<std::string>() == "constant"; }

Status PadMeta(MetaCall& call) {
  Dims pad = call.args[1].ToDims();
  if (IsConstant(call.args)) return AddConstant(call, pad);
  PAL_TRY(Mode mode, ModeNamed(call.args[2].As<std::string>()));
  if (!call.args[3].IsNone() && call.args[3].ToDouble() != 0) {
    return Refused("bad_argument", fmt::format("Padding mode \"{}\" doesn't take in value argument",
                                               call.args[2].As<std::string>()));
  }
  return AddMapped(call, mode, pad);
}
Status PadKernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  Dims pad = call.args[1].ToDims();
  if (IsConstant(call.args)) {
    Scalar value = call.args[3].IsNone() ? Scalar::Int(0) : call.args[3].ToScalar();
    return PadConstant(self, pad, value, call.results[0]);
  }
  PAL_TRY(Mode mode, ModeNamed(call.args[2].As<std::string>()));
  return PadMapped(self, mode, pad, call.results[0]);
}

}  // namespace

Status RegisterPads(op::OpTable& table) {
  std::vector<BuiltinRow> rows = {
      {"aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor", ConstantMeta,
       ConstantKernel},
      {"aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor",
       PadMeta, PadKernel},
  };
  for (int dims : {1, 2, 3}) {
    rows.push_back(MappedRow<Mode::kReflect>("reflection", dims));
    rows.push_back(MappedRow<Mode::kReplicate>("replication", dims));
  }
  return RegisterBuiltinRows(table, std::move(rows));
}

}  // namespace palimpsest::kernels
