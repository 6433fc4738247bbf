#include "reinplace/pieces.h"

#include <algorithm>

namespace palimpsest::reinplace {

std::vector<Interval> AbsoluteIntervals(const Pieces& pieces, int64_t low) {
  std::vector<Interval> result;
  for (const Piece& p : pieces) {
    const Interval i{low + p.address, low + p.address + p.bytes};
    if (!result.empty() && result.back().end == i.begin) {
      result.back().end = i.end;
    } else {
      result.push_back(i);
    }
  }
  return result;
}

std::optional<Pieces> WhereTheyEnd(const std::map<int64_t, Piece>& by_number,
                                   const Pieces& pieces) {
  Pieces result;
  for (const Piece& p : pieces) {
    int64_t number = p.number;
    while (number < p.number + p.bytes) {
      auto it = by_number.upper_bound(number);
      if (it == by_number.begin()) return std::nullopt;
      const Piece& end = std::prev(it)->second;
      const int64_t skipped = number - end.number;
      if (skipped >= end.bytes) return std::nullopt;
      const int64_t bytes = std::min(end.bytes - skipped, p.number + p.bytes - number);
      result.push_back({end.address + skipped, bytes, number});
      number += bytes;
    }
  }
  std::sort(result.begin(), result.end(),
            [](const Piece& a, const Piece& b) { return a.address < b.address; });
  // A number that lies in two places has one end: it goes there once.
  Pieces once;
  int64_t covered = 0;
  for (const Piece& p : result) {
    const int64_t skipped = std::max<int64_t>(covered - p.address, 0);
    if (skipped < p.bytes) {
      once.push_back({p.address + skipped, p.bytes - skipped, p.number + skipped});
    }
    covered = std::max(covered, p.address + p.bytes);
  }
  return once;
}

Pieces WithoutNumbers(const Pieces& pieces, const Pieces& moved) {
  if (pieces.empty()) return pieces;
  std::map<int64_t, int64_t> ranges;  // first number -> end
  for (const Piece& m : moved) {
    int64_t& end = ranges[m.number];
    end = std::max(end, m.number + m.bytes);
  }
  Pieces result;
  for (const Piece& p : pieces) {
    int64_t number = p.number;
    const int64_t end = p.number + p.bytes;
    auto it = ranges.upper_bound(number);
    if (it != ranges.begin()) --it;
    for (; it != ranges.end() && it->first < end; ++it) {
      if (it->second <= number) continue;
      if (it->first > number) {
        result.push_back({p.address + number - p.number, it->first - number, number});
      }
      number = std::max(number, it->second);
    }
    if (number < end) result.push_back({p.address + number - p.number, end - number, number});
  }
  return result;
}

}  // namespace palimpsest::reinplace
