// Tensors for an operator to work on, with memory around their elements that it must leave alone.
#pragma once

#include <cstdint>
#include <vector>

#include "palimpsest/result.h"
#include "palimpsest/tensor.h"
#include "palimpsest/value.h"

namespace palimpsest::opcheck {

// How the elements of a tensor lie in its storage; the values are the same in each layout.
enum class Layout : uint8_t {
  kPlain,       // contiguous, on a multiple of 64 bytes
  kOffset,      // contiguous, some elements further on
  kTransposed,  // the first dim is the fastest
  kGapped,      // memory that belongs to nobody between the elements
};
const char* LayoutName(Layout layout);

// A tensor of `dtype` and `sizes` in guarded memory full of `fill`.
Result<Tensor> GuardedTensor(DType dtype, const Dims& sizes, Layout layout, uint8_t fill);

// The bytes of the elements in row-major order, and back.
std::vector<std::byte> ElementBytes(const Tensor& t);
void SetElementBytes(const Tensor& t, const std::vector<std::byte>& bytes);

// The bytes of a whole storage.
class Snapshot {
 public:
  explicit Snapshot(const Tensor& t);
  // Was an element of t changed since; was memory beside the elements?
  bool ElementsChanged() const;
  bool GuardsChanged() const;
  const Tensor& tensor() const { return tensor_; }

 private:
  Tensor tensor_;
  std::vector<std::byte> bytes_;
  std::vector<bool> is_element_;  // per byte of the storage
};

}  // namespace palimpsest::opcheck
