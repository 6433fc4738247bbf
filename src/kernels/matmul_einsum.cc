// einsum: every operand gets the same dims in the same order (those of the result first, then the
// ones that are summed), of size 1 where it lacks one; then neighbours are multiplied, pair by
// pair, each pair as one batch of matrix products. The order of the dims is PyTorch's, so that the
// strides of the result are.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kernels/composed.h"
#include "kernels/matmul.h"

namespace palimpsest::kernels {
namespace {

using Args = std::span<const Value>;

constexpr char kEllipsis = '.';

Value Ints(Dims dims) { return Value::Ints(dims); }
Dims SizesOf(const Value& v) { return v.IsTensor() ? v.tensor().sizes : Dims(); }

// The equation "bij,bjk->bik", each "..." as one kEllipsis.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
  bool has_result = false;
};

Error BadEquation(const std::string& text, std::string_view what) {
  return Refused("bad_argument", fmt::format("einsum(\"{}\"): {}", text, what));
}

Result<Equation> ParseEquation(const std::string& text) {
  Equation equation;
  equation.operands.emplace_back();
  std::string* side = &equation.operands.back();
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c == ' ') continue;
    if (letter) {
      side->push_back(c);
    } else if (text.compare(i, 3, "...") == 0) {
      if (side->find(kEllipsis) != std::string::npos) {
        return BadEquation(text, "a subscript with two ellipses");
      }
      side->push_back(kEllipsis);
      i += 2;
    } else if (c == ',' && !equation.has_result) {
      side = &equation.operands.emplace_back();
    } else if (text.compare(i, 2, "->") == 0 && !equation.has_result) {
      equation.has_result = true;
      side = &equation.result;
      ++i;
    } else {
      return BadEquation(text, fmt::format("unexpected '{}' at place {}", c, i));
    }
  }
  return equation;
}

// Place of each label among the common dims. The ellipsis has `ellipsis` places, right-aligned.
struct CommonDims {
  std::map<char, size_t> place;
  size_t ellipsis = 0;
  size_t kept = 0;  // dims of the result, which come first
  size_t count = 0;

  void Add(char label) {
    place[label] = count;
    count += label == kEllipsis ? ellipsis : 1;
  }
};

Result<CommonDims> ArrangeDims(const std::string& text, const Equation& equation, Args operands) {
  CommonDims common;
  std::map<char, int> uses;  // in the order of the labels: upper case first, as PyTorch's
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string& labels = equation.operands[i];
    size_t rank = operands[i].tensor().dim();
    bool open = labels.find(kEllipsis) != std::string::npos;
    size_t named = labels.size() - (open ? 1 : 0);
    if (open ? named > rank : named != rank) {
      return BadEquation(
          text, fmt::format("operand {} has {} dims, its subscript names {}", i, rank, named));
    }
    if (open) common.ellipsis = std::max(common.ellipsis, rank - named);
    for (char label : labels) ++uses[label];
  }
  std::string result = equation.result;
  if (!equation.has_result) {
    if (uses.contains(kEllipsis)) result.push_back(kEllipsis);
    for (auto [label, n] : uses) {
      if (label != kEllipsis && n == 1) result.push_back(label);
    }
  }
  for (char label : result) {
    if (label != kEllipsis && !uses.contains(label)) {
      return BadEquation(text, fmt::format("no operand has the result's '{}'", label));
    }
    if (common.place.contains(label)) {
      return BadEquation(text, fmt::format("the result names '{}' twice", label));
    }
    common.Add(label);
  }
  common.kept = common.count;
  if (uses.contains(kEllipsis) && !common.place.contains(kEllipsis)) common.Add(kEllipsis);
  for (auto [label, n] : uses) {
    if (!common.place.contains(label)) common.Add(label);
  }
  return common;
}

