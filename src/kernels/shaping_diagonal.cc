// tril, triu, diag_embed, diag, diagflat.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/reduce_dims.h"
#include "kernels/shaping.h"
#include "kernels/views.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

// ---- tril, triu

Status TriangleMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  if (self.dim() < 2) {
    return Refused(
        "dim_out_of_range",
        fmt::format("{}: input tensor must have at least 2 dimensions", call.op.schema.name));
  }
  call.results.push_back(ResultSpec::Fresh(self.dtype, self.sizes));
  return {};
}

// Columns [first, last) of row `row`, in every matrix.
Result<Tensor> RowPart(const Tensor& t, int64_t row, int64_t first, int64_t last) {
  PAL_TRY(View view, SelectView(t.view(), -2, row));
  PAL_TRY(view, SliceView(view, -1, first, last, 1));
  return Tensor(view, t.storage);
}

// Row by row: what is kept is copied, the rest is 0. The result may lie on self.
Status TriangleKernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& result = call.results[0];
  if (self.numel() == 0) return {};
  bool lower = call.op.schema.name.starts_with("tril");
  int64_t rows = self.sizes[self.dim() - 2], columns = self.sizes.back();
  int64_t diagonal = std::clamp(call.args[1].ToInt(), -rows - 1, columns + 1);
  for (int64_t r = 0; r < rows; ++r) {
    int64_t border = std::clamp<int64_t>(r + diagonal + (lower ? 1 : 0), 0, columns);
    PAL_TRY(Tensor left, RowPart(result, r, 0, border));
    PAL_TRY(Tensor right, RowPart(result, r, border, columns));
    PAL_TRY(Tensor kept, lower ? RowPart(self, r, 0, border) : RowPart(self, r, border, columns));
    PAL_TRY(CopyTo(kept, lower ? left : right));
    PAL_TRY(FillWith(Scalar::Int(0), lower ? right : left));
  }
  return {};
}

// ---- diag_embed: self along a diagonal of new matrices.

struct Embedding {
  Dims sizes;
  int64_t offset, dim1, dim2;
};

Result<Embedding> EmbeddingOf(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  PAL_TRY(int64_t a, WrapDim(dim1, self.dim() + 1));
  PAL_TRY(int64_t b, WrapDim(dim2, self.dim() + 1));
  if (a == b) {
    return Refused("dim_repeated",
                   fmt::format("diagonal dimensions cannot be identical {}, {}", dim1, dim2));
  }
  if (self.dim() == 0) return Refused("dim_out_of_range", "diag_embed of a 0-dim tensor");
  constexpr int64_t kMost = int64_t{1} << 40;
  if (offset > kMost || offset < -kMost) return Unsupported("diag_embed with a huge offset");
  int64_t size = self.sizes.back() + std::abs(offset);
  Embedding e{self.sizes, offset, a, b};
  e.sizes.pop_back();
  int64_t first = std::min(a, b), second = std::max(a, b);
  e.sizes.insert(e.sizes.begin() + first, size);
  e.sizes.insert(e.sizes.begin() + second, size);
  PAL_TRY(CheckedNumel(e.sizes));
  return e;
}

Status Embed(const Tensor& self, const Embedding& e, const Tensor& result) {
  PAL_TRY(FillWith(Scalar::Int(0), result));
  PAL_TRY(View diagonal, DiagonalView(result.view(), e.offset, e.dim1, e.dim2));
  return CopyTo(self, Tensor(diagonal, result.storage));
}

Result<Embedding> DiagEmbedOf(std::span<const Value> args) {
  return EmbeddingOf(args[0].tensor(), args[1].ToInt(), args[2].ToInt(), args[3].ToInt());
}
Status DiagEmbedMeta(MetaCall& call) {
  PAL_TRY(Embedding e, DiagEmbedOf(call.args));
  call.results.push_back(ResultSpec::Fresh(call.args[0].tensor().dtype, e.sizes));
  return {};
}
Status DiagEmbedKernel(KernelCall& call) {
  PAL_TRY(Embedding e, DiagEmbedOf(call.args));
  return Embed(call.args[0].tensor(), e, call.results[0]);
}

// ---- diag: a matrix of a vector, or the diagonal of a matrix. diagflat: of the elements as a row.

// The elements of self as one row, packed; shape-only if self is.
Tensor AsRow(const Tensor& self) {
  return Tensor(ContiguousView(self.dtype, Dims{self.numel()}), self.storage);
}

Status DiagMeta(MetaCall& call) {
  const Tensor& self = call.args[0].tensor();
  bool flat = call.op.schema.name == "diagflat";
  if (!flat && self.dim() == 2) {
    PAL_TRY(View diagonal, DiagonalView(self.view(), call.args[1].ToInt(), 0, 1));
    call.results.push_back(ResultSpec::Fresh(self.dtype, diagonal.sizes));
    return {};
  }
  if (!flat && self.dim() != 1) {
    return Refused("size_mismatch",
                   fmt::format("diag(): Supports 1D or 2D tensors. Got {}D", self.dim()));
  }
  PAL_TRY(Embedding e, EmbeddingOf(flat ? AsRow(self) : self, call.args[1].ToInt(), -2, -1));
  call.results.push_back(ResultSpec::Fresh(self.dtype, e.sizes));
  return {};
}

Status DiagKernel(KernelCall& call) {
  const Tensor& self = call.args[0].tensor();
  const Tensor& result = call.results[0];
  int64_t offset = call.args[1].ToInt();
  if (call.op.schema.name != "diagflat" && self.dim() == 2) {
    PAL_TRY(View diagonal, DiagonalView(self.view(), offset, 0, 1));
    return CopyTo(Tensor(diagonal, self.storage), result);
  }
  PAL_TRY(Tensor packed, EmptyTensor(self.dtype, self.sizes));
  PAL_TRY(CopyTo(self, packed));
  Tensor row = AsRow(packed);
  PAL_TRY(Embedding e, EmbeddingOf(row, offset, -2, -1));
  return Embed(row, e, result);
}

}  // namespace

Status RegisterDiagonals(op::OpTable& table) {
  op::Traits pointwise;
  pointwise.pointwise = true;
  std::vector<BuiltinRow> rows = {
      {"aten::tril(Tensor self, SymInt diagonal=0) -> Tensor", TriangleMeta, TriangleKernel,
       pointwise},
      {"aten::triu(Tensor self, SymInt diagonal=0) -> Tensor", TriangleMeta, TriangleKernel,
       pointwise},
  };
  rows.push_back(InPlaceForm(rows[0], SelfOverlap::kUnsupported));
  rows.push_back(InPlaceForm(rows[1], SelfOverlap::kUnsupported));
  rows.push_back({"aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
                  DiagEmbedMeta, DiagEmbedKernel});
  rows.push_back({"aten::diag(Tensor self, int diagonal=0) -> Tensor", DiagMeta, DiagKernel});
  rows.push_back({"aten::diagflat(Tensor self, int offset=0) -> Tensor", DiagMeta, DiagKernel});
  return RegisterBuiltinRows(table, std::move(rows));
}

}  // namespace palimpsest::kernels
