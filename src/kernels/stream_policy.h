// When stores should bypass the cache.
#pragma once

#include <cstdint>

namespace palimpsest::kernels {

// Results of this many bytes and more are streamed; the largest integer where that never pays on
// this machine. Measured once per process, when first asked by something large.
int64_t StreamFrom();
// For tests and comparisons. Negative: as measured.
void SetStreamFrom(int64_t bytes);

}  // namespace palimpsest::kernels