// `operand` with the common dims; a label that it has twice becomes the diagonal.
Value WithCommonDims(Composer& c, Value operand, const std::string& labels,
                     const CommonDims& common) {
  constexpr int64_t kNone = -1;
  std::vector<int64_t> dim_at(common.count, kNone);            // place -> dim of the operand
  size_t extra = SizesOf(operand).size() + 1 - labels.size();  // dims of an ellipsis
  int64_t dim = 0;
  for (char label : labels) {
    size_t place = common.place.at(label);
    if (label == kEllipsis) {
      for (size_t i = 0; i < extra; ++i) dim_at[place + common.ellipsis - extra + i] = dim++;
    } else if (dim_at[place] == kNone) {
      dim_at[place] = dim++;
    } else {
      int64_t first = dim_at[place];
      if (SizesOf(operand)[static_cast<size_t>(first)] !=
          SizesOf(operand)[static_cast<size_t>(dim)]) {
        return c.Fail(Refused("size_mismatch",
                              fmt::format("einsum: '{}' stands for dims of unequal size", label)));
      }
      operand = c.Call("aten::diagonal", {operand, Value(0), Value(first), Value(dim)});
      operand = c.Call("aten::movedim.int", {operand, Value(-1), Value(first)});
      if (!c.ok()) return operand;
    }
  }
  Dims order;
  for (size_t place = 0; place < common.count; ++place) {
    if (dim_at[place] == kNone) {
      operand = c.Call("aten::unsqueeze", {operand, Value(dim)});
      dim_at[place] = dim++;
    }
    order.push_back(dim_at[place]);
  }
  return c.Call("aten::permute", {operand, Ints(order)});
}

Value SumKept(Composer& c, const Value& operand, const Dims& dims) {
  if (dims.empty()) return operand;
  return c.Call("aten::sum.dim_IntList", {operand, Ints(dims), Value(true)});
}

// left x right, summed over the dims `summed`, which both have and which stay as size 1.
Value ContractPair(Composer& c, Value left, Value right, const Dims& summed) {
  if (summed.empty()) return c.Call("aten::mul.Tensor", {left, right});
  Dims a = SizesOf(left), b = SizesOf(right);
  Dims both, left_only, right_only;
  for (size_t d = 0; d < a.size(); ++d) {
    auto dim = static_cast<int64_t>(d);
    if (std::find(summed.begin(), summed.end(), dim) != summed.end()) continue;
    (a[d] == 1 ? right_only : b[d] == 1 ? left_only : both).push_back(dim);
  }
  // The other way round the result lies in order.
  if (!left_only.empty() && !right_only.empty() && right_only.back() < left_only.front()) {
    std::swap(left, right);
    std::swap(a, b);
    std::swap(left_only, right_only);
  }
  auto product = [](const Dims& sizes, const Dims& dims) {
    int64_t n = 1;
    for (int64_t d : dims) n *= sizes[static_cast<size_t>(d)];
    return n;
  };
  auto join = [](std::initializer_list<const Dims*> parts) {
    Dims joined;
    for (const Dims* part : parts) {
      for (int64_t d : *part) joined.push_back(d);
    }
    return joined;
  };
  auto matrices = [&](const Value& v, const Dims& order, Dims sizes) {
    return c.Call("aten::reshape", {c.Call("aten::permute", {v, Ints(order)}), Ints(sizes)});
  };
  int64_t batch = product(a, both), inner = product(a, summed);
  Value result =
      c.Call("aten::bmm", {matrices(left, join({&both, &left_only, &summed, &right_only}),
                                    {batch, product(a, left_only), inner}),
                           matrices(right, join({&both, &summed, &right_only, &left_only}),
                                    {batch, inner, product(b, right_only)})});
  Dims order = join({&both, &left_only, &summed, &right_only}), sizes, back(order.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) {
    auto d = static_cast<size_t>(order[i]);
    bool is_summed =
        i >= both.size() + left_only.size() && i < both.size() + left_only.size() + summed.size();
    sizes.push_back(is_summed ? 1 : a[d] == 1 ? b[d] : a[d]);
    back[d] = static_cast<int64_t>(i);
  }
  return c.Call("aten::permute", {c.Call("aten::view", {result, Ints(sizes)}), Ints(back)});
}

