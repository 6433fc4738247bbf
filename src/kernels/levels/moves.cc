// Moving elements without looking at them: transposed blocks and stores past the cache.
//
// A block is transposed by a ladder of unpack instructions. A register of L lanes of 16 bytes takes
// n = 16 / item elements from each of L rows; n such registers and log2(n) steps of "interleave
// register i with register i + n/2" give n columns of L * n elements: unpacking never crosses a
// lane, and the rows are put side by side while loading.
#include "kernels/levels/moves.h"

#include "kernels/levels/register.h"

namespace palimpsest::kernels::PAL_LEVEL {
namespace {

void Element(std::byte* to, const std::byte* from, int64_t item) {
  switch (item) {
    case 1:
      std::memcpy(to, from, 1);
      break;
    case 2:
      std::memcpy(to, from, 2);
      break;
    case 4:
      std::memcpy(to, from, 4);
      break;
    case 8:
      std::memcpy(to, from, 8);
      break;
    default:
      std::memcpy(to, from, 16);
  }
}

template <int64_t kItem>
void TransposeElements(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
                       int64_t rows, int64_t columns) {
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) {
      Element(to + c * to_stride + r * kItem, from + r * from_stride + c * kItem, kItem);
    }
  }
}

#ifdef __SSE2__
#if defined(__AVX512BW__) && defined(__AVX512VL__)
using Wide = __m512i;
Wide LoadLanes(const std::byte* from, int64_t step) {
  auto lane = [&](int64_t i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * step));
  };
  __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(lane(0)), lane(1), 1);
  __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(lane(2)), lane(3), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
template <int64_t kItem>
Wide UnpackLow(Wide a, Wide b) {
  if constexpr (kItem == 1) return _mm512_unpacklo_epi8(a, b);
  if constexpr (kItem == 2) return _mm512_unpacklo_epi16(a, b);
  if constexpr (kItem == 4) return _mm512_unpacklo_epi32(a, b);
  return _mm512_unpacklo_epi64(a, b);
}
template <int64_t kItem>
Wide UnpackHigh(Wide a, Wide b) {
  if constexpr (kItem == 1) return _mm512_unpackhi_epi8(a, b);
  if constexpr (kItem == 2) return _mm512_unpackhi_epi16(a, b);
  if constexpr (kItem == 4) return _mm512_unpackhi_epi32(a, b);
  return _mm512_unpackhi_epi64(a, b);
}
void StreamWide(std::byte* to, Wide v) { _mm512_stream_si512(reinterpret_cast<Wide*>(to), v); }
#elif defined(__AVX2__)
using Wide = __m256i;
Wide LoadLanes(const std::byte* from, int64_t step) {
  auto lane = [&](int64_t i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * step));
  };
  return _mm256_inserti128_si256(_mm256_castsi128_si256(lane(0)), lane(1), 1);
}
template <int64_t kItem>
Wide UnpackLow(Wide a, Wide b) {
  if constexpr (kItem == 1) return _mm256_unpacklo_epi8(a, b);
  if constexpr (kItem == 2) return _mm256_unpacklo_epi16(a, b);
  if constexpr (kItem == 4) return _mm256_unpacklo_epi32(a, b);
  return _mm256_unpacklo_epi64(a, b);
}
template <int64_t kItem>
Wide UnpackHigh(Wide a, Wide b) {
  if constexpr (kItem == 1) return _mm256_unpackhi_epi8(a, b);
  if constexpr (kItem == 2) return _mm256_unpackhi_epi16(a, b);
  if constexpr (kItem == 4) return _mm256_unpackhi_epi32(a, b);
  return _mm256_unpackhi_epi64(a, b);
}
void StreamWide(std::byte* to, Wide v) { _mm256_stream_si256(reinterpret_cast<Wide*>(to), v); }
#else
using Wide = __m128i;
Wide LoadLanes(const std::byte* from, int64_t) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
template <int64_t kItem>
Wide UnpackLow(Wide a, Wide b) {
  if constexpr (kItem == 1) return _mm_unpacklo_epi8(a, b);
  if constexpr (kItem == 2) return _mm_unpacklo_epi16(a, b);
  if constexpr (kItem == 4) return _mm_unpacklo_epi32(a, b);
  return _mm_unpacklo_epi64(a, b);
}
template <int64_t kItem>
Wide UnpackHigh(Wide a, Wide b) {
  if constexpr (kItem == 1) return _mm_unpackhi_epi8(a, b);
  if constexpr (kItem == 2) return _mm_unpackhi_epi16(a, b);
  if constexpr (kItem == 4) return _mm_unpackhi_epi32(a, b);
  return _mm_unpackhi_epi64(a, b);
}
void StreamWide(std::byte* to, Wide v) { _mm_stream_si128(reinterpret_cast<Wide*>(to), v); }
#endif

