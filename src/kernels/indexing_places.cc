#include "kernels/indexing_places.h"

#include <fmt/format.h>

#include <cstring>

#include "kernels/copy.h"
#include "kernels/views.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {

Result<std::vector<int64_t>> ReadIntegers(const Tensor& t, const Dims& sizes) {
  PAL_TRY(View expanded, ExpandView(t.view(), sizes));
  PAL_TRY(int64_t count, CheckedNumel(sizes));
  std::vector<int64_t> values(static_cast<size_t>(count));
  if (count == 0) return values;
  auto storage =
      std::make_shared<Storage>(reinterpret_cast<std::byte*>(values.data()), count * 8, nullptr);
  PAL_TRY(CopyTo(Tensor(expanded, t.storage), Tensor(ContiguousView(DType::kI64, sizes), storage)));
  return values;
}

Status AddPlaces(std::span<const int64_t> index, int64_t size, int64_t stride_bytes,
                 NegativeIndex negative, int64_t dim, std::vector<int64_t>& bytes) {
  int64_t least = negative == NegativeIndex::kWraps ? -size : 0;
  for (size_t i = 0; i < index.size(); ++i) {
    int64_t k = index[i];
    if (k < least || k >= size) {
      return RuntimeFailure(
          fmt::format("index {} is out of bounds for dimension {} with size {}", k, dim, size),
          "index_out_of_range");
    }
    bytes[i] += (k < 0 ? k + size : k) * stride_bytes;
  }
  return {};
}

int64_t OffsetOfLinear(const View& view, int64_t place) {
  int64_t offset = 0;
  for (size_t d = view.dim(); d-- > 0;) {
    offset += place % view.sizes[d] * view.strides[d];
    place /= view.sizes[d];
  }
  return offset * view.item_size();
}

namespace {

template <size_t kItem>
void ReadRow(std::byte* const* p, const int64_t* s, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    int64_t place = *reinterpret_cast<const int64_t*>(p[2] + i * s[2]);
    std::memcpy(p[0] + i * s[0], p[1] + i * s[1] + place, kItem);
  }
}

using RowFn = void (*)(std::byte* const* p, const int64_t* s, int64_t n);
RowFn ReadRowOf(int64_t item) {
  switch (item) {
    case 1:
      return ReadRow<1>;
    case 2:
      return ReadRow<2>;
    case 4:
      return ReadRow<4>;
    case 8:
      return ReadRow<8>;
    default:
      return ReadRow<16>;
  }
}

// The walk over result (or target), the other side, and the displacements.
template <typename Row>
Status WalkPlaces(const Tensor& first, const Tensor& second, const Places& places, bool linear,
                  Row&& row) {
  if (first.numel() == 0) return {};
  IteratorConfig config = IteratorConfig::Walk();
  config.linear = linear;
  config.AddOutput(first.view()).AddInput(second.view()).AddInput(places.view);
  PAL_TRY(Iteration iteration, Iteration::Build(config));
  auto* displacements = const_cast<int64_t*>(places.bytes.data());
  std::byte* bases[] = {first.data(), second.data(), reinterpret_cast<std::byte*>(displacements)};
  iteration.ForEach(bases, [&](std::byte* const* p, const int64_t* s, int64_t n0, int64_t n1) {
    for (int64_t j = 0; j < n1; ++j) {
      std::byte* at[] = {p[0] + j * s[3], p[1] + j * s[4], p[2] + j * s[5]};
      row(at, s, n0);
    }
  });
  return {};
}

}  // namespace

Status ReadAt(const Tensor& source, const Places& places, const Tensor& result) {
  int64_t item = result.item_size();
  RowFn row = ReadRowOf(item);
  return WalkPlaces(result, source, places, false,
                    [&](std::byte* const* p, const int64_t* s, int64_t n) {
                      if (s[2] != 0 || s[0] != item || s[1] != item) return row(p, s, n);
                      int64_t place = *reinterpret_cast<const int64_t*>(p[2]);
                      std::memcpy(p[0], p[1] + place, static_cast<size_t>(n * item));
                    });
}

Status WriteAt(const Tensor& target, const Places& places, const Tensor& values, CombineRow row) {
  return WalkPlaces(target, values, places, true,
                    [&](std::byte* const* p, const int64_t* s, int64_t n) { row(p, s, n); });
}

Status CheckIndexType(const op::Op& op, const Tensor& index, bool allow_i32) {
  if (index.dtype == DType::kI64 || (allow_i32 && index.dtype == DType::kI32)) return {};
  return Refused("unsupported_dtype",
                 fmt::format("{}: expected dtype int64{} for index, got {}", op.schema.Key(),
                             allow_i32 ? " or int32" : "", TorchName(index.dtype)));
}

}  // namespace palimpsest::kernels
