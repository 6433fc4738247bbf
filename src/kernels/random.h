// Random numbers, equal to PyTorch's CPU generator, and the operators that draw them.
//
// Every random operator has trait `random`: calls keep their order and are never merged, repeated
// or dropped. Without a generator (op::CallOp with none) they use one that is seeded with 0.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "op/op.h"

namespace palimpsest::op {

// The Mersenne Twister with 32-bit outputs, seeded as PyTorch's and numpy's RandomState are. Not
// synchronised: one per session.
class Generator {
 public:
  explicit Generator(uint64_t seed = 0) { Seed(seed); }
  void Seed(uint64_t seed);
  uint32_t Draw32();
  uint64_t Draw64();  // two draws, the first one in the high half
  // [0, 1), 24 bits of one draw, or 53 bits of two.
  float Uniform32();
  double Uniform64();
  // One number of the standard normal distribution; every second call draws nothing.
  double Normal();

 private:
  void Refill();
  std::array<uint32_t, 624> state_;
  size_t next_ = 0;
  std::optional<double> next_normal_;
};

}  // namespace palimpsest::op

namespace palimpsest::kernels {

Status RegisterRandom(op::OpTable& table);
// By file.
Status RegisterDropout(op::OpTable& table);

}  // namespace palimpsest::kernels
