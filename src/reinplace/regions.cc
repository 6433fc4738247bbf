#include "reinplace/regions.h"

#include <algorithm>

namespace palimpsest::reinplace {
namespace {

bool IsEmpty(const View& view) {
  return std::any_of(view.sizes.begin(), view.sizes.end(), [](int64_t s) { return s <= 0; });
}

struct Dim {
  int64_t size, source, destination;  // strides in bytes
};

// Calls f(source, destination) for each index of the dims, the last dim fastest.
template <typename F>
void ForEachIndex(const std::vector<Dim>& dims, int64_t source, int64_t destination, F&& f) {
  std::vector<int64_t> index(dims.size(), 0);
  while (true) {
    f(source, destination);
    size_t k = dims.size();
    while (k > 0) {
      const Dim& d = dims[--k];
      source += d.source;
      destination += d.destination;
      if (++index[k] < d.size) break;
      source -= d.size * d.source;
      destination -= d.size * d.destination;
      index[k] = 0;
      if (k == 0) return;
    }
    if (dims.empty()) return;
  }
}

int64_t Count(const std::vector<Dim>& dims) {
  int64_t n = 1;
  for (const Dim& d : dims) n = n > kMaxRuns ? n : n * d.size;
  return n;
}

// Joins neighbouring dims that both sides step through as one.
void Coalesce(std::vector<Dim>& dims) {
  size_t kept = 0;
  for (const Dim& d : dims) {
    if (kept > 0 && dims[kept - 1].source == d.source * d.size &&
        dims[kept - 1].destination == d.destination * d.size) {
      dims[kept - 1] = {dims[kept - 1].size * d.size, d.source, d.destination};
    } else {
      dims[kept++] = d;
    }
  }
  dims.resize(kept);
}

// Row-major chunks of one view: (address, bytes).
std::optional<std::vector<Interval>> RowMajorChunks(const View& view) {
  const int64_t item = view.item_size();
  std::vector<Dim> dims;
  for (size_t k = 0; k < view.dim(); ++k) {
    if (view.sizes[k] != 1) dims.push_back({view.sizes[k], view.strides[k] * item, 0});
  }
  for (Dim& d : dims) d.destination = d.source;
  Coalesce(dims);
  int64_t bytes = item;
  if (!dims.empty() && dims.back().source == item) {
    bytes *= dims.back().size;
    dims.pop_back();
  }
  if (Count(dims) > kMaxRuns) return std::nullopt;
  std::vector<Interval> chunks;
  ForEachIndex(dims, view.offset * item, 0, [&](int64_t at, int64_t) {
    if (!chunks.empty() && chunks.back().end == at) {
      chunks.back().end = at + bytes;
    } else {
      chunks.push_back({at, at + bytes});
    }
  });
  return chunks;
}

std::optional<std::vector<Chunk>> Zip(const View& source, const View& destination) {
  std::optional<std::vector<Interval>> from = RowMajorChunks(source),
                                       to = RowMajorChunks(destination);
  if (!from || !to) return std::nullopt;
  std::vector<Chunk> chunks;
  size_t i = 0, j = 0;
  while (i < from->size() && j < to->size()) {
    Interval &a = (*from)[i], &b = (*to)[j];
    const int64_t bytes = std::min(a.end - a.begin, b.end - b.begin);
    chunks.push_back({a.begin, b.begin, bytes});
    a.begin += bytes;
    b.begin += bytes;
    if (a.begin == a.end) ++i;
    if (b.begin == b.end) ++j;
    if (static_cast<int64_t>(chunks.size()) > kMaxRuns) return std::nullopt;
  }
  return chunks;
}

}  // namespace

Interval ExtentOf(const View& view) {
  if (IsEmpty(view)) return {};
  const int64_t item = view.item_size();
  Interval extent{view.offset * item, (view.offset + 1) * item};
  for (size_t k = 0; k < view.dim(); ++k) {
    if (view.sizes[k] == 1) continue;
    const int64_t reach = view.strides[k] * (view.sizes[k] - 1) * item;
    (reach > 0 ? extent.end : extent.begin) += reach;
  }
  return extent;
}

std::optional<std::vector<Interval>> IntervalsOf(const View& view) {
  if (IsEmpty(view)) return std::vector<Interval>{};
  const int64_t item = view.item_size();
  std::vector<Dim> dims;
  for (size_t k = 0; k < view.dim(); ++k) {
    const int64_t stride = view.strides[k] < 0 ? -view.strides[k] : view.strides[k];
    if (view.sizes[k] > 1 && stride > 0) dims.push_back({view.sizes[k], stride * item, 0});
  }
  std::sort(dims.begin(), dims.end(),
            [](const Dim& a, const Dim& b) { return a.source > b.source; });
  int64_t block = item;
  while (!dims.empty() && dims.back().source <= block) {
    block += (dims.back().size - 1) * dims.back().source;
    dims.pop_back();
  }
  if (Count(dims) > kMaxRuns) return std::nullopt;
  std::vector<Interval> all;
  ForEachIndex(dims, ExtentOf(view).begin, 0,
               [&](int64_t at, int64_t) { all.push_back({at, at + block}); });
  auto by_begin = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
  if (!std::is_sorted(all.begin(), all.end(), by_begin))
    std::sort(all.begin(), all.end(), by_begin);
  std::vector<Interval> merged;
  for (const Interval& i : all) {
    if (!merged.empty() && i.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, i.end);
    } else {
      merged.push_back(i);
    }
  }
  return merged;
}

