// Attention head by head: scores = scale * q k^T + mask, softmax, times v.
//
// Only one head's scores are in memory at a time. Where PyTorch takes its fused CPU kernel (four
// dims, equal head sizes, plain last dims), the result has the layout of the query; elsewhere it is
// contiguous. A row whose keys are all masked gives zeros.
#include "kernels/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/matmul_product.h"
#include "kernels/packed.h"
#include "kernels/softmax.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

struct AttentionArgs {
  const Tensor& query;
  const Tensor& key;
  const Tensor& value;
  const Tensor* mask;
  double dropout;
  bool is_causal;
  bool grouped;  // each key head serves several query heads
  double scale;
};

bool IsFlashForm(const op::Op& op) {
  return op.schema.name == "_scaled_dot_product_flash_attention_for_cpu";
}

AttentionArgs ArgsOf(const op::Op& op, std::span<const Value> args) {
  const Value& mask = Argument(op, args, "attn_mask");
  const Value& scale = Argument(op, args, "scale");
  bool grouped = !IsFlashForm(op) && Argument(op, args, "enable_gqa").ToBool();
  AttentionArgs a{args[0].tensor(),
                  args[1].tensor(),
                  args[2].tensor(),
                  mask.IsTensor() ? &mask.tensor() : nullptr,
                  Argument(op, args, "dropout_p").ToDouble(),
                  Argument(op, args, "is_causal").ToBool(),
                  grouped,
                  1};
  double head_size = a.query.dim() == 0 ? 1 : static_cast<double>(a.query.sizes.back());
  a.scale = scale.IsNone() ? 1 / std::sqrt(head_size) : scale.ToDouble();
  return a;
}

// Sizes of everything, with the leading dims broadcast.
struct AttentionShape {
  Dims batch;  // leading dims of the result
  int64_t queries = 0, keys = 0, head_size = 0, value_size = 0;
  int64_t heads_per_key = 1;  // grouped: query heads that share a key head
};

Dims LeadingDims(const Tensor& t) {
  Dims dims;
  dims.assign(t.sizes.begin(), t.sizes.end() - 2);
  return dims;
}

Result<AttentionShape> ShapeOf(const AttentionArgs& a) {
  AttentionShape shape;
  shape.queries = a.query.sizes[a.query.dim() - 2];
  shape.keys = a.key.sizes[a.key.dim() - 2];
  shape.head_size = a.query.sizes.back();
  shape.value_size = a.value.sizes.back();
  Dims query = LeadingDims(a.query), key = LeadingDims(a.key), value = LeadingDims(a.value);
  if (a.grouped) {
    if (query.empty() || key.empty() || value.empty()) {
      return Refused("matmul_size", "enable_gqa needs a dim of heads");
    }
    int64_t heads = query.back(), shared = key.back();
    if (shared == 0 || heads % shared != 0 || value.back() != shared) {
      return Refused("matmul_size",
                     fmt::format("Number of heads in key and value must divide the number of heads "
                                 "in query: {}, {} and {}",
                                 shared, value.back(), heads));
    }
    shape.heads_per_key = heads / shared;
    key.back() = value.back() = heads;
  }
  PAL_TRY(shape.batch, BroadcastShapes(query, key));
  PAL_TRY(shape.batch, BroadcastShapes(shape.batch, value));
  return shape;
}

Status CheckMask(const AttentionArgs& a, const AttentionShape& shape) {
  if (a.mask == nullptr) return {};
  DType dtype = a.mask->dtype;
  if (dtype != DType::kB8 && dtype != DType::kF32 && dtype != a.query.dtype) {
    return Refused("dtype_mismatch",
                   fmt::format("Expected attn_mask dtype to be bool or float or to match query "
                               "dtype, but got {} and {}",
                               TorchName(dtype), TorchName(a.query.dtype)));
  }
  if (a.mask->dim() < 2) return Refused("bad_argument", "attn_mask needs at least two dims");
  Dims scores = shape.batch;
  scores.push_back(shape.queries);
  scores.push_back(shape.keys);
  PAL_TRY(Dims sizes, BroadcastShapes(scores, a.mask->sizes));
  if (sizes == scores) return {};
  return Refused("broadcast_mismatch",
                 fmt::format("attn_mask of sizes {} does not expand to the scores' {}",
                             ToString(a.mask->sizes), ToString(scores)));
}

// What PyTorch's fused CPU kernel takes.
bool IsFused(const AttentionArgs& a) {
  if (a.query.dim() != 4 || a.key.dim() != 4 || a.value.dim() != 4) return false;
  if (a.query.sizes[3] != a.value.sizes[3]) return false;
  for (const Tensor* t : {&a.query, &a.key, &a.value}) {
    if (t->sizes[0] != a.query.sizes[0] || t->strides[3] != 1) return false;
    if (t->sizes[1] != a.query.sizes[1] && !a.grouped) return false;
    if (t->sizes[2] == 0) return false;
  }
  return true;
}

