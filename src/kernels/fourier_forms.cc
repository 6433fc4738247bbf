// fft_fft, fft_irfftn, ...: the signal is cut or filled up with zeros, then one of the three
// kernels runs.
#include <fmt/format.h>

#include "core/promotion.h"
#include "kernels/composed.h"
#include "kernels/fourier.h"
#include "kernels/reduce_dims.h"

namespace palimpsest::kernels {
namespace {

using Args = std::span<const Value>;

constexpr int64_t kByNothing = 0, kByRoot = 1, kByCount = 2;

// "backward" (None) scales the inverse transform, "forward" the other, "ortho" both by the root.
Result<int64_t> Normalization(const Value& norm, bool forward) {
  std::string name = norm.IsNone() ? "backward" : norm.As<std::string>();
  if (name == "ortho") return kByRoot;
  if (name == "backward") return forward ? kByNothing : kByCount;
  if (name == "forward") return forward ? kByCount : kByNothing;
  return Refused("bad_argument", fmt::format("fft: invalid normalization mode \"{}\"", name));
}

struct Signal {
  Dims dims, sizes;  // per transformed dim
};

// `lengths`: None, a number or a list; `dim` likewise (None: all dims, or the last ones).
Result<Signal> SignalOf(const Tensor& self, const Value& lengths, const Value& dim) {
  Signal signal;
  Dims asked = lengths.IsNone() ? Dims() : lengths.ToDims();
  if (!dim.IsNone()) {
    for (int64_t d : dim.ToDims()) {
      PAL_TRY(int64_t wrapped, WrapDim(d, self.dim()));
      signal.dims.push_back(wrapped);
    }
  } else {
    size_t count = lengths.IsNone() ? self.dim() : asked.size();
    if (count > self.dim()) return Refused("bad_argument", "fft: more lengths than dims");
    for (size_t d = self.dim() - count; d < self.dim(); ++d) {
      signal.dims.push_back(static_cast<int64_t>(d));
    }
  }
  if (!lengths.IsNone() && asked.size() != signal.dims.size()) {
    return Refused("bad_argument", "fft: lengths and dims must be equally many");
  }
  for (size_t i = 0; i < signal.dims.size(); ++i) {
    int64_t own = self.dim() == 0 ? 1 : self.sizes[static_cast<size_t>(signal.dims[i])];
    int64_t size = lengths.IsNone() || asked[i] == -1 ? own : asked[i];
    if (size < 1) {
      return Refused("bad_argument", fmt::format("fft: invalid number of data points ({})", size));
    }
    signal.sizes.push_back(size);
  }
  return signal;
}

Value Resized(Composer& c, Value v, const Dims& dims, const Dims& sizes) {
  for (size_t i = 0; c.ok() && i < dims.size(); ++i) {
    auto d = static_cast<size_t>(dims[i]);
    int64_t own = v.tensor().sizes[d];
    if (sizes[i] < own) {
      v = c.Call("aten::slice.Tensor", {v, Value(dims[i]), Value(0), Value(sizes[i]), Value(1)});
    } else if (sizes[i] > own) {
      Dims edges(2 * (v.tensor().dim() - d), 0);
      edges.back() = sizes[i] - own;
      v = c.Call("aten::constant_pad_nd", {v, Value::Ints(edges), Value(0)});
    }
  }
  return v;
}

// Integers become floats; with `to_complex`, floats complex numbers.
Value Promoted(Composer& c, const Value& v, bool to_complex) {
  DType dtype = v.tensor().dtype;
  if (!IsFloating(dtype) && !IsComplex(dtype)) dtype = DType::kF32;
  if (to_complex && IsFloating(dtype)) dtype = ComplexType(dtype);
  if (dtype == v.tensor().dtype) return v;
  return c.Call("aten::to.dtype", {v, Value(dtype)});
}

Value ComplexTransform(Composer& c, Args args, bool forward) {
  Result<Signal> signal = SignalOf(args[0].tensor(), args[1], args[2]);
  if (!signal.ok()) return c.Fail(signal.error());
  Result<int64_t> norm = Normalization(args[3], forward);
  if (!norm.ok()) return c.Fail(norm.error());
  Value self = Resized(c, Promoted(c, args[0], true), signal->dims, signal->sizes);
  return c.Call("aten::_fft_c2c", {self, Value::Ints(signal->dims), Value(*norm), Value(forward)});
}
Value Forward(Composer& c, Args args) { return ComplexTransform(c, args, true); }
Value Inverse(Composer& c, Args args) { return ComplexTransform(c, args, false); }

Value RealForward(Composer& c, Args args) {
  if (IsComplex(args[0].tensor().dtype)) {
    return c.Fail(Refused("unsupported_dtype", "rfft expects a real input tensor"));
  }
  Result<Signal> signal = SignalOf(args[0].tensor(), args[1], args[2]);
  if (!signal.ok()) return c.Fail(signal.error());
  Result<int64_t> norm = Normalization(args[3], true);
  if (!norm.ok()) return c.Fail(norm.error());
  Value self = Resized(c, Promoted(c, args[0], false), signal->dims, signal->sizes);
  return c.Call("aten::_fft_r2c", {self, Value::Ints(signal->dims), Value(*norm), Value(true)});
}

// The last length is that of the real signal, of which the spectrum holds half.

Value InverseToReal(Composer& c, Args args) {
  const Tensor& self = args[0].tensor();
  Value lengths = args[1];
  Result<Signal> signal = SignalOf(self, lengths, args[2]);
  if (!signal.ok()) return c.Fail(signal.error());
  if (signal->dims.empty()) return c.Fail(Refused("bad_argument", "irfftn needs a dim"));
  int64_t& last = signal->sizes.back();
  bool given = !lengths.IsNone() && lengths.ToDims().back() != -1;
  int64_t length = given ? last : 2 * (last - 1);
  if (length < 1) {
    return c.Fail(
        Refused("bad_argument", fmt::format("fft: invalid number of data points ({})", length)));
  }
  last = length / 2 + 1;
  Result<int64_t> norm = Normalization(args[3], false);
  if (!norm.ok()) return c.Fail(norm.error());
  Value half = Resized(c, Promoted(c, args[0], true), signal->dims, signal->sizes);
  return c.Call("aten::_fft_c2r", {half, Value::Ints(signal->dims), Value(*norm), Value(length)});
}

// Rolls every dim by half its length; `up`: the extra element of an odd length counts too.
Value Shifted(Composer& c, Args args, bool up) {
  const Tensor& self = args[0].tensor();
  Result<Signal> signal = SignalOf(self, Value(), args[1]);
  if (!signal.ok()) return c.Fail(signal.error());
  Dims shifts;
  for (int64_t size : signal->sizes) shifts.push_back((size + (up ? 1 : 0)) / 2);
  return c.Call("aten::roll", {args[0], Value::Ints(shifts), Value::Ints(signal->dims)});
}
Value Shift(Composer& c, Args args) { return Shifted(c, args, false); }
Value ShiftBack(Composer& c, Args args) { return Shifted(c, args, true); }

constexpr const char* kOneDim =
    "(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor";
constexpr const char* kTwoDims =
    "(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor";
constexpr const char* kAnyDims =
    "(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor";
constexpr const char* kShift = "(Tensor self, int[1]? dim=None) -> Tensor";

struct FormRow {
  const char *name, *signature;
  Composition compose;
};
const FormRow kForms[] = {
    {"fft", kOneDim, Forward},        {"ifft", kOneDim, Inverse},
    {"rfft", kOneDim, RealForward},   {"irfft", kOneDim, InverseToReal},
    {"fft2", kTwoDims, Forward},      {"ifft2", kTwoDims, Inverse},
    {"rfft2", kTwoDims, RealForward}, {"irfft2", kTwoDims, InverseToReal},
    {"fftn", kAnyDims, Forward},      {"ifftn", kAnyDims, Inverse},
    {"rfftn", kAnyDims, RealForward}, {"irfftn", kAnyDims, InverseToReal},
    {"fftshift", kShift, Shift},      {"ifftshift", kShift, ShiftBack},
};

}  // namespace

Status RegisterFourierForms(op::OpTable& table) {
  for (const FormRow& form : kForms) {
    std::string schema = fmt::format("aten::fft_{}{}", form.name, form.signature);
    ComposedRow row{schema.c_str(), form.compose};
    PAL_TRY(RegisterComposed(table, {&row, 1}));
  }
  return {};
}

}  // namespace palimpsest::kernels
