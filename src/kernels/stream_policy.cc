#include "kernels/stream_policy.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace palimpsest::kernels {
namespace {

std::atomic<int64_t> given{-1};

}  // namespace

int64_t StreamFrom() {
  int64_t set = given.load(std::memory_order_relaxed);
  if (set >= 0) return set;
  static const int64_t bytes = [] {
    int64_t cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return 2 * std::max<int64_t>(cache, 1 << 20);
  }();
  return bytes;
}

void SetStreamFrom(int64_t bytes) { given.store(bytes, std::memory_order_relaxed); }

}  // namespace palimpsest::kernels
