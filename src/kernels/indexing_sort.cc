// Selection by order: sort, argsort, topk, kthvalue.
//
// Lines are read as keys of one of two types, i64 (exact for every integer) or f64 (exact for every
// float); values are then moved as bytes. nan counts as larger than every number.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/copy_cast.h"
#include "kernels/indexing.h"
#include "kernels/reduce_dims.h"
#include "kernels/views.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

// Chooses elements of a line: fills `chosen` with positions, given the keys.
template <typename Key>
using Choose = void (*)(std::span<const Key> keys, bool descending, std::vector<int64_t>& chosen);

template <typename Key>
bool Before(Key a, Key b) {
  if constexpr (std::is_floating_point_v<Key>) {
    return a < b || (!std::isnan(a) && std::isnan(b));
  } else {
    return a < b;
  }
}

// Stable, as PyTorch's own sort on CPU: equal keys keep their order because positions break ties.
template <typename Key>
void SortPositions(std::span<const Key> keys, bool descending, std::vector<int64_t>& order) {
  order.resize(keys.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    Key x = keys[static_cast<size_t>(a)], y = keys[static_cast<size_t>(b)];
    bool before = descending ? Before(y, x) : Before(x, y);
    bool after = descending ? Before(x, y) : Before(y, x);
    return before || (!after && a < b);
  });
}

// One line through self along `dim`, and the same line of the results.
struct Lines {
  int64_t length = 1, stride = 0;  // of self, bytes
  size_t dim = 0;
};

Lines LinesOf(const Tensor& self, size_t dim) {
  if (self.dim() == 0) return {};
  return {self.sizes[dim], self.strides[dim] * self.item_size(), dim};
}

template <typename Key>
void ReadKeys(const std::byte* from, const Lines& lines, DType dtype, std::vector<Key>& keys) {
  constexpr DType kKey = std::is_same_v<Key, double> ? DType::kF64 : DType::kI64;
  keys.resize(static_cast<size_t>(lines.length));
  FindCast(kKey, dtype)(reinterpret_cast<std::byte*>(keys.data()), sizeof(Key), from, lines.stride,
                        lines.length);
}

// Where the results go; either may be absent.
struct Destination {
  const Tensor* tensor = nullptr;
  int64_t stride = 0;
};
Destination DestinationOf(const Tensor* t, size_t dim) {
  if (t == nullptr || t->dim() == 0) return {t, 0};
  return {t, t->strides[dim] * t->item_size()};
}

// What is wanted of each sorted line: elements [skip, skip + count).
struct Wanted {
  bool descending = false;
  int64_t skip = 0, count = 0;
};

template <typename Key>
Status SortLines(const Tensor& self, size_t dim, const Wanted& wanted, const Tensor* values,
                 const Tensor* indices) {
  Lines lines = LinesOf(self, dim);
  Destination to_values = DestinationOf(values, dim), to_indices = DestinationOf(indices, dim);
  auto first_of_lines = [&](const Tensor* t) {
    View view = (t != nullptr ? *t : *indices).view();
    if (view.dim() > 0) view.sizes[dim] = 1;
    return view;
  };
  View from = self.view(), v = first_of_lines(values), i = first_of_lines(indices);
  if (from.dim() > 0) from.sizes[dim] = 1;
  IteratorConfig config = IteratorConfig::Walk();
  config.AddOutput(v).AddInput(from).AddInput(i);
  PAL_TRY(Iteration iteration, Iteration::Build(config));
  std::byte* bases[] = {(values != nullptr ? values : indices)->data(), self.data(),
                        indices->data()};
  std::vector<Key> keys;
  std::vector<int64_t> order;
  CastFn move = FindCast(self.dtype, self.dtype);
  auto line = [&](std::byte* value, const std::byte* source, std::byte* index) {
    ReadKeys(source, lines, self.dtype, keys);
    SortPositions<Key>(keys, wanted.descending, order);
    for (int64_t k = 0; k < wanted.count; ++k) {
      int64_t position = order[static_cast<size_t>(wanted.skip + k)];
      if (values != nullptr) {
        move(value + k * to_values.stride, 0, source + position * lines.stride, 0, 1);
      }
      *reinterpret_cast<int64_t*>(index + k * to_indices.stride) = position;
    }
  };
  iteration.ForEach(bases, [&](std::byte* const* p, const int64_t* s, int64_t n0, int64_t n1) {
    for (int64_t j = 0; j < n1; ++j) {
      for (int64_t k = 0; k < n0; ++k) {
        line(p[0] + j * s[3] + k * s[0], p[1] + j * s[4] + k * s[1], p[2] + j * s[5] + k * s[2]);
      }
    }
  });
  return {};
}

// `indices` must be given.
Status Sort(const Tensor& self, int64_t wrapped_dim, const Wanted& wanted, const Tensor* values,
            const Tensor* indices) {
  if (indices->numel() == 0) return {};
  auto dim = static_cast<size_t>(wrapped_dim);
  if (IsIntegral(self.dtype)) return SortLines<int64_t>(self, dim, wanted, values, indices);
  return SortLines<double>(self, dim, wanted, values, indices);
}

