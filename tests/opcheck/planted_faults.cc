// A library with one fault an operator, and one without: what opcheck must find.
#include "palimpsest/operator_library.h"

namespace {

using namespace palimpsest::plugin;
using palimpsest::DType;

void RequireVector(const Tensor& x) {
  Require(x.dim() == 1 && x.size(0) >= 1 && x.dtype() == DType::kF32, "a vector of f32");
}
float* Elements(const Tensor& x) { return const_cast<float*>(x.data<const float>()); }

void Good(Tensor x, double by) {
  RequireVector(x);
  for (int64_t i = 0; i < x.size(0); ++i)
    x.data<float>()[i * x.stride(0)] += static_cast<float>(by);
}

// Doubles what it only reads.
void UndeclaredWrite(Tensor x, Tensor y) {
  RequireVector(x);
  RequireVector(y);
  Elements(y)[0] = 2 * Elements(y)[0] + 1;
  x.data<float>()[0] += 1;
}

// Says that it writes y.
void NeverWrites(Tensor x, Tensor y) {
  RequireVector(x);
  RequireVector(y);
  x.data<float>()[0] += 1;
}

// Goes on working on the memory of the call before.
void KeepsMemory(Tensor x) {
  RequireVector(x);
  static float* last = nullptr;
  if (last != nullptr) *last += 1;
  last = x.data<float>();
  *last += 1;
}

// Gives half of what its shape function says.
void HalfResult(Tensor x, Tensor result) {
  RequireVector(x);
  for (int64_t i = 0; i < x.size(0); ++i) {
    result.data<float>()[i * result.stride(0)] = Elements(x)[i * x.stride(0)];
  }
}
NewTensor HalfResultMeta(Tensor x) {
  RequireVector(x);
  return NewTensor(DType::kF32, {2 * x.size(0)});
}

// Takes every tensor for contiguous.
void IgnoresStrides(Tensor x, Tensor result) {
  RequireVector(x);
  for (int64_t i = 0; i < x.size(0); ++i) {
    result.data<float>()[i * result.stride(0)] = Elements(x)[i];
  }
}
NewTensor LikeVector(Tensor x) {
  RequireVector(x);
  return NewTensor(DType::kF32, {x.size(0)});
}

// Takes every tensor to begin on a multiple of 64 bytes.
void IgnoresOffset(Tensor x, Tensor result) {
  RequireVector(x);
  const auto address = reinterpret_cast<uintptr_t>(Elements(x)) & ~uintptr_t{63};
  const auto* aligned = reinterpret_cast<const float*>(address);
  for (int64_t i = 0; i < x.size(0); ++i) {
    result.data<float>()[i * result.stride(0)] = aligned[i * x.stride(0)];
  }
}

// One element too many.
void WritesBeyond(Tensor x) {
  RequireVector(x);
  for (int64_t i = 0; i <= x.size(0); ++i) x.data<float>()[i * x.stride(0)] = 7;
}

}  // namespace

PALIMPSEST_LIBRARY(planted, m) {
  m.def("good(Tensor(a!) x, float by=1.0) -> ()", Good);
  m.def("undeclared_write(Tensor(a!) x, Tensor y) -> ()", UndeclaredWrite);
  m.def("never_writes(Tensor(a!) x, Tensor(b!) y) -> ()", NeverWrites);
  m.def("keeps_memory(Tensor(a!) x) -> ()", KeepsMemory);
  m.def("half_result(Tensor x) -> Tensor", HalfResult, HalfResultMeta);
  m.def("ignores_strides(Tensor x) -> Tensor", IgnoresStrides, LikeVector);
  m.def("ignores_offset(Tensor x) -> Tensor", IgnoresOffset, LikeVector);
  m.def("writes_beyond(Tensor(a!) x) -> ()", WritesBeyond);
}
