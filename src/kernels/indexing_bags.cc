// embedding_bag: the sum, mean or maximum of some rows of a matrix, bag by bag.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/indexing.h"
#include "kernels/indexing_places.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

struct Bags {
  const Tensor& weight;
  const Tensor& indices;
  int64_t mode = kSum, count = 0;
  std::optional<int64_t> padding = std::nullopt;  // rows of this index do not count
};

Result<Bags> BagsOf(const op::Op& op, std::span<const Value> args) {
  Bags b{args[0].tensor(), args[1].tensor()};
  const Tensor& offsets = args[2].tensor();
  b.mode = Argument(op, args, "mode").ToInt();
  if (b.mode < kSum || b.mode > kMax) {
    return Refused("bad_argument", fmt::format("embedding_bag: mode {}", b.mode));
  }
  if (b.weight.dim() != 2 || b.indices.dim() != 1 || offsets.dim() != 1) {
    return Unsupported("embedding_bag: a matrix, a row of indices and a row of offsets expected");
  }
  if (b.weight.dtype != DType::kF32 && b.weight.dtype != DType::kF64) {
    return Unsupported(fmt::format("embedding_bag of {}", TorchName(b.weight.dtype)));
  }
  PAL_TRY(CheckIndexType(op, b.indices, true));
  PAL_TRY(CheckIndexType(op, offsets, true));
  bool last = Argument(op, args, "include_last_offset").ToBool();
  b.count = offsets.sizes[0] - (last ? 1 : 0);
  if (b.count < 0) return Refused("size_mismatch", "include_last_offset: no offset is given");
  if (!Argument(op, args, "per_sample_weights").IsNone()) {
    return Unsupported("embedding_bag with per_sample_weights");
  }
  int padding = op.schema.FindArg("padding_idx");
  if (padding >= 0) b.padding = args[static_cast<size_t>(padding)].ToOptionalInt();
  if (b.padding && op.schema.overload == "padding_idx" && *b.padding < 0) {
    *b.padding += b.weight.sizes[0];
  }
  return b;
}

// What else PyTorch returns: the bag of every index, the sizes of the bags, the rows of maxima. For
// sums it leaves these empty or zero.
Status BagMeta(MetaCall& call) {
  PAL_TRY(Bags b, BagsOf(call.op, call.args));
  int64_t columns = b.weight.sizes[1];
  DType index = b.indices.dtype;
  call.results.push_back(ResultSpec::Fresh(b.weight.dtype, Dims{b.count, columns}));
  int64_t mapped = b.mode == kSum ? 0 : b.indices.numel();
  call.results.push_back(ResultSpec::Fresh(index, Dims{mapped}));
  call.results.push_back(ResultSpec::Fresh(index, Dims{b.count}));
  Dims maxima = b.mode == kMax ? Dims{b.count, columns} : Dims{b.count};
  call.results.push_back(ResultSpec::Fresh(index, maxima));
  return {};
}

struct Collected {
  Tensor sums, bag_of, sizes, maxima;  // f64, and i64
};

void AddRow(const Bags& b, const double* row, int64_t index, int64_t bag, const Collected& c) {
  int64_t columns = b.weight.sizes[1];
  double* sum = c.sums.data_as<double>() + bag * columns;
  bool first = c.sizes.data_as<int64_t>()[bag]++ == 0;
  for (int64_t k = 0; k < columns; ++k) {
    if (b.mode != kMax) {
      sum[k] += row[k];
    } else if (first || row[k] > sum[k]) {
      sum[k] = row[k];
      c.maxima.data_as<int64_t>()[bag * columns + k] = index;
    }
  }
}