std::vector<Interval> IntervalsOrExtent(const View& view) {
  std::optional<std::vector<Interval>> exact = IntervalsOf(view);
  return exact ? std::move(*exact) : std::vector<Interval>{ExtentOf(view)};
}

bool Intersects(const std::vector<Interval>& sorted, Interval interval) {
  auto it = std::upper_bound(sorted.begin(), sorted.end(), interval.begin,
                             [](int64_t at, const Interval& i) { return at < i.end; });
  return it != sorted.end() && it->begin < interval.end;
}

std::vector<Interval> Intersection(const std::vector<Interval>& sorted, Interval interval) {
  std::vector<Interval> result;
  auto it = std::upper_bound(sorted.begin(), sorted.end(), interval.begin,
                             [](int64_t at, const Interval& i) { return at < i.end; });
  for (; it != sorted.end() && it->begin < interval.end; ++it) {
    result.push_back({std::max(it->begin, interval.begin), std::min(it->end, interval.end)});
  }
  return result;
}

std::optional<std::vector<Chunk>> CopyChunks(const View& source, const View& destination) {
  if (IsEmpty(source) || IsEmpty(destination)) return std::vector<Chunk>{};
  if (source.sizes != destination.sizes) return Zip(source, destination);
  const int64_t item = source.item_size();
  std::vector<Dim> dims;
  for (size_t k = 0; k < source.dim(); ++k) {
    if (source.sizes[k] == 1) continue;
    dims.push_back({source.sizes[k], source.strides[k] * item, destination.strides[k] * item});
  }
  std::sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) {
    return std::abs(a.destination) > std::abs(b.destination);
  });
  Coalesce(dims);
  int64_t bytes = item;
  if (!dims.empty() && dims.back().source == item && dims.back().destination == item) {
    bytes *= dims.back().size;
    dims.pop_back();
  }
  if (Count(dims) > kMaxRuns) return std::nullopt;
  std::vector<Chunk> chunks;
  ForEachIndex(dims, source.offset * item, destination.offset * item,
               [&](int64_t from, int64_t to) { chunks.push_back({from, to, bytes}); });
  return chunks;
}

View ExpandTo(const View& view, const Dims& sizes) {
  View result = view;
  result.sizes = sizes;
  result.strides = Dims(sizes.size(), 0);
  const size_t added = sizes.size() - std::min(sizes.size(), view.dim());
  for (size_t k = added; k < sizes.size(); ++k) {
    if (view.sizes[k - added] == sizes[k]) result.strides[k] = view.strides[k - added];
  }
  return result;
}

std::optional<View> Shifted(const View& view, int64_t bytes) {
  if (bytes % view.item_size() != 0) return std::nullopt;
  View result = view;
  result.offset += bytes / view.item_size();
  return result;
}

}  // namespace palimpsest::reinplace
