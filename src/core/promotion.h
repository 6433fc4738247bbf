// Type promotion: which element type an operation computes in.
//
// Three ranks: tensors with dims, 0-dim tensors, Python numbers. A lower rank changes the result
// only by a higher category (bool < integer < float < complex):
//   1-d i32 + 0-d f64 = f64      1-d i32 + 1.5 = f32      1-d f32 + 0-d f64 = f32
// The table is PyTorch's torch.promote_types, the ranks are those of torch.result_type.
#pragma once

#include <optional>

#include "palimpsest/result.h"
#include "palimpsest/scalar.h"
#include "palimpsest/tensor.h"

namespace palimpsest {

// The smaller type that holds both (dims of equal rank).
DType PromoteTypes(DType a, DType b);
// May values of `from` be stored in `to` at the end of an operation? Not: complex to real, float to
// integer, anything but bool to bool. i64 to i8 and f64 to f16 may.
bool CanCast(DType from, DType to);
// Complex <-> real: c64 -> f32, f32 -> c64. The value type of a real type is itself.
DType RealType(DType dtype);
DType ComplexType(DType dtype);

// Collects the inputs of one operation.
class TypePromotion {
 public:
  void AddTensor(const View& view) { Add(view.dim() > 0 ? dims_ : zero_dim_, view.dtype); }
  void AddNumber(Category category);
  // Error kUnsupported where the result is complex of 16-bit halves. Needs at least one input.
  Result<DType> Get() const;

 private:
  static void Add(std::optional<DType>& group, DType dtype);
  std::optional<DType> dims_, zero_dim_, numbers_;
};

// The default float type.
inline constexpr DType kDefaultFloat = DType::kF32;

}  // namespace palimpsest
