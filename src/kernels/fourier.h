// Discrete Fourier transforms: _fft_c2c, _fft_r2c, _fft_c2r and the fft_* forms over them.
#pragma once

#include <complex>
#include <span>

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterFourier(op::OpTable& table);

// By file.
Status RegisterFourierKernels(op::OpTable& table);
Status RegisterFourierForms(op::OpTable& table);

// Transforms of one length, any length; not scaled. O(n log n) for every n: lengths with a large
// prime factor go through a convolution (Bluestein's chirp transform).
class FourierPlan {
 public:
  FourierPlan(int64_t length, bool inverse);
  FourierPlan(FourierPlan&&) noexcept;
  ~FourierPlan();
  // In place; `line` has `length` elements.
  void Run(std::span<std::complex<double>> line) const;

 private:
  struct Chirp;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace palimpsest::kernels
