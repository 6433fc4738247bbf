// Graph texts of any size, for bench_scale: what they look like is fixed, only the number grows.
#pragma once

#include <string>

namespace palimpsest::bench {

// `for i in range(rows): foo(x[i]); out.append(x[i].sum())`, then `return stack(out)`.
std::string RowsReadAfterUpdate(int rows);
// foo(x[0]), foo(x[1]), ...: one custom operator call per row of one input.
std::string RowUpdates(int calls);
// Layers of norm, projection, two cache writes and a gated product; every layer has its own caches.
std::string Decoder(int nodes);
// Point-wise operators, copies, views, writes to views and custom operators at random.
std::string RandomDag(int nodes, unsigned seed);

}  // namespace palimpsest::bench
