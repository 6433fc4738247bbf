// mm, bmm, addmm, baddbmm, addbmm, mv, addmv, dot, outer, addr: products of fixed ranks.
//
// All are one product of batches of matrices: vectors are seen as matrices with one column (or
// row), and `beta * self + alpha * product` is added up before the one rounding at the end.
#include "kernels/matmul.h"

#include <fmt/format.h>

#include <complex>

#include "kernels/builtin_row.h"
#include "kernels/copy.h"
#include "kernels/matmul_product.h"
#include "kernels/packed.h"
#include "kernels/reduce_dims.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {
namespace {

using op::KernelCall;
using op::MetaCall;
using op::ResultSpec;

// The forms share their code: which arguments are the factors, which the addend.
struct ProductForm {
  const char* schema;
  int first, second;  // arguments
  int addend = -1;    // argument, or -1
  size_t first_rank, second_rank;
  bool sums_batches = false;  // addbmm
  int out = -1;               // the out= argument
};

const Tensor& TensorAt(std::span<const Value> args, int i) {
  return args[static_cast<size_t>(i)].tensor();
}

// A factor as matrices: [k] -> [1, k] on the left, [k, 1] on the right. A product of two vectors
// that is not a dot product (outer) is [m, 1] by [1, n].
struct Factors {
  Tensor a, b;
  Dims sizes;  // of the product
};

Tensor AsRow(const Tensor& v) {
  return Rearranged(v, {1, v.sizes[0]}, {0, v.strides[0]}, v.offset);
}
Tensor AsColumn(const Tensor& v) {
  return Rearranged(v, {v.sizes[0], 1}, {v.strides[0], 0}, v.offset);
}

Status CheckFactorRank(const MetaCall& call, const Tensor& t, size_t rank) {
  if (t.dim() == rank) return {};
  return Refused("matmul_size", fmt::format("{}: expected a {}-D tensor, got sizes {}",
                                            call.op.schema.Key(), rank, ToString(t.sizes)));
}

Status CheckProductType(const MetaCall& call, const Tensor& a, const Tensor& b) {
  if (a.dtype != b.dtype) {
    return Refused(
        "dtype_mismatch",
        fmt::format("{}: expected both factors to have the same dtype, but got {} and {}",
                    call.op.schema.Key(), TorchName(a.dtype), TorchName(b.dtype)));
  }
  if (a.dtype == DType::kB8) {
    return Refused("unsupported_dtype",
                   fmt::format("{} is not implemented for bool", call.op.schema.Key()));
  }
  return {};
}

Factors FactorsOf(const ProductForm& form, std::span<const Value> args) {
  const Tensor& x = TensorAt(args, form.first);
  const Tensor& y = TensorAt(args, form.second);
  if (form.first_rank == 1 && form.second_rank == 1) {
    bool is_dot = form.sums_batches;
    if (is_dot) return {AsRow(x), AsColumn(y), {}};
    return {AsColumn(x), AsRow(y), {x.sizes[0], y.sizes[0]}};
  }
  if (form.second_rank == 1) return {x, AsColumn(y), {x.sizes[0]}};
  Dims sizes = x.sizes;
  sizes.back() = y.sizes.back();
  if (form.sums_batches) sizes.erase(sizes.begin());
  return {x, y, sizes};
}

Status CheckInnerSizes(const MetaCall& call, const Factors& f) {
  size_t ra = f.a.dim(), rb = f.b.dim();
  bool same_batches = ra < 3 || f.a.sizes[0] == f.b.sizes[0];
  if (f.a.sizes[ra - 1] == f.b.sizes[rb - 2] && same_batches) return {};
  return Refused("matmul_size",
                 fmt::format("{}: shapes cannot be multiplied ({} and {})", call.op.schema.Key(),
                             ToString(f.a.sizes), ToString(f.b.sizes)));
}

Status CheckBroadcastsTo(const MetaCall& call, const Tensor& self, const Dims& sizes) {
  bool ok = self.dim() <= sizes.size();
  for (size_t d = 0; ok && d < self.dim(); ++d) {
    int64_t size = self.sizes[self.dim() - 1 - d];
    ok = size == 1 || size == sizes[sizes.size() - 1 - d];
  }
  if (ok) return {};
  return Refused("broadcast_mismatch",
                 fmt::format("{}: self of sizes {} does not expand to the product's {}",
                             call.op.schema.Key(), ToString(self.sizes), ToString(sizes)));
}

Status CheckOut(const MetaCall& call, const ProductForm& form, DType dtype) {
  const Tensor& out = TensorAt(call.args, form.out);
  if (out.dtype != dtype) {
    return Refused("dtype_mismatch",
                   fmt::format("{}: expected out tensor to have dtype {}, but got {} instead",
                               call.op.schema.Key(), TorchName(dtype), TorchName(out.dtype)));
  }
  PAL_TRY(CheckInternalOverlap(out));
  PAL_TRY(CheckPartialOverlap(out, TensorAt(call.args, form.first)));
  return CheckPartialOverlap(out, TensorAt(call.args, form.second));
}

Status ProductMeta(const ProductForm& form, MetaCall& call) {
  const Tensor& x = TensorAt(call.args, form.first);
  const Tensor& y = TensorAt(call.args, form.second);
  PAL_TRY(CheckFactorRank(call, x, form.first_rank));
  PAL_TRY(CheckFactorRank(call, y, form.second_rank));
  Factors f = FactorsOf(form, call.args);
  PAL_TRY(CheckInnerSizes(call, f));
  PAL_TRY(CheckProductType(call, x, y));
  if (form.addend >= 0) {
    const Tensor& self = TensorAt(call.args, form.addend);
    PAL_TRY(CheckBroadcastsTo(call, self, f.sizes));
    PAL_TRY(CheckProductType(call, self, x));
  }
  if (form.out >= 0) PAL_TRY(CheckOut(call, form, x.dtype));
  return AddReduceResult(call, ContiguousView(x.dtype, f.sizes), form.out);
}

// ---- Kernels.

template <typename T>
T NumberAs(const Scalar& number) {
  if constexpr (std::is_integral_v<T>) {
    return number.IsInt() ? number.i : static_cast<T>(number.c.real());
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(number.AsDouble());
  } else {
    return T(number.IsInt() ? std::complex<double>(static_cast<double>(number.i)) : number.c);
  }
}

struct Addend {
  const Tensor* self = nullptr;  // packed; null: beta is 0, its nan and inf count for nothing
  Scalar beta, alpha;
};

template <typename T>
void AddUp(const Addend& addend, const Tensor& product) {
  T alpha = NumberAs<T>(addend.alpha), beta = NumberAs<T>(addend.beta);
  T* out = product.data_as<T>();
  int64_t n = product.numel();
  if (alpha != T(1)) {
    for (int64_t i = 0; i < n; ++i) out[i] = alpha * out[i];
  }
  if (addend.self == nullptr || n == 0) return;
  Tensor self = Expanded(*addend.self, product.sizes);
  int64_t cols = product.sizes.back(), step = self.strides.back();
  for (int64_t row = 0; row < n / cols; ++row) {
    int64_t offset = 0, index = row;
    for (size_t d = product.dim() - 1; d-- > 0;) {
      offset += index % product.sizes[d] * self.strides[d];
      index /= product.sizes[d];
    }
    const T* from = self.data_as<T>() + offset;
    T* to = out + row * cols;
    for (int64_t j = 0; j < cols; ++j) to[j] += beta * from[j * step];
  }
}

void AddUpAs(DType type, const Addend& addend, const Tensor& product) {
  switch (type) {
    case DType::kF32:
      return AddUp<float>(addend, product);
    case DType::kF64:
      return AddUp<double>(addend, product);
    case DType::kC64:
      return AddUp<std::complex<float>>(addend, product);
    case DType::kC128:
      return AddUp<std::complex<double>>(addend, product);
    default:
      return AddUp<int64_t>(addend, product);
  }
}

// [b, m, k] x [b, k, n] summed over b as one product: [m, b * k] x [b * k, n].
Status MergeBatches(Factors& f) {
  Tensor& a = f.a;
  Tensor by_rows = Rearranged(a, {a.sizes[1], a.sizes[0], a.sizes[2]},
                              {a.strides[1], a.strides[0], a.strides[2]}, a.offset);
  PAL_TRY(Tensor packed, Packed(by_rows, a.dtype));
  int64_t m = packed.sizes[0], inner = packed.sizes[1] * packed.sizes[2];
  f.a = Rearranged(packed, {m, inner}, {std::max<int64_t>(inner, 1), 1}, packed.offset);
  PAL_TRY(Tensor b, Packed(f.b, f.b.dtype));
  int64_t n = b.sizes[2];
  f.b = Rearranged(b, {inner, n}, {std::max<int64_t>(n, 1), 1}, b.offset);
  return {};
}

// Converted as it lies: only another type costs memory.
Result<Tensor> OfType(const Tensor& tensor, DType type) {
  return tensor.dtype == type ? Result<Tensor>(tensor) : Packed(tensor, type);
}

Result<Addend> AddendOf(const ProductForm& form, const KernelCall& call, DType type,
                        Tensor& storage) {
  Addend addend;
  addend.alpha = addend.beta = Scalar::Int(1);
  if (form.addend < 0) return addend;
  addend.alpha = Argument(call.op, call.args, "alpha").ToScalar();
  addend.beta = Argument(call.op, call.args, "beta").ToScalar();
  if (NumberAs<std::complex<double>>(addend.beta) == 0.0) return addend;
  PAL_TRY(storage, OfType(TensorAt(call.args, form.addend), type));
  addend.self = &storage;
  return addend;
}

Status ProductKernel(const ProductForm& form, KernelCall& call) {
  DType dtype = TensorAt(call.args, form.first).dtype;
  DType type = ComputeType(dtype);
  Factors f = FactorsOf(form, call.args);
  PAL_TRY(f.a, OfType(f.a, type));
  PAL_TRY(f.b, OfType(f.b, type));
  if (form.sums_batches && f.a.dim() == 3) PAL_TRY(MergeBatches(f));
  PAL_TRY(Tensor target, ReduceTarget(call, ContiguousView(dtype, f.sizes), 0, form.out));
  // An out= tensor may lie on the addend; the result of a functional form lies on nothing.
  PAL_TRY(Tensor fresh, form.out >= 0 ? EmptyTensor(type, f.sizes) : Result<Tensor>(target));
  PAL_TRY(PackedResult result, PackedResult::For(fresh, type));
  Dims sizes = f.a.sizes;
  sizes.back() = f.b.sizes.back();
  Tensor product =
      Rearranged(result.tensor(), sizes, ContiguousStrides(sizes), result.tensor().offset);
  PAL_TRY(MultiplyMatrices(f.a, f.b, product));
  Tensor self;
  PAL_TRY(Addend addend, AddendOf(form, call, type, self));
  if (form.addend >= 0) AddUpAs(type, addend, result.tensor());
  PAL_TRY(result.Store());
  return form.out >= 0 ? CopyTo(fresh, target) : Status();
}

const ProductForm kForms[] = {
    {.schema = "aten::mm(Tensor self, Tensor mat2) -> Tensor",
     .first = 0,
     .second = 1,
     .first_rank = 2,
     .second_rank = 2},
    {.schema = "aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)",
     .first = 0,
     .second = 1,
     .first_rank = 2,
     .second_rank = 2,
     .out = 2},
    {.schema = "aten::bmm(Tensor self, Tensor mat2) -> Tensor",
     .first = 0,
     .second = 1,
     .first_rank = 3,
     .second_rank = 3},
    {.schema = "aten::bmm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)",
     .first = 0,
     .second = 1,
     .first_rank = 3,
     .second_rank = 3,
     .out = 2},
    {.schema = "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar "
               "alpha=1) -> Tensor",
     .first = 1,
     .second = 2,
     .addend = 0,
     .first_rank = 2,
     .second_rank = 2},
    {.schema = "aten::addmm.out(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar "
               "alpha=1, Tensor(a!) out) -> Tensor(a!)",
     .first = 1,
     .second = 2,
     .addend = 0,
     .first_rank = 2,
     .second_rank = 2,
     .out = 5},
    {.schema = "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar "
               "alpha=1) -> Tensor",
     .first = 1,
     .second = 2,
     .addend = 0,
     .first_rank = 3,
     .second_rank = 3},
    {.schema = "aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar "
               "alpha=1) -> Tensor",
     .first = 1,
     .second = 2,
     .addend = 0,
     .first_rank = 3,
     .second_rank = 3,
     .sums_batches = true},
    {.schema = "aten::mv(Tensor self, Tensor vec) -> Tensor",
     .first = 0,
     .second = 1,
     .first_rank = 2,
     .second_rank = 1},
    {.schema = "aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) "
               "-> Tensor",
     .first = 1,
     .second = 2,
     .addend = 0,
     .first_rank = 2,
     .second_rank = 1},
    {.schema = "aten::dot(Tensor self, Tensor tensor) -> Tensor",
     .first = 0,
     .second = 1,
     .first_rank = 1,
     .second_rank = 1,
     .sums_batches = true},
    {.schema = "aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar "
               "alpha=1) -> Tensor",
     .first = 1,
     .second = 2,
     .addend = 0,
     .first_rank = 1,
     .second_rank = 1},
};

const char* const kInPlaceForms[] = {
    "aten::addmm", "aten::baddbmm", "aten::addbmm", "aten::addmv", "aten::addr",
};

// "aten::addmm(Tensor self, ...) -> Tensor" -> "aten::addmm_(Tensor(a!) self, ...) -> Tensor(a!)".
Status RegisterInPlace(op::OpTable& table, const char* functional) {
  op::Op op;
  op.schema = table.Find(functional)->schema;
  op.schema.name += "_";
  op.schema.args[0].type.alias = op::AliasInfo{{"a"}, {"a"}, true};
  op.schema.returns[0].type.alias = op::AliasInfo{{"a"}, {"a"}, true};
  op.functional = functional;
  return table.Register(std::move(op));
}

}  // namespace

Status RegisterMatrixProducts(op::OpTable& table) {
  std::vector<BuiltinRow> rows;
  for (const ProductForm& form : kForms) {
    rows.push_back({.schema = form.schema,
                    .meta = [&form](MetaCall& call) { return ProductMeta(form, call); },
                    .kernel = [&form](KernelCall& call) { return ProductKernel(form, call); }});
  }
  PAL_TRY(RegisterBuiltinRows(table, std::move(rows)));
  for (const char* functional : kInPlaceForms) PAL_TRY(RegisterInPlace(table, functional));
  return {};
}

Status RegisterMatmul(op::OpTable& table) {
  PAL_TRY(RegisterMatrixProducts(table));
  PAL_TRY(RegisterBroadcastProducts(table));
  return RegisterEinsum(table);
}

}  // namespace palimpsest::kernels