Status CheckOperands(const MetaCall& call, const AttentionArgs& a) {
  if (IsFlashForm(call.op) && !IsFused(a)) {
    return Refused("bad_argument", "the fused attention takes four dims of plain layout");
  }
  for (const Tensor* t : {&a.query, &a.key, &a.value}) {
    if (t->dim() < 2) {
      return Refused("matmul_size", "Expected query, key, and value to all be at least 2-D");
    }
    if (t->dtype != a.query.dtype) {
      return Refused("dtype_mismatch", "Expected query, key, and value to have the same dtype");
    }
  }
  if (!IsFloating(a.query.dtype)) {
    return Refused("unsupported_dtype",
                   fmt::format("attention is not implemented for {}", TorchName(a.query.dtype)));
  }
  bool fits = a.query.sizes.back() == a.key.sizes.back() &&
              a.key.sizes[a.key.dim() - 2] == a.value.sizes[a.value.dim() - 2];
  if (!fits) {
    return Refused("matmul_size", fmt::format("attention: query {}, key {} and value {} do not fit",
                                              ToString(a.query.sizes), ToString(a.key.sizes),
                                              ToString(a.value.sizes)));
  }
  if (a.dropout > 0) {
    return Unsupported(
        "scaled_dot_product_attention with dropout: random numbers inside attention are not "
        "reproduced; export the model in evaluation mode (dropout_p = 0)");
  }
  return {};
}

Status AttentionMeta(MetaCall& call) {
  AttentionArgs a = ArgsOf(call.op, call.args);
  PAL_TRY(CheckOperands(call, a));
  PAL_TRY(AttentionShape shape, ShapeOf(a));
  PAL_TRY(CheckMask(a, shape));
  Dims sizes = shape.batch;
  sizes.push_back(shape.queries);
  sizes.push_back(shape.value_size);
  View view = ContiguousView(a.query.dtype, sizes);
  if (IsFlashForm(call.op) || IsFused(a)) {
    view.strides = PreserveStrides(a.query);
  } else if (a.mask != nullptr && a.is_causal) {
    return Refused("bad_argument", "Explicit attn_mask should not be set when is_causal=True");
  }
  call.results.push_back(ResultSpec::Fresh(view));
  if (!IsFlashForm(call.op)) return {};
  // The logarithms of the sums: [batch, heads, queries], laid out as [batch, queries, heads].
  int64_t heads = shape.batch[1], queries = shape.queries;
  View sums{ComputeType(a.query.dtype), {shape.batch[0], heads, queries}, {}, 0};
  sums.strides = {std::max<int64_t>(heads, 1) * std::max<int64_t>(queries, 1), 1,
                  std::max<int64_t>(heads, 1)};
  call.results.push_back(ResultSpec::Fresh(sums));
  return {};
}

// One head of `t` as a matrix. `index`: the head's place in the broadcast leading dims.
Tensor HeadOf(const Tensor& t, const Dims& batch, int64_t index, int64_t heads_per_key) {
  int64_t offset = t.offset;
  size_t leading = t.dim() - 2;
  size_t missing = batch.size() - leading;
  for (size_t d = batch.size(); d-- > 0;) {
    int64_t i = index % batch[d];
    index /= batch[d];
    if (d < missing) continue;
    if (d + 1 == batch.size()) i /= heads_per_key;
    if (t.sizes[d - missing] != 1) offset += i * t.strides[d - missing];
  }
  return Rearranged(t, {t.sizes[leading], t.sizes[leading + 1]},
                    {t.strides[leading], t.strides[leading + 1]}, offset);
}

Tensor Transposed(const Tensor& m) {
  return Rearranged(m, {m.sizes[1], m.sizes[0]}, {m.strides[1], m.strides[0]}, m.offset);
}

// row = scale * row + mask; keys after the query's own place are out where causal.
template <typename T>
struct ScoreRow {
  T* row;
  int64_t keys;
  int64_t visible;  // keys that the query may see
  const T* mask;    // null: none
  int64_t mask_step;
};
template <typename T>
void MaskRow(const ScoreRow<T>& r, T scale) {
  constexpr T kMasked = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < r.visible; ++i) {
    r.row[i] *= scale;
    if (r.mask != nullptr) r.row[i] += r.mask[i * r.mask_step];
  }
  for (int64_t i = r.visible; i < r.keys; ++i) r.row[i] = kMasked;
}

