// How random operators walk a tensor. Internal to random*.cc.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "kernels/random.h"
#include "palimpsest/scalar.h"

namespace palimpsest::kernels {

// The generator of a call; one seeded with 0 where the call has none.
class DrawSource {
 public:
  explicit DrawSource(const op::KernelCall& call)
      : generator_(call.generator != nullptr ? call.generator : &own_.emplace()) {}
  op::Generator& operator*() { return *generator_; }
  op::Generator* operator->() { return generator_; }

 private:
  std::optional<op::Generator> own_;
  op::Generator* generator_;
};

// Stores draw() in every element of `result`, in the order in which the iterator would go through
// a tensor laid out like `order` (of result's sizes). `at`: the element's address, with its old
// contents.
Status DrawInto(const Tensor& result, const View& order,
                const std::function<Scalar(const std::byte* at)>& draw);

// [0, 1): 53 bits for f64, 24 for every other type.
double DrawUniform(op::Generator& generator, DType dtype);

}  // namespace palimpsest::kernels
