// im2col and col2im: the windows of an image as columns, and columns summed back into an image.
// Both are seen through one view of the padded image, [n, channels, window, places], whose windows
// overlap: reading through it copies elements out, writing goes one place of the window at a time.
#include <fmt/format.h>

#include "kernels/composed.h"
#include "kernels/shaping.h"

namespace palimpsest::kernels {
namespace {

using Args = std::span<const Value>;

struct Windows {
  Dims size, dilation, padding, stride;  // two dims each
  Dims image;                            // without padding
  int64_t Padded(size_t d) const { return image[d] + 2 * padding[d]; }
  int64_t Places(size_t d) const {
    return (Padded(d) - dilation[d] * (size[d] - 1) - 1) / stride[d] + 1;
  }
};

Dims Pair(const Value& v) {
  Dims pair = v.ToDims();
  if (pair.size() == 1) pair.push_back(pair[0]);
  return pair;
}

// `rest`: kernel_size, dilation, padding, stride.
Result<Windows> WindowsOf(std::string_view name, const Dims& image, Args rest) {
  Windows w{Pair(rest[0]), Pair(rest[1]), Pair(rest[2]), Pair(rest[3]), image};
  constexpr int64_t kLimit = int64_t{1} << 40;
  for (size_t d = 0; d < 2; ++d) {
    bool positive = w.size[d] > 0 && w.dilation[d] > 0 && w.stride[d] > 0 && w.padding[d] >= 0 &&
                    w.image[d] > 0;
    bool small = w.size[d] < kLimit && w.dilation[d] < kLimit / w.size[d] &&
                 w.padding[d] < kLimit && w.image[d] < kLimit;
    if (!positive || !small || w.Padded(d) <= w.dilation[d] * (w.size[d] - 1)) {
      return Refused(
          "size_mismatch",
          fmt::format("{}: windows of {} (dilation {}, padding {}, stride {}) do not fit "
                      "an image of {}",
                      name, ToString(w.size), ToString(w.dilation), ToString(w.padding),
                      ToString(w.stride), ToString(w.image)));
    }
  }
  return w;
}

// The windows of a contiguous padded image.
Value Seen(Composer& c, const Value& padded, const Windows& w) {
  const Tensor& image = padded.tensor();
  int64_t row = image.strides[2];
  Dims sizes = {image.sizes[0], image.sizes[1], w.size[0], w.size[1], w.Places(0), w.Places(1)};
  Dims strides = {image.strides[0], image.strides[1],  w.dilation[0] * row,
                  w.dilation[1],    w.stride[0] * row, w.stride[1]};
  return c.Call("aten::as_strided", {padded, Value::Ints(sizes), Value::Ints(strides), Value(0)});
}

// A batch of one for images (columns) without a batch.
Value Batched(Composer& c, const Value& v, size_t rank) {
  return v.tensor().dim() + 1 == rank ? c.Call("aten::unsqueeze", {v, Value(0)}) : v;
}
Value Unbatched(Composer& c, const Value& v, const Value& like, size_t rank) {
  return like.tensor().dim() + 1 == rank ? c.Call("aten::squeeze.dim", {v, Value(0)}) : v;
}

Value Im2Col(Composer& c, Args args) {
  constexpr size_t kRank = 4;
  const Tensor& self = args[0].tensor();
  if (self.dim() != kRank && self.dim() + 1 != kRank) {
    return c.Fail(Refused("size_mismatch", fmt::format("im2col: expected 3 or 4 dims, got sizes {}",
                                                       ToString(self.sizes))));
  }
  size_t first = self.dim() - 2;
  Result<Windows> w =
      WindowsOf("im2col", {self.sizes[first], self.sizes[first + 1]}, args.subspan(1));
  if (!w.ok()) return c.Fail(w.error());
  Dims edges = {w->padding[1], w->padding[1], w->padding[0], w->padding[0]};
  Value padded =
      c.Call("aten::constant_pad_nd", {Batched(c, args[0], kRank), Value::Ints(edges), Value(0)});
  padded = c.Call("aten::contiguous", {padded});
  if (!c.ok()) return padded;
  Dims sizes = {padded.tensor().sizes[0], padded.tensor().sizes[1] * w->size[0] * w->size[1],
                w->Places(0) * w->Places(1)};
  Value columns = c.Call("aten::clone", {Seen(c, padded, *w)},
                         {{"memory_format", Value(MemoryFormat::kContiguous)}});
  return Unbatched(c, c.Call("aten::view", {columns, Value::Ints(sizes)}), args[0], kRank);
}

Value Col2Im(Composer& c, Args args) {
  constexpr size_t kRank = 3;
  const Tensor& self = args[0].tensor();
  Result<Windows> w = WindowsOf("col2im", Pair(args[1]), args.subspan(2));
  if (!w.ok()) return c.Fail(w.error());
  Value batched = Batched(c, args[0], kRank);
  if (!c.ok()) return batched;
  const Dims& sizes = batched.tensor().sizes;
  int64_t window = w->size[0] * w->size[1], places = w->Places(0) * w->Places(1);
  if (sizes.size() != kRank || sizes[1] % window != 0 || sizes[2] != places) {
    return c.Fail(
        Refused("size_mismatch", fmt::format("col2im: columns of {} for windows of {} at {} places",
                                             ToString(self.sizes), window, places)));
  }
  int64_t channels = sizes[1] / window;
  Dims padded_sizes = {sizes[0], channels, w->Padded(0), w->Padded(1)};
  Value image = c.Call("aten::new_zeros", {args[0], Value::Ints(padded_sizes)});
  Dims split = {sizes[0], channels, w->size[0], w->size[1], w->Places(0), w->Places(1)};
  Value columns = c.Call("aten::reshape", {batched, Value::Ints(split)});
  if (!c.ok()) return columns;
  Value seen = Seen(c, image, *w);
  auto at = [&](const Value& v, int64_t y, int64_t x) {
    Value row = c.Call("aten::select.int", {v, Value(2), Value(y)});
    return c.Call("aten::select.int", {row, Value(2), Value(x)});
  };
  for (int64_t i = 0; c.ok() && i < window; ++i) {
    int64_t y = i / w->size[1], x = i % w->size[1];
    c.Call("aten::add_.Tensor", {at(seen, y, x), at(columns, y, x)});
  }
  for (size_t d = 0; d < 2; ++d) {
    image = c.Call("aten::slice.Tensor",
                   {image, Value(static_cast<int64_t>(d) + 2), Value(w->padding[d]),
                    Value(w->padding[d] + w->image[d]), Value(1)});
  }
  image = c.Call("aten::clone", {image}, {{"memory_format", Value(MemoryFormat::kContiguous)}});
  return Unbatched(c, image, args[0], kRank);
}

const ComposedRow kRows[] = {
    {"aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] "
     "stride) -> Tensor",
     Im2Col},
    {"aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] "
     "padding, int[2] stride) -> Tensor",
     Col2Im},
};

}  // namespace

Status RegisterColumns(op::OpTable& table) { return RegisterComposed(table, kRows); }

}  // namespace palimpsest::kernels