Status Collect(const Bags& b, std::span<const int64_t> offsets, const Collected& c) {
  PAL_TRY(std::vector<int64_t> rows, ReadIntegers(b.indices, b.indices.sizes));
  std::vector<int64_t> checked(rows.size(), 0);
  PAL_TRY(AddPlaces(rows, b.weight.sizes[0], 1, NegativeIndex::kRefused, 0, checked));
  PAL_TRY(Tensor weight, EmptyTensor(DType::kF64, b.weight.sizes));
  PAL_TRY(CopyTo(b.weight, weight));
  int64_t bag = 0, columns = b.weight.sizes[1];
  for (size_t i = 0; i < rows.size(); ++i) {
    while (bag + 1 < b.count && static_cast<int64_t>(i) >= offsets[static_cast<size_t>(bag + 1)]) {
      ++bag;
    }
    if (b.mode != kSum) c.bag_of.data_as<int64_t>()[i] = bag;
    if (b.padding && rows[i] == *b.padding) continue;
    AddRow(b, weight.data_as<double>() + rows[i] * columns, rows[i], bag, c);
  }
  if (b.mode != kMean) return {};
  for (int64_t k = 0; k < c.sums.numel(); ++k) {
    int64_t size = c.sizes.data_as<int64_t>()[k / columns];
    if (size > 0) c.sums.data_as<double>()[k] /= static_cast<double>(size);
  }
  return {};
}

Status CheckOffsets(std::span<const int64_t> offsets, int64_t indices) {
  for (size_t i = 0; i < offsets.size(); ++i) {
    int64_t before = i == 0 ? 0 : offsets[i - 1];
    if (offsets[i] >= before && offsets[i] <= indices && (i > 0 || offsets[i] == 0)) continue;
    return RuntimeFailure(fmt::format("embedding_bag: offset {} is {} after {}, of {} indices", i,
                                      offsets[i], before, indices),
                          "index_out_of_range");
  }
  return {};
}

Status BagKernel(KernelCall& call) {
  PAL_TRY(Bags b, BagsOf(call.op, call.args));
  if (b.count == 0) return {};
  const Tensor& given = call.args[2].tensor();
  PAL_TRY(std::vector<int64_t> offsets, ReadIntegers(given, given.sizes));
  PAL_TRY(CheckOffsets(offsets, b.indices.numel()));
  Collected c;
  PAL_TRY(c.sums, EmptyTensor(DType::kF64, call.results[0].sizes));
  PAL_TRY(c.bag_of, EmptyTensor(DType::kI64, call.results[1].sizes));
  PAL_TRY(c.sizes, EmptyTensor(DType::kI64, call.results[2].sizes));
  PAL_TRY(c.maxima, EmptyTensor(DType::kI64, call.results[3].sizes));
  for (const Tensor* t : {&c.sums, &c.bag_of, &c.sizes, &c.maxima}) {
    PAL_TRY(FillWith(Scalar::Int(0), *t));
  }
  PAL_TRY(Collect(b, offsets, c));
  PAL_TRY(CopyTo(c.sums, call.results[0]));
  PAL_TRY(CopyTo(c.bag_of, call.results[1]));
  if (b.mode == kSum) {
    PAL_TRY(FillWith(Scalar::Int(0), c.sizes));
  }
  PAL_TRY(CopyTo(c.sizes, call.results[2]));
  return CopyTo(b.mode == kMean ? c.sizes : c.maxima, call.results[3]);
}

}  // namespace

Status RegisterBags(op::OpTable& table) {
  op::Traits reads;
  reads.may_refuse = true;
  std::string head = "(Tensor weight, Tensor indices, Tensor offsets, ";
  std::string results = ") -> (Tensor, Tensor, Tensor, Tensor)";
  std::string defaults =
      "bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? "
      "per_sample_weights=None, bool include_last_offset=False";
  return RegisterBuiltinRows(
      table,
      {
          {"aten::embedding_bag" + head + defaults + results, BagMeta, BagKernel, reads},
          {"aten::embedding_bag.padding_idx" + head +
               "bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool "
               "include_last_offset, int? padding_idx" +
               results,
           BagMeta, BagKernel, reads},
          {"aten::_embedding_bag_forward_only" + head + defaults + ", int padding_idx=-1" + results,
           BagMeta, BagKernel, reads},
          {"aten::_embedding_bag" + head + defaults + ", int padding_idx=-1" + results, BagMeta,
           BagKernel, reads},
      });
}

}  // namespace palimpsest::kernels
