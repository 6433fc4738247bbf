#include "kernels/composites.h"

#include <fmt/format.h>

#include <cmath>

#include "kernels/composed.h"

namespace palimpsest::kernels {
namespace {

using Args = std::span<const Value>;

Value Ints(Dims dims) { return Value::Ints(dims); }

Value Outer(Composer& c, Args args) {
  if (args[0].tensor().dim() != 1 || args[1].tensor().dim() != 1) {
    return c.Fail(Refused("matmul_size", "outer: expected 1-D arguments"));
  }
  Value column = c.Call("aten::unsqueeze", {args[0], Value(1)});
  return c.Call("aten::mul.Tensor", {column, args[1]});
}

// x1 . x2 / (max(|x1|, eps) * max(|x2|, eps)), each scaled first.
Value CosineSimilarity(Composer& c, Args args) {
  auto scaled = [&](const Value& x) {
    Value norm =
        c.Call("aten::linalg_vector_norm", {x, Value(2), Value(Value::List{args[2]}), Value(true)});
    return c.Call("aten::div.Tensor", {x, c.Call("aten::clamp_min", {norm, args[3]})});
  };
  Value pair = c.Call("aten::broadcast_tensors", {Value(Value::List{args[0], args[1]})});
  Value product = c.Call("aten::mul.Tensor", {scaled(c.Item(pair, 0)), scaled(c.Item(pair, 1))});
  return c.Call("aten::sum.dim_IntList", {product, Value(Value::List{args[2]})});
}

// Distances of all pairs of rows.
Value Cdist(Composer& c, Args args) {
  size_t r1 = args[0].tensor().dim(), r2 = args[1].tensor().dim();
  if (r1 < 2 || r2 < 2 || args[0].tensor().sizes.back() != args[1].tensor().sizes.back()) {
    return c.Fail(Refused("size_mismatch", "cdist: rows of unequal length"));
  }
  Value left = c.Call("aten::unsqueeze", {args[0], Value(-2)});
  Value right = c.Call("aten::unsqueeze", {args[1], Value(-3)});
  Value distance = c.Call("aten::sub.Tensor", {left, right});
  return c.Call("aten::linalg_vector_norm", {distance, args[2], Ints({-1})});
}

// Every element of the first times the whole second.
Value Kron(Composer& c, Args args) {
  size_t rank = std::max(args[0].tensor().dim(), args[1].tensor().dim());
  Dims left, right, result;
  auto size_at = [&](const Tensor& t, size_t d) {
    size_t missing = rank - t.dim();
    return d < missing ? int64_t{1} : t.sizes[d - missing];
  };
  for (size_t d = 0; d < rank; ++d) {
    int64_t a = size_at(args[0].tensor(), d), b = size_at(args[1].tensor(), d);
    left.push_back(a);
    left.push_back(1);
    right.push_back(1);
    right.push_back(b);
    result.push_back(a * b);
  }
  Value product = c.Call("aten::mul.Tensor", {c.Call("aten::reshape", {args[0], Ints(left)}),
                                              c.Call("aten::reshape", {args[1], Ints(right)})});
  return c.Call("aten::reshape", {product, Ints(result)});
}

// Contracts the dims that are named: one product of matrices.
Value Tensordot(Composer& c, Args args) {
  struct Side {
    Dims order, free_sizes;
    int64_t free = 1, inner = 1;
  };
  Dims chosen[2] = {args[2].ToDims(), args[3].ToDims()};
  if (chosen[0].size() != chosen[1].size()) {
    return c.Fail(Refused("bad_argument", "tensordot: lists of dims of unequal length"));
  }
  Side sides[2];
  for (size_t s = 0; s < 2; ++s) {
    const Tensor& t = args[s].tensor();
    auto rank = static_cast<int64_t>(t.dim());
    SmallVector<bool, 6> used;
    used.resize(t.dim(), false);
    for (int64_t& d : chosen[s]) {
      if (d < -rank || d >= rank) {
        return c.Fail(Refused("dim_out_of_range", fmt::format("tensordot: dim {}", d)));
      }
      if (d < 0) d += rank;
      used[static_cast<size_t>(d)] = true;
      sides[s].inner *= t.sizes[static_cast<size_t>(d)];
    }
    for (int64_t d = 0; d < rank; ++d) {
      if (used[static_cast<size_t>(d)]) continue;
      sides[s].order.push_back(d);
      sides[s].free_sizes.push_back(t.sizes[static_cast<size_t>(d)]);
      sides[s].free *= t.sizes[static_cast<size_t>(d)];
    }
  }
  if (sides[0].inner != sides[1].inner) {
    return c.Fail(Refused("matmul_size", "tensordot: contracted dims do not match"));
  }
  for (int64_t d : chosen[0]) sides[0].order.push_back(d);
  sides[1].order.insert(sides[1].order.begin(), 0);
  Dims right = chosen[1];
  for (size_t i = 1; i < sides[1].order.size(); ++i) right.push_back(sides[1].order[i]);
  Value a = c.Call("aten::permute", {args[0], Ints(sides[0].order)});
  Value b = c.Call("aten::permute", {args[1], Ints(right)});
  a = c.Call("aten::reshape", {a, Ints({sides[0].free, sides[0].inner})});
  b = c.Call("aten::reshape", {b, Ints({sides[0].inner, sides[1].free})});
  Dims sizes = sides[0].free_sizes;
  for (int64_t size : sides[1].free_sizes) sizes.push_back(size);
  return c.Call("aten::reshape", {c.Call("aten::mm", {a, b}), Ints(sizes)});
}

// Left to right; the best order changes the rounding only.
Value MultiDot(Composer& c, Args args) {
  const Value::List& tensors = args[0].list();
  if (tensors.size() < 2) {
    return c.Fail(Refused("bad_argument", "multi_dot(): expected at least 2 tensors"));
  }
  Value product = tensors[0];
  for (size_t i = 1; i < tensors.size(); ++i) {
    product = c.Call("aten::matmul", {product, tensors[i]});
  }
  return product;
}

// sum over i, j of input1[..., i] * weight[o, i, j] * input2[..., j].
Value Bilinear(Composer& c, Args args) {
  const Tensor& weight = args[2].tensor();
  const Tensor& first = args[0].tensor();
  if (weight.dim() != 3 || first.dim() < 1 || args[1].tensor().dim() != first.dim() ||
      first.sizes.back() != weight.sizes[1] || args[1].tensor().sizes.back() != weight.sizes[2]) {
    return c.Fail(Refused("matmul_size", "bilinear: inputs and weight do not fit"));
  }
  Dims sizes = first.sizes;
  sizes.back() = weight.sizes[0];
  Value a = c.Call("aten::reshape", {args[0], Ints({-1, weight.sizes[1]})});
  Value b = c.Call("aten::reshape", {args[1], Ints({-1, weight.sizes[2]})});
  // [o, n, j] = a [n, i] x weight [o, i, j]
  Value partial = c.Call("aten::matmul", {a, args[2]});
  Value product =
      c.Call("aten::sum.dim_IntList", {c.Call("aten::mul.Tensor", {partial, b}), Ints({-1})});
  Value rows = c.Call("aten::contiguous", {c.Call("aten::t", {product})});
  Value result = c.Call("aten::reshape", {rows, Ints(sizes)});
  if (args[3].IsTensor()) result = c.Call("aten::add.Tensor", {result, args[3]});
  return result;
}

// Unsqueezes each operand, multiplies, sums.
Value Trilinear(Composer& c, Args args) {
  Value product;
  for (size_t i = 0; i < 3; ++i) {
    Value operand = args[i];
    for (int64_t d : args[3 + i].ToDims()) operand = c.Call("aten::unsqueeze", {operand, Value(d)});
    product = i == 0 ? operand : c.Call("aten::mul.Tensor", {product, operand});
  }
  return c.Call("aten::sum.dim_IntList", {product, args[6]});
}

Value ChooseVectorNorm(Composer& c, Args args) {
  if (args[1].Is<std::string>()) {
    return c.Fail(Unsupported("linalg_norm with a norm by name; use linalg_vector_norm"));
  }
  bool matrix = !args[1].IsNone() && ((args[2].IsNone() && args[0].tensor().dim() == 2) ||
                                      (args[2].IsList() && args[2].list().size() == 2));
  if (matrix) return c.Fail(Unsupported("linalg_norm of matrices; use linalg_vector_norm"));
  Value order = args[1].IsNone() ? Value(2) : args[1];
  return c.Call("aten::linalg_vector_norm", {args[0], order, args[2], args[3], args[4]});
}

// The norm of the difference, which eps keeps away from 0.
Value PairwiseDistance(Composer& c, Args args) {
  Value difference = c.Call("aten::sub.Tensor", {args[0], args[1]});
  difference = c.Call("aten::add.Scalar", {difference, args[3]});
  return c.Call("aten::linalg_vector_norm",
                {difference, args[2], Value(Value::List{Value(-1)}), args[4]});
}

// |self - other| <= atol + rtol * |other|, and what is equal (infinities).
Value IsClose(Composer& c, Args args) {
  const Value &self = args[0], &other = args[1];
  if (self.tensor().dtype != other.tensor().dtype) {
    return c.Fail(
        Refused("dtype_mismatch", fmt::format("isclose: {} and {}", TorchName(self.tensor().dtype),
                                              TorchName(other.tensor().dtype))));
  }
  Value close = c.Call("aten::eq.Tensor", {self, other});
  DType dtype = self.tensor().dtype;
  if (args[4].ToBool() && (IsFloating(dtype) || IsComplex(dtype))) {
    Value both = c.Call("aten::logical_and",
                        {c.Call("aten::isnan", {self}), c.Call("aten::isnan", {other})});
    close = c.Call("aten::logical_or", {close, both});
  }
  if (args[2].ToDouble() == 0 && args[3].ToDouble() == 0) return close;
  Value allowed = c.Call("aten::mul.Tensor", {other, args[2]});
  allowed = c.Call("aten::add.Tensor", {c.Call("aten::abs", {allowed}), args[3]});
  Value error = c.Call("aten::abs", {c.Call("aten::sub.Tensor", {self, other})});
  Value finite = c.Call("aten::isfinite", {error});
  Value near = c.Call("aten::le.Tensor", {error, allowed});
  return c.Call("aten::logical_or", {close, c.Call("aten::logical_and", {finite, near})});
}

// The first half of a dim, gated by the sigmoid of the second.
Value Glu(Composer& c, Args args) {
  const Tensor& self = args[0].tensor();
  auto rank = static_cast<int64_t>(self.dim());
  int64_t dim = args[1].ToInt() + (args[1].ToInt() < 0 ? rank : 0);
  if (rank == 0) return c.Fail(Refused("bad_argument", "glu does not support 0-dim tensors"));
  if (dim < 0 || dim >= rank) {
    return c.Fail(Refused("dim_out_of_range", fmt::format("glu: dim {} of a tensor with {} dims",
                                                          args[1].ToInt(), rank)));
  }
  int64_t size = self.sizes[static_cast<size_t>(dim)];
  if (size % 2 != 0) {
    return c.Fail(
        Refused("size_mismatch",
                fmt::format("glu: halving dimension must be even, but dimension {} is size {}", dim,
                            size)));
  }
  auto half = [&](int64_t start) {
    return c.Call("aten::slice.Tensor",
                  {args[0], Value(dim), Value(start), Value(start + size / 2), Value(1)});
  };
  return c.Call("aten::mul.Tensor", {half(0), c.Call("aten::sigmoid", {half(size / 2)})});
}

const ComposedRow kRows[] = {
    {"aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=1e-06, bool "
     "keepdim=False) -> Tensor",
     PairwiseDistance},
    {"aten::isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool "
     "equal_nan=False) -> Tensor",
     IsClose},
    {"aten::glu(Tensor self, int dim=-1) -> Tensor", Glu},
    {"aten::outer(Tensor self, Tensor vec2) -> Tensor", Outer},
    {"aten::ger(Tensor self, Tensor vec2) -> Tensor", Outer},
    {"aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
     CosineSimilarity},
    {"aten::cdist(Tensor x1, Tensor x2, float p=2.0, int? compute_mode=None) -> Tensor", Cdist},
    {"aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor", Cdist},
    {"aten::kron(Tensor self, Tensor other) -> Tensor", Kron},
    {"aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
     Tensordot},
    {"aten::linalg_multi_dot(Tensor[] tensors) -> Tensor", MultiDot},
    {"aten::chain_matmul(Tensor[] matrices) -> Tensor", MultiDot},
    {"aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
     Bilinear},
    {"aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] "
     "expand3, int[] sumdim, int unroll_dim=1) -> Tensor",
     Trilinear},
    {"aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     ChooseVectorNorm},
};

}  // namespace

Status RegisterComposites(op::OpTable& table) { return RegisterComposed(table, kRows); }

}  // namespace palimpsest::kernels