template <int64_t kItem>
void Transpose(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
               int64_t rows, int64_t columns) {
  constexpr int64_t n = 16 / kItem;                         // columns of a block
  constexpr int64_t kRows = int64_t{sizeof(Wide)} / kItem;  // rows of a block
  int64_t whole_rows = rows - rows % kRows, whole_columns = columns - columns % n;
  for (int64_t c = 0; c < whole_columns; c += n) {
    for (int64_t r = 0; r < whole_rows; r += kRows) {
      Wide block[n], next[n];
      const std::byte* at = from + r * from_stride + c * kItem;
      for (int64_t i = 0; i < n; ++i) block[i] = LoadLanes(at + i * from_stride, n * from_stride);
      for (int64_t step = 1; step < n; step *= 2) {
        for (int64_t i = 0; i < n / 2; ++i) {
          next[2 * i] = UnpackLow<kItem>(block[i], block[i + n / 2]);
          next[2 * i + 1] = UnpackHigh<kItem>(block[i], block[i + n / 2]);
        }
        for (int64_t i = 0; i < n; ++i) block[i] = next[i];
      }
      for (int64_t i = 0; i < n; ++i) {
        std::memcpy(to + (c + i) * to_stride + r * kItem, &block[i], sizeof(Wide));
      }
    }
  }
  if (whole_rows < rows) {
    TransposeElements<kItem>(to + whole_rows * kItem, to_stride, from + whole_rows * from_stride,
                             from_stride, rows - whole_rows, whole_columns);
  }
  if (whole_columns < columns) {
    TransposeElements<kItem>(to + whole_columns * to_stride, to_stride,
                             from + whole_columns * kItem, from_stride, rows,
                             columns - whole_columns);
  }
}

void Stream(std::byte* to, const std::byte* from, int64_t bytes) {
  constexpr int64_t kLine = 64;
  int64_t head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(to) & uintptr_t{kLine - 1});
  head = head < bytes ? head : bytes;
  std::memcpy(to, from, static_cast<size_t>(head));
  int64_t i = head;
  for (; i + kLine <= bytes; i += kLine) {
    for (int64_t w = 0; w < kLine; w += int64_t{sizeof(Wide)}) {
      StreamWide(to + i + w, Load<Wide>(from + i + w));
    }
  }
  std::memcpy(to + i, from + i, static_cast<size_t>(bytes - i));
}
void Fence() { _mm_sfence(); }
#else
template <int64_t kItem>
void Transpose(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
               int64_t rows, int64_t columns) {
  TransposeElements<kItem>(to, to_stride, from, from_stride, rows, columns);
}
void Stream(std::byte* to, const std::byte* from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}
void Fence() {}
#endif

}  // namespace

LoopMoves Moves() {
  return {.transpose = {Transpose<1>, Transpose<2>, Transpose<4>, Transpose<8>, Transpose<16>},
          .stream = Stream,
          .fence = Fence};
}

}  // namespace palimpsest::kernels::PAL_LEVEL
