// RunMap: which value every byte of a block of memory holds, run-length encoded.
//
// Note [Value numbers]
// Every byte that an operator computes gets a number; a copy hands numbers on. Two bytes with one
// number hold the same contents, wherever they lie. The bytes of one result are numbered in the
// order of their addresses, so that a dense result is a single run whatever its strides. A byte
// that nobody has written has no number: any contents will do, and it is never copied.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace palimpsest::reinplace {

// `bytes` from `address` on hold the numbers from `number` on.
struct Piece {
  int64_t address = 0, bytes = 0, number = 0;
  friend bool operator==(const Piece&, const Piece&) = default;
};
using Pieces = std::vector<Piece>;

class RunMap {
 public:
  // Bytes [address, address + bytes) now hold number, number + 1, ...
  void Assign(int64_t address, int64_t bytes, int64_t number) {
    if (bytes == 0) return;
    Erase(address, bytes);
    auto next = runs_.lower_bound(address);
    if (next != runs_.begin()) {
      auto previous = std::prev(next);
      if (previous->first + previous->second.bytes == address &&
          previous->second.number + previous->second.bytes == number) {
        previous->second.bytes += bytes;
        MergeWithNext(previous);
        return;
      }
    }
    MergeWithNext(runs_.emplace_hint(next, address, Run{bytes, number}));
  }
  // The bytes hold nothing.
  void Erase(int64_t address, int64_t bytes) {
    const int64_t end = address + bytes;
    auto it = FirstEndingAfter(address);
    while (it != runs_.end() && it->first < end) {
      const int64_t begin = it->first;
      const Run run = it->second;
      it = runs_.erase(it);
      if (begin < address) runs_.emplace_hint(it, begin, Run{address - begin, run.number});
      if (begin + run.bytes > end) {
        runs_.emplace_hint(it, end, Run{begin + run.bytes - end, run.number + end - begin});
        return;
      }
    }
  }
  // Calls f(piece) for what lies in [address, address + bytes), in order of addresses.
  template <typename F>
  void ForEach(int64_t address, int64_t bytes, F&& f) const {
    const int64_t end = address + bytes;
    for (auto it = FirstEndingAfter(address); it != runs_.end() && it->first < end; ++it) {
      const int64_t from = it->first < address ? address : it->first;
      const int64_t run_end = it->first + it->second.bytes;
      const int64_t to = run_end < end ? run_end : end;
      f(Piece{from, to - from, it->second.number + from - it->first});
    }
  }
  // Up to `count` runs that end at or before `address`, nearest first; those from `address` on.
  Pieces Before(int64_t address, int count) const {
    Pieces result;
    for (auto it = runs_.lower_bound(address); it != runs_.begin() && count > 0; --count) {
      --it;
      if (it->first + it->second.bytes > address) continue;
      result.push_back({it->first, it->second.bytes, it->second.number});
    }
    return result;
  }
  Pieces After(int64_t address, int count) const {
    Pieces result;
    for (auto it = runs_.lower_bound(address); it != runs_.end() && count > 0; ++it, --count) {
      result.push_back({it->first, it->second.bytes, it->second.number});
    }
    return result;
  }
  size_t size() const { return runs_.size(); }
  bool empty() const { return runs_.empty(); }

 private:
  struct Run {
    int64_t bytes, number;
  };
  using Map = std::map<int64_t, Run>;
  Map::iterator FirstEndingAfter(int64_t address) {
    auto it = runs_.upper_bound(address);
    if (it != runs_.begin() && std::prev(it)->first + std::prev(it)->second.bytes > address) --it;
    return it;
  }
  Map::const_iterator FirstEndingAfter(int64_t address) const {
    auto it = runs_.upper_bound(address);
    if (it != runs_.begin() && std::prev(it)->first + std::prev(it)->second.bytes > address) --it;
    return it;
  }
  void MergeWithNext(Map::iterator it) {
    auto next = std::next(it);
    if (next != runs_.end() && it->first + it->second.bytes == next->first &&
        it->second.number + it->second.bytes == next->second.number) {
      it->second.bytes += next->second.bytes;
      runs_.erase(next);
    }
  }
  Map runs_;
};

}  // namespace palimpsest::reinplace
