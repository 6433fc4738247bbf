// Note [Exact overlap]
//
// Element i of a view lies at byte  item * (offset + sum_k i_k stride_k)  and covers `item` bytes.
// Two views meet iff one byte of one is one byte of the other:
//
//   sum_k a_k i_k  -  sum_l b_l j_l  =  start_b - start_a,      0 <= i_k < size_k, 0 <= j_l <
//   size_l
//
// with the item as one more dim (stride 1 byte, size `item`), so that dtypes may differ. Turning
// j_l into (size_l - 1 - j_l) makes every coefficient positive: a bounded linear equation
//
//   sum_k c_k x_k = target,      0 <= x_k <= limit_k
//
// Equal coefficients are merged. The equation is solved depth first, the largest coefficient first.
// At each level x is confined to the range that the smaller terms can still make up for, and to the
// residue that their gcd allows. For slices of one contiguous parent (mixed radix) that leaves one
// or two candidates per level; with two terms left, the first candidate is a solution. In general
// the problem is NP-hard (subset sum), so the search counts its steps and answers "yes" at a cap.
//
// A view overlaps itself iff two different index tuples name one element: for the first dim in
// which they differ (by 1 to size - 1) the others differ by -(size - 1) to size - 1: the same
// equation.

#include "core/overlap.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace palimpsest {
namespace {

using Wide = __int128;

struct Term {
  int64_t coefficient;  // positive
  int64_t limit;        // 0 <= x <= limit
};

// Steps of the search before the answer is "yes". Real views need tens.
constexpr int kWorkCap = 20000;

Wide FloorDivide(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

// Smallest x >= 0 with  a * x = b (mod m), or -1. `step` gets the distance to the next solution.
int64_t SolveCongruence(int64_t a, Wide b, int64_t m, int64_t* step) {
  const int64_t g = std::gcd(a, m);
  if (b % g != 0) return -1;
  const int64_t reduced = m / g;
  *step = reduced;
  if (reduced == 1) return 0;
  // The inverse of a/g modulo m/g, by the extended Euclidean algorithm.
  int64_t r0 = reduced, r1 = (a / g) % reduced, t0 = 0, t1 = 1;
  while (r1 != 0) {
    const int64_t q = r0 / r1;
    r0 = std::exchange(r1, r0 - q * r1);
    t0 = std::exchange(t1, t0 - q * t1);
  }
  const Wide inverse = t0 < 0 ? t0 + reduced : t0;
  Wide residue = (b / g) % reduced;
  if (residue < 0) residue += reduced;
  return static_cast<int64_t>(residue * inverse % reduced);
}

// sum_k c_k x_k = target over the terms, see the note above.
class BoundedEquation {
 public:
  explicit BoundedEquation(std::vector<Term> terms) : terms_(std::move(terms)) {
    std::erase_if(terms_, [](const Term& t) { return t.limit == 0; });
    std::sort(terms_.begin(), terms_.end(),
              [](const Term& a, const Term& b) { return a.coefficient > b.coefficient; });
    size_t kept = 0;
    for (size_t i = 0; i < terms_.size(); ++i) {
      if (kept > 0 && terms_[kept - 1].coefficient == terms_[i].coefficient) {
        terms_[kept - 1].limit += terms_[i].limit;
      } else {
        terms_[kept++] = terms_[i];
      }
    }
    terms_.resize(kept);
    reach_.assign(kept + 1, 0);
    gcd_.assign(kept + 1, 0);
    for (size_t i = kept; i-- > 0;) {
      reach_[i] = reach_[i + 1] + Wide{terms_[i].coefficient} * terms_[i].limit;
      gcd_[i] = std::gcd(gcd_[i + 1], terms_[i].coefficient);
    }
  }

  // True if there is a solution, or if the work cap was hit.
  bool MaySolve(Wide target) {
    work_ = 0;
    return Search(0, target);
  }

 private:
  // Depth is the number of distinct coefficients: dims with more than one element, at most 126.
  bool Search(size_t k, Wide target) {
    if (target < 0 || target > reach_[k]) return false;
    if (target == 0 || k == terms_.size()) return target == 0;
    if (target % gcd_[k] != 0) return false;
    const Term& term = terms_[k];
    Wide low = -FloorDivide(-(target - reach_[k + 1]), term.coefficient);
    low = std::max<Wide>(low, 0);
    const Wide high = std::min<Wide>(target / term.coefficient, term.limit);
    int64_t step = 1, first = 0;
    if (k + 1 < terms_.size()) {
      first = SolveCongruence(term.coefficient, target, gcd_[k + 1], &step);
      if (first < 0) return false;
    } else {
      return target % term.coefficient == 0 && target / term.coefficient <= term.limit;
    }
    // The largest candidate first: it leaves the smallest rest.
    Wide x = first + FloorDivide(high - first, step) * step;
    for (; x >= low; x -= step) {
      if (++work_ > kWorkCap) return true;
      if (Search(k + 1, target - x * term.coefficient)) return true;
    }
    return false;
  }

  std::vector<Term> terms_;
  std::vector<Wide> reach_;   // of the terms from k on
  std::vector<int64_t> gcd_;  // of the coefficients from k on
  int work_ = 0;
};

bool IsEmpty(const View& view) {
  return std::any_of(view.sizes.begin(), view.sizes.end(), [](int64_t s) { return s <= 0; });
}

struct Bytes {
  Wide first = 0, last = 0;  // addresses of the first and the last byte
};

// Appends the view's terms, in bytes; strides of either sign.
Bytes AddTerms(const View& view, std::vector<Term>& terms) {
  const int64_t item = view.item_size();
  Bytes extent{Wide{view.offset} * item, Wide{view.offset} * item + item - 1};
  for (size_t k = 0; k < view.dim(); ++k) {
    const int64_t limit = view.sizes[k] - 1;
    if (limit == 0 || view.strides[k] == 0) continue;
    const int64_t stride = view.strides[k] * item;
    (stride > 0 ? extent.last : extent.first) += Wide{stride} * limit;
    terms.push_back({stride > 0 ? stride : -stride, limit});
  }
  if (item > 1) terms.push_back({1, item - 1});
  return extent;
}

}  // namespace

bool MayOverlap(const View& a, const View& b) {
  if (IsEmpty(a) || IsEmpty(b)) return false;
  std::vector<Term> terms;
  const Bytes of_a = AddTerms(a, terms);
  const Bytes of_b = AddTerms(b, terms);
  if (of_a.last < of_b.first || of_b.last < of_a.first) return false;
  // Addresses of a rise from its first byte, those of b fall from its last: a.first + up = b.last
  // - down.
  return BoundedEquation(std::move(terms)).MaySolve(of_b.last - of_a.first);
}

bool MayOverlap(const Tensor& a, const Tensor& b) {
  return a.storage == b.storage && MayOverlap(a.view(), b.view());
}

bool OverlapsItself(const View& view) {
  if (IsEmpty(view)) return false;
  std::vector<Term> dims;
  for (size_t k = 0; k < view.dim(); ++k) {
    if (view.sizes[k] <= 1) continue;
    if (view.strides[k] == 0) return true;
    dims.push_back({std::abs(view.strides[k]), view.sizes[k] - 1});
  }
  std::sort(dims.begin(), dims.end(),
            [](const Term& a, const Term& b) { return a.coefficient > b.coefficient; });
  // Each stride steps over all that the smaller ones reach: no two elements meet.
  Wide reach = 0;
  bool nested = true;
  for (size_t k = dims.size(); k-- > 0;) {
    nested = nested && dims[k].coefficient > reach;
    reach += Wide{dims[k].coefficient} * dims[k].limit;
  }
  if (nested) return false;
  for (size_t k = 0; k < dims.size(); ++k) {
    std::vector<Term> terms = {{dims[k].coefficient, dims[k].limit - 1}};
    Wide target = -Wide{dims[k].coefficient};
    for (size_t l = k + 1; l < dims.size(); ++l) {
      terms.push_back({dims[l].coefficient, 2 * dims[l].limit});
      target += Wide{dims[l].coefficient} * dims[l].limit;
    }
    if (BoundedEquation(std::move(terms)).MaySolve(target)) return true;
  }
  return false;
}

bool SameElements(const View& a, const View& b) {
  if (a.dtype != b.dtype) return false;
  if (IsEmpty(a) || IsEmpty(b)) return IsEmpty(a) && IsEmpty(b);
  if (a.sizes != b.sizes || a.offset != b.offset) return false;
  for (size_t k = 0; k < a.dim(); ++k) {
    if (a.sizes[k] > 1 && a.strides[k] != b.strides[k]) return false;
  }
  return true;
}

}  // namespace palimpsest