Status CheckOrdered(const op::Op& op, const Tensor& self, bool allow_bool) {
  if (!IsComplex(self.dtype) && (allow_bool || self.dtype != DType::kB8)) return {};
  return Refused("unsupported_dtype",
                 fmt::format("{} does not support {} dtypes on CPU", op.schema.name,
                             IsComplex(self.dtype) ? "complex" : "bool"));
}

// ---- sort, argsort

Status SortMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(WrapDim(Argument(call.op, call.args, "dim").ToInt(), self.dim()));
  PAL_TRY(CheckOrdered(call.op, self, true));
  PAL_TRY(View values, CopyLayout(self, MemoryFormat::kPreserve));
  if (!IsDense(self)) values.strides = ContiguousStrides(self.sizes);
  View indices = values;
  indices.dtype = DType::kI64;
  if (call.op.schema.returns.size() == 2) {
    call.results.push_back(ResultSpec::Fresh(std::move(values)));
  }
  call.results.push_back(ResultSpec::Fresh(std::move(indices)));
  return {};
}

Status SortKernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(int64_t dim, WrapDim(Argument(call.op, call.args, "dim").ToInt(), self.dim()));
  Wanted wanted{Argument(call.op, call.args, "descending").ToBool(), 0,
                self.dim() == 0 ? 1 : self.sizes[static_cast<size_t>(dim)]};
  bool both = call.results.size() == 2;
  return Sort(self, dim, wanted, both ? &call.results[0] : nullptr, &call.results.back());
}

// ---- topk

Status TopkMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  int64_t k = call.args[1].ToInt();
  PAL_TRY(int64_t dim, WrapDim(call.args[2].ToInt(), self.dim()));
  PAL_TRY(CheckOrdered(call.op, self, false));
  int64_t size = self.dim() == 0 ? 1 : self.sizes[static_cast<size_t>(dim)];
  if (k < 0 || k > size) {
    return Refused("index_out_of_range", "selected index k out of range");
  }
  Dims sizes = self.sizes;
  if (self.dim() > 0) sizes[static_cast<size_t>(dim)] = k;
  call.results.push_back(ResultSpec::Fresh(self.dtype, sizes));
  call.results.push_back(ResultSpec::Fresh(DType::kI64, sizes));
  return {};
}

Status TopkKernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(int64_t dim, WrapDim(call.args[2].ToInt(), self.dim()));
  Wanted wanted{call.args[3].ToBool(), 0, self.dim() == 0 ? 1 : call.args[1].ToInt()};
  if (self.dim() == 0 && call.args[1].ToInt() == 0) wanted.count = 1;  // still a tensor of one
  return Sort(self, dim, wanted, &call.results[0], &call.results[1]);
}

// ---- kthvalue: the k-th smallest, counted from 1.

Status KthvalueMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  int64_t k = call.args[1].ToInt();
  PAL_TRY(int64_t dim, WrapDim(call.args[2].ToInt(), self.dim()));
  PAL_TRY(CheckOrdered(call.op, self, false));
  int64_t size = self.dim() == 0 ? 1 : self.sizes[static_cast<size_t>(dim)];
  if (k < 1 || k > size) {
    return Refused("index_out_of_range",
                   fmt::format("kthvalue(): selected number k out of range for dimension {}", dim));
  }
  PAL_TRY(ReduceDims dims, ChooseReduceDims(self, call.args[2], call.args[3].ToBool()));
  call.results.push_back(ResultSpec::Fresh(self.dtype, dims.sizes));
  call.results.push_back(ResultSpec::Fresh(DType::kI64, dims.sizes));
  return {};
}

Status KthvalueKernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  PAL_TRY(int64_t dim, WrapDim(call.args[2].ToInt(), self.dim()));
  // The results as if the dim were kept.
  Tensor results[2] = {call.results[0], call.results[1]};
  for (Tensor& t : results) {
    if (self.dim() == t.dim()) continue;
    PAL_TRY(View kept, UnsqueezeView(t.view(), dim));
    static_cast<View&>(t) = kept;
  }
  Wanted wanted{false, call.args[1].ToInt() - 1, 1};
  return Sort(self, dim, wanted, &results[0], &results[1]);
}

}  // namespace

Status RegisterSorts(op::OpTable& table) {
  return RegisterBuiltinRows(
      table,
      {
          {"aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor "
           "indices)",
           SortMeta, SortKernel},
          {"aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> "
           "(Tensor values, Tensor indices)",
           SortMeta, SortKernel},
          {"aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", SortMeta,
           SortKernel},
          {"aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) "
           "-> Tensor",
           SortMeta, SortKernel},
          {"aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> "
           "(Tensor values, Tensor indices)",
           TopkMeta, TopkKernel},
          {"aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor "
           "values, Tensor indices)",
           KthvalueMeta, KthvalueKernel},
      });
}

}  // namespace palimpsest::kernels
