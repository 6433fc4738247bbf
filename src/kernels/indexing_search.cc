// searchsorted and bucketize: where a value belongs in a sorted line.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/copy_cast.h"
#include "kernels/indexing.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

// One call, whichever operator: sorted lines, and values (a tensor or a number).
struct Search {
  const Tensor& sorted;
  const Value& values;
  bool right = false;
  DType type = DType::kI64;
};

Result<Search> SearchOf(const op::Op& op, std::span<const Value> args) {
  bool bucketize = op.schema.name == "bucketize";
  Search s{args[bucketize ? 1 : 0].tensor(), args[bucketize ? 0 : 1]};
  s.right = Argument(op, args, "right").ToBool();
  if (Argument(op, args, "out_int32").ToBool()) s.type = DType::kI32;
  if (bucketize) return s;
  const Value& side = Argument(op, args, "side");
  if (!side.IsNone()) {
    const std::string& name = side.As<std::string>();
    if (name != "left" && name != "right") {
      return Refused("bad_argument",
                     fmt::format("side can only be 'left' or 'right' but got {}", name));
    }
    s.right = name == "right";
  }
  if (!Argument(op, args, "sorter").IsNone()) return Unsupported("searchsorted with a sorter");
  return s;
}

Status CheckSearch(const Search& s) {
  if (IsComplex(s.sorted.dtype)) return Unsupported("searchsorted of complex numbers");
  if (s.sorted.dim() == 0) {
    return Refused("size_mismatch", "boundaries tensor should have positive dimension");
  }
  if (!s.values.IsTensor()) {
    if (s.sorted.dim() == 1) return {};
    return Refused("size_mismatch", "input value can be a scalar only when boundaries are 1-d");
  }
  const Tensor& values = s.values.tensor();
  if (values.dtype != s.sorted.dtype) {
    return Refused("dtype_mismatch",
                   fmt::format("boundary tensor and input value tensor should have same dtype, but "
                               "got {} and {}",
                               TorchName(s.sorted.dtype), TorchName(values.dtype)));
  }
  bool same_lines = values.dim() == s.sorted.dim() &&
                    std::equal(values.sizes.begin(), values.sizes.end() - (values.dim() > 0),
                               s.sorted.sizes.begin());
  if (s.sorted.dim() == 1 || same_lines) return {};
  return Refused("size_mismatch",
                 fmt::format("boundaries tensor should be 1 dimension or the first N-1 dimensions "
                             "of boundaries tensor and input value tensor must match, but we got "
                             "{} and {}",
                             ToString(s.sorted.sizes), ToString(values.sizes)));
}

Status SearchMeta(MetaCall& call) {
  PAL_TRY(Search s, SearchOf(call.op, call.args));
  PAL_TRY(CheckSearch(s));
  Dims sizes = s.values.IsTensor() ? s.values.tensor().sizes : Dims();
  call.results.push_back(ResultSpec::Fresh(s.type, sizes));
  return {};
}

// The first place whose element is not before the value. nan is after every number.
template <typename Key>
int64_t Place(std::span<const Key> line, Key value, bool right) {
  size_t begin = 0, end = line.size();
  while (begin < end) {
    size_t middle = begin + (end - begin) / 2;
    bool before = right ? !(line[middle] > value) : !(line[middle] >= value);
    (before ? begin : end) = before ? middle + 1 : middle;
  }
  return static_cast<int64_t>(begin);
}

template <typename Key>
Status RunSearch(const Search& s, const Tensor& result) {
  constexpr DType kKey = std::is_same_v<Key, double> ? DType::kF64 : DType::kI64;
  PAL_TRY(Tensor lines, EmptyTensor(kKey, s.sorted.sizes));
  PAL_TRY(CopyTo(s.sorted, lines));
  PAL_TRY(Tensor values, EmptyTensor(kKey, result.sizes));
  if (s.values.IsTensor()) {
    PAL_TRY(CopyTo(s.values.tensor(), values));
  } else {
    StoreNumber(s.values.ToScalar(), kKey, values.data());
  }
  PAL_TRY(Tensor places, EmptyTensor(DType::kI64, result.sizes));
  auto length = static_cast<size_t>(s.sorted.sizes.back());
  size_t per_line = s.sorted.dim() == 1 ? static_cast<size_t>(values.numel())
                                        : static_cast<size_t>(values.sizes.back());
  for (size_t i = 0; i < static_cast<size_t>(values.numel()); ++i) {
    const Key* line = lines.data_as<Key>() + i / per_line * length;
    places.data_as<int64_t>()[i] = Place<Key>({line, length}, values.data_as<Key>()[i], s.right);
  }
  return CopyTo(places, result);
}

Status SearchKernel(KernelCall& call) {
  PAL_TRY(Search s, SearchOf(call.op, call.args));
  const Tensor& result = call.results[0];
  bool whole = IsIntegral(s.sorted.dtype) && (s.values.IsTensor() || s.values.ToScalar().IsInt());
  return whole ? RunSearch<int64_t>(s, result) : RunSearch<double>(s, result);
}

}  // namespace

Status RegisterSearches(op::OpTable& table) {
  std::string search =
      "*, bool out_int32=False, bool right=False, str? side=None, Tensor? "
      "sorter=None) -> Tensor";
  std::string bucket = "*, bool out_int32=False, bool right=False) -> Tensor";
  return RegisterBuiltinRows(
      table, {
                 {"aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, " + search,
                  SearchMeta, SearchKernel},
                 {"aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, " + search,
                  SearchMeta, SearchKernel},
                 {"aten::bucketize.Tensor(Tensor self, Tensor boundaries, " + bucket, SearchMeta,
                  SearchKernel},
                 {"aten::bucketize.Scalar(Scalar self, Tensor boundaries, " + bucket, SearchMeta,
                  SearchKernel},
             });
}

}  // namespace palimpsest::kernels
