#include <kissfft/kissfft.hh>
#include <numbers>
#include <optional>

#include "kernels/fourier.h"

namespace palimpsest::kernels {

using Complex = std::complex<double>;

// x[k] = w[k] * sum of (x[n] w[n]) / w[k - n], w[n] = exp(-+ pi i n^2 / length): a convolution,
// done by transforms of a length that is a power of two.
struct FourierPlan::Chirp {
  std::vector<Complex> w;       // `length` elements
  std::vector<Complex> kernel;  // transform of 1 / w, cyclic
  kissfft<double> forward, backward;

  Chirp(size_t length, bool inverse, size_t padded)
      : w(length), kernel(padded), forward(padded, false), backward(padded, true) {
    double turn = (inverse ? 1.0 : -1.0) * std::numbers::pi / static_cast<double>(length);
    std::vector<Complex> reciprocal(padded);
    size_t square = 0;  // n^2 modulo 2 * length: keeps the angle small
    for (size_t n = 0; n < length; ++n) {
      w[n] = std::polar(1.0, turn * static_cast<double>(square));
      reciprocal[n] = std::conj(w[n]);
      if (n > 0) reciprocal[padded - n] = std::conj(w[n]);
      square = (square + 2 * n + 1) % (2 * length);
    }
    forward.transform(reciprocal.data(), kernel.data());
  }

  void Run(std::span<Complex> line) {
    std::vector<Complex> scaled(kernel.size()), spectrum(kernel.size());
    for (size_t n = 0; n < w.size(); ++n) scaled[n] = line[n] * w[n];
    forward.transform(scaled.data(), spectrum.data());
    for (size_t k = 0; k < kernel.size(); ++k) spectrum[k] *= kernel[k];
    backward.transform(spectrum.data(), scaled.data());
    double scale = 1.0 / static_cast<double>(kernel.size());
    for (size_t k = 0; k < w.size(); ++k) line[k] = scaled[k] * w[k] * scale;
  }
};

struct FourierPlan::Impl {
  std::optional<kissfft<double>> direct;
  std::optional<Chirp> chirp;
};

namespace {

size_t LargestPrimeFactor(size_t n) {
  size_t largest = 1;
  for (size_t p = 2; p * p <= n; ++p) {
    while (n % p == 0) {
      largest = p;
      n /= p;
    }
  }
  return n > 1 ? n : largest;
}

// Beyond this a factor's own O(p^2) costs more than the convolution.
constexpr size_t kLargestDirectFactor = 61;

}  // namespace

FourierPlan::FourierPlan(int64_t length, bool inverse) : impl_(std::make_unique<Impl>()) {
  auto n = static_cast<size_t>(length);
  if (LargestPrimeFactor(n) <= kLargestDirectFactor) {
    impl_->direct.emplace(n, inverse);
    return;
  }
  size_t padded = 1;
  while (padded < 2 * n - 1) padded *= 2;
  impl_->chirp.emplace(n, inverse, padded);
}
FourierPlan::FourierPlan(FourierPlan&&) noexcept = default;
FourierPlan::~FourierPlan() = default;

void FourierPlan::Run(std::span<Complex> line) const {
  if (impl_->chirp) return impl_->chirp->Run(line);
  std::vector<Complex> from(line.begin(), line.end());
  impl_->direct->transform(from.data(), line.data());
}

}  // namespace palimpsest::kernels