// The running product and the next operand: sums each dim as soon as nobody else has it.
Value MultiplyIn(Composer& c, Value left, Value right, const CommonDims& common,
                 std::vector<size_t>& holders) {
  Dims a = SizesOf(left), b = SizesOf(right), from_left, from_right, from_both;
  for (size_t d = common.kept; d < common.count; ++d) {
    auto dim = static_cast<int64_t>(d);
    if (a[d] != 1 && b[d] != 1) {
      if (--holders[d] == 1) from_both.push_back(dim);
    } else if (holders[d] == 1 && a[d] != 1) {
      from_left.push_back(dim);
    } else if (holders[d] == 1 && b[d] != 1) {
      from_right.push_back(dim);
    }
  }
  return ContractPair(c, SumKept(c, left, from_left), SumKept(c, right, from_right), from_both);
}

Status CheckCommonSizes(const std::string& text, std::span<const Value> operands, size_t dims) {
  for (size_t d = 0; d < dims; ++d) {
    int64_t size = 1;
    for (const Value& operand : operands) {
      int64_t own = operand.tensor().sizes[d];
      if (own == 1 || own == size) continue;
      if (size != 1) {
        return Refused("size_mismatch",
                       fmt::format("einsum(\"{}\"): operands do not broadcast: sizes {} and {} of "
                                   "one subscript",
                                   text, size, own));
      }
      size = own;
    }
  }
  return {};
}

Result<Value> Einsum(Composer& c, const std::string& text, Args operands) {
  PAL_TRY(Equation equation, ParseEquation(text));
  if (operands.empty() || equation.operands.size() != operands.size()) {
    return BadEquation(text, fmt::format("{} subscripts for {} operands", equation.operands.size(),
                                         operands.size()));
  }
  PAL_TRY(CommonDims common, ArrangeDims(text, equation, operands));
  Value::List factors;
  for (size_t i = 0; i < operands.size(); ++i) {
    factors.push_back(WithCommonDims(c, operands[i], equation.operands[i], common));
  }
  PAL_TRY(c.status());
  PAL_TRY(CheckCommonSizes(text, factors, common.count));
  std::vector<size_t> holders(common.count, 0);
  for (const Value& factor : factors) {
    Dims sizes = SizesOf(factor);
    for (size_t d = 0; d < common.count; ++d) holders[d] += sizes[d] != 1 ? 1 : 0;
  }
  Value result = factors[0];
  for (size_t i = 1; i < factors.size(); ++i) {
    result = MultiplyIn(c, result, factors[i], common, holders);
    PAL_TRY(c.status());
  }
  if (common.kept == common.count) return result;
  if (factors.size() > 1) {
    Dims sizes = SizesOf(result);
    sizes.resize(common.kept);
    return c.Call("aten::view", {result, Ints(sizes)});
  }
  Dims summed;
  for (size_t d = common.kept; d < common.count; ++d) summed.push_back(static_cast<int64_t>(d));
  return c.Call("aten::sum.dim_IntList", {result, Ints(summed)});
}

Value ComposeEinsum(Composer& c, Args args) {
  if (!args[2].IsNone()) return c.Fail(Unsupported("einsum with a path; leave it out"));
  Result<Value> result = Einsum(c, args[0].As<std::string>(), args[1].list());
  return result.ok() ? *result : c.Fail(result.error());
}

const ComposedRow kRows[] = {
    {"aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor", ComposeEinsum},
};

}  // namespace

Status RegisterEinsum(op::OpTable& table) { return RegisterComposed(table, kRows); }

}  // namespace palimpsest::kernels