// Softmax of a row, in place, zeros where all is masked; returns the logarithm of the sum.
template <typename T>
double SoftmaxOfScores(T* row, int64_t n) {
  T largest = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < n; ++i) {
    if (row[i] > largest || row[i] != row[i]) largest = row[i];
  }
  if (largest == -std::numeric_limits<T>::infinity()) {
    for (int64_t i = 0; i < n; ++i) row[i] = 0;
    return -std::numeric_limits<double>::infinity();
  }
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += row[i] = std::exp(row[i] - largest);
  T factor = T(1) / sum;
  for (int64_t i = 0; i < n; ++i) row[i] *= factor;
  return static_cast<double>(largest) + std::log(static_cast<double>(sum));
}

// A mask of bools as numbers to be added: 0 where the key is seen, -inf where not.
template <typename T>
Result<Tensor> NumericMask(const Tensor& mask, DType type) {
  if (mask.dtype != DType::kB8) return Packed(mask, type);
  PAL_TRY(Tensor numbers, EmptyTensor(type, mask.sizes));
  PAL_TRY(CopyTo(mask, numbers));
  T* data = numbers.data_as<T>();
  int64_t n = numbers.numel();
  for (int64_t i = 0; i < n; ++i) {
    data[i] = data[i] != 0 ? T(0) : -std::numeric_limits<T>::infinity();
  }
  return numbers;
}

Result<Tensor> InType(const Tensor& t, DType type) {
  return t.dtype == type ? Result<Tensor>(t) : Packed(t, type);
}

template <typename T>
Status Attention(KernelCall& call, const AttentionArgs& a, DType type) {
  PAL_TRY(AttentionShape shape, ShapeOf(a));
  PAL_TRY(Tensor query, InType(a.query, type));
  PAL_TRY(Tensor key, InType(a.key, type));
  PAL_TRY(Tensor value, InType(a.value, type));
  Tensor mask;
  if (a.mask != nullptr) {
    PAL_TRY(mask, NumericMask<T>(*a.mask, type));
  }
  PAL_TRY(PackedResult out, PackedResult::For(call.results[0], type));
  Dims sum_sizes = shape.batch;
  sum_sizes.push_back(shape.queries);
  PAL_TRY(Tensor log_sums, EmptyTensor(type, sum_sizes));
  Dims score_sizes = {shape.queries, shape.keys};
  PAL_TRY(Tensor scores, EmptyTensor(type, score_sizes));
  T* score = scores.data_as<T>();
  int64_t heads = 1;
  for (int64_t size : shape.batch) heads *= size;
  for (int64_t h = 0; h < heads; ++h) {
    Tensor k = HeadOf(key, shape.batch, h, shape.heads_per_key);
    PAL_TRY(MultiplyMatrices(HeadOf(query, shape.batch, h, 1), Transposed(k), scores));
    Tensor head_mask;
    if (mask.defined()) {
      Tensor wide = mask.dim() == 2 ? Expanded(mask, score_sizes) : mask;
      head_mask = Expanded(HeadOf(wide, shape.batch, h, 1), score_sizes);
    }
    for (int64_t i = 0; i < shape.queries; ++i) {
      int64_t visible = a.is_causal ? std::min(shape.keys, i + 1) : shape.keys;
      ScoreRow<T> row{score + i * shape.keys, shape.keys, visible, nullptr, 0};
      if (mask.defined()) {
        row.mask = head_mask.data_as<T>() + i * head_mask.strides[0];
        row.mask_step = head_mask.strides[1];
      }
      MaskRow(row, static_cast<T>(a.scale));
      log_sums.data_as<T>()[h * shape.queries + i] =
          static_cast<T>(SoftmaxOfScores(row.row, shape.keys));
    }
    int64_t begin = out.tensor().offset + h * shape.queries * shape.value_size;
    Tensor result = Rearranged(out.tensor(), {shape.queries, shape.value_size},
                               {std::max<int64_t>(shape.value_size, 1), 1}, begin);
    PAL_TRY(MultiplyMatrices(scores, HeadOf(value, shape.batch, h, shape.heads_per_key), result));
  }
  PAL_TRY(out.Store());
  return IsFlashForm(call.op) ? CopyTo(log_sums, call.results[1]) : Status();
}

Status AttentionKernel(KernelCall& call) {
  AttentionArgs a = ArgsOf(call.op, call.args);
  DType type = ComputeType(a.query.dtype);
  return type == DType::kF64 ? Attention<double>(call, a, type) : Attention<float>(call, a, type);
}

}  // namespace

Status RegisterAttention(op::OpTable& table) {
  return RegisterBuiltinRows(
      table,
      {{.schema = "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, "
                  "Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? "
                  "scale=None, bool enable_gqa=False) -> Tensor",
        .meta = AttentionMeta,
        .kernel = AttentionKernel},
       {.schema = "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, "
                  "Tensor value, float dropout_p=0.0, bool is_causal=False, *, Tensor? "
                  "attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
        .meta = AttentionMeta,
        .kernel = AttentionKernel}});
}

}  // namespace palimpsest::kernels
