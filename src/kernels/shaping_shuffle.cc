// pixel_shuffle, pixel_unshuffle, channel_shuffle: a view with more dims, permuted, in a new
// tensor of fewer dims.
#include <fmt/format.h>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/shaping.h"
#include "kernels/views.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

// self as `split`, its dims in the order `order`, merged to `sizes`.
struct Shuffle {
  Dims split, order, sizes;
};

Error Refuse(const op::Op& op, const Tensor& self, int64_t factor) {
  return Refused("size_mismatch", fmt::format("{} of a tensor of sizes {} by {}", op.schema.name,
                                              ToString(self.sizes), factor));
}

// The leading dims of self, batch dims, in both split and sizes; order counts them.
Shuffle WithBatch(const Tensor& self, size_t kept) {
  Shuffle s;
  for (size_t d = 0; d + kept < self.dim(); ++d) {
    s.split.push_back(self.sizes[d]);
    s.sizes.push_back(self.sizes[d]);
    s.order.push_back(static_cast<int64_t>(d));
  }
  return s;
}
void Append(Dims& dims, std::initializer_list<int64_t> values) {
  for (int64_t v : values) dims.push_back(v);
}
void AppendOrder(Shuffle& s, std::initializer_list<int64_t> places) {
  auto base = static_cast<int64_t>(s.order.size());
  for (int64_t place : places) s.order.push_back(base + place);
}

Result<Shuffle> ShuffleOf(const op::Op& op, std::span<const Value> args) {
  const Tensor& self = args[0].tensor();
  int64_t r = args[1].ToInt();
  constexpr int64_t kMost = 1 << 20;
  if (self.dim() < 3 || r <= 0 || r > kMost) return Refuse(op, self, r);
  size_t n = self.dim();
  int64_t c = self.sizes[n - 3], h = self.sizes[n - 2], w = self.sizes[n - 1];
  Shuffle s = WithBatch(self, 3);
  if (op.schema.name == "pixel_shuffle") {
    if (c % (r * r) != 0) return Refuse(op, self, r);
    Append(s.split, {c / (r * r), r, r, h, w});
    Append(s.sizes, {c / (r * r), h * r, w * r});
    AppendOrder(s, {0, 3, 1, 4, 2});
  } else {
    if (h % r != 0 || w % r != 0) return Refuse(op, self, r);
    Append(s.split, {c, h / r, r, w / r, r});
    Append(s.sizes, {c * r * r, h / r, w / r});
    AppendOrder(s, {0, 2, 4, 1, 3});
  }
  return s;
}

// Channels are dim 1 here, whatever follows.
Result<Shuffle> ChannelShuffleOf(const op::Op& op, std::span<const Value> args) {
  const Tensor& self = args[0].tensor();
  int64_t groups = args[1].ToInt();
  if (self.dim() < 3 || groups <= 0 || self.sizes[1] % groups != 0) {
    return Refuse(op, self, groups);
  }
  Shuffle s{{self.sizes[0], groups, self.sizes[1] / groups}, {0, 2, 1}, self.sizes};
  for (size_t d = 2; d < self.dim(); ++d) {
    s.split.push_back(self.sizes[d]);
    s.order.push_back(static_cast<int64_t>(d) + 1);
  }
  return s;
}

using ShuffleRule = Result<Shuffle> (*)(const op::Op& op, std::span<const Value> args);

template <ShuffleRule kRule>
Status ShuffleMeta(MetaCall& call) {
  PAL_TRY(Shuffle s, kRule(call.op, call.args));
  const Tensor& self = call.args[0].tensor();
  View view{self.dtype, s.sizes, ContiguousStrides(s.sizes), 0};
  PAL_TRY(CheckedNumel(s.sizes));
  PAL_TRY(view, CopyLayout(view, SuggestedFormat(self.view())));
  call.results.push_back(ResultSpec::Fresh(std::move(view)));
  return {};
}

template <ShuffleRule kRule>
Status ShuffleKernel(KernelCall& call) {
  PAL_TRY(Shuffle s, kRule(call.op, call.args));
  PAL_TRY(Tensor packed, EmptyTensor(call.results[0].dtype, s.split));
  PAL_TRY(
      CopyTo(call.args[0].tensor(),
             Tensor(ContiguousView(packed.dtype, call.args[0].tensor().sizes), packed.storage)));
  PAL_TRY(View shuffled, PermuteView(packed.view(), s.order));
  PAL_TRY(Tensor merged, EmptyTensor(packed.dtype, shuffled.sizes));
  PAL_TRY(CopyTo(Tensor(shuffled, packed.storage), merged));
  return CopyTo(Tensor(ContiguousView(packed.dtype, s.sizes), merged.storage), call.results[0]);
}

}  // namespace

Status RegisterShuffles(op::OpTable& table) {
  return RegisterBuiltinRows(
      table, {
                 {"aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
                  ShuffleMeta<ShuffleOf>, ShuffleKernel<ShuffleOf>},
                 {"aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
                  ShuffleMeta<ShuffleOf>, ShuffleKernel<ShuffleOf>},
                 {"aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor",
                  ShuffleMeta<ChannelShuffleOf>, ShuffleKernel<ChannelShuffleOf>},
             });
}

}  // namespace palimpsest::kernels
