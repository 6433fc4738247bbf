// Operators of an inference engine: caches, normalisation, rotary embedding.
#include "elements.h"
#include "families.h"

namespace caselib {
namespace {

// to[i, ...] = from[j, ...]
template <typename T>
void CopyRow(const Tensor& from, int64_t j, const Tensor& to, int64_t i) {
  const T* a = from.data<const T>() + j * from.stride(0);
  T* b = to.data<T>() + i * to.stride(0);
  Walk<2>(from.sizes().subspan(1), {from.strides().subspan(1), to.strides().subspan(1)},
          [&](const auto& o) { b[o[1]] = a[o[0]]; });
}

bool SameRows(const Tensor& a, const Tensor& b) {
  return a.dim() >= 1 && b.dim() >= 1 && SameSizes(a.sizes().subspan(1), b.sizes().subspan(1));
}

void PushBack(Tensor state, Tensor latest) {
  Dispatch(state, [&]<typename T>(T) {
    int64_t n = state.size(0), m = latest.size(0);
    for (int64_t i = 0; i < n - m; ++i) CopyRow<T>(state, i + m, state, i);
    for (int64_t i = 0; i < m; ++i) CopyRow<T>(latest, i, state, n - m + i);
  });
}
void CheckPushBack(Tensor state, Tensor latest) {
  RequireSameType({state, latest});
  Require(SameRows(state, latest) && latest.size(0) <= state.size(0), "sizes do not fit");
}

void KvStore(Tensor k, Tensor v, Tensor k_cache, Tensor v_cache, Tensor slots) {
  Dispatch(k, [&]<typename T>(T) {
    auto slot = slots.accessor<const int64_t, 1>();
    for (int64_t t = 0; t < slots.size(0); ++t) {
      int64_t p = slot[t];
      if (p < 0) continue;
      Require(p < k_cache.size(0) && p < v_cache.size(0), "slot out of range");
      CopyRow<T>(k, t, k_cache, p);
      CopyRow<T>(v, t, v_cache, p);
    }
  });
}
void CheckKvStore(Tensor k, Tensor v, Tensor k_cache, Tensor v_cache, Tensor slots) {
  RequireSameType({k, v, k_cache, v_cache});
  Require(slots.dtype() == DType::kI64, "element type");
  Require(SameRows(k, k_cache) && SameRows(v, v_cache) && slots.dim() == 1 &&
              k.size(0) == v.size(0) && k.size(0) == slots.size(0),
          "sizes do not fit");
}

// One row of fused_add_rms_norm. The sums of the row are kept, not read again.
template <typename T>
void AddNormRow(T* x, T* residual, const Tensor& weight, int64_t x_stride, int64_t r_stride,
                double eps) {
  int64_t n = weight.size(0);
  const T* w = weight.data<const T>();
  std::vector<double> row;
  double squares = 0;
  for (int64_t j = 0; j < n; ++j) {
    T sum = Plus(x[j * x_stride], residual[j * r_stride]);
    residual[j * r_stride] = sum;
    row.push_back(static_cast<double>(sum));
    squares += row.back() * row.back();
  }
  double inverse = 1.0 / std::sqrt(squares / static_cast<double>(n) + eps);
  for (int64_t j = 0; j < n; ++j) {
    auto scale = static_cast<double>(w[j * weight.stride(0)]);
    x[j * x_stride] = FromDouble<T>(row[static_cast<size_t>(j)] * inverse * scale);
  }
}

void FusedAddRmsNorm(Tensor x, Tensor residual, Tensor weight, double eps) {
  if (x.numel() == 0) return;
  size_t outer = static_cast<size_t>(x.dim()) - 1;
  Dispatch(x, [&]<typename T>(T) {
    Walk<2>(x.sizes().first(outer), {x.strides().first(outer), residual.strides().first(outer)},
            [&](const auto& o) {
              AddNormRow(x.data<T>() + o[0], residual.data<T>() + o[1], weight, x.stride(-1),
                         residual.stride(-1), eps);
            });
  });
}
void CheckFusedAddRmsNorm(Tensor x, Tensor residual, Tensor weight, double) {
  RequireSameType({x, residual, weight});
  RequireAlike({x, residual});
  Require(x.dim() >= 1 && weight.dim() == 1 && weight.size(0) == x.size(-1), "sizes do not fit");
}

template <typename T>
void RotateRow(const Tensor& m, int64_t t, const Tensor& cos_sin, int64_t position) {
  int64_t d = cos_sin.size(1), h = d / 2;
  auto row = m.accessor<T, 2>()[t];
  auto angles = cos_sin.accessor<const T, 2>()[position];
  for (int64_t head = 0; head < m.size(1) / d; ++head) {
    for (int64_t j = 0; j < h; ++j) {
      auto u = static_cast<double>(row[head * d + j]);
      auto w = static_cast<double>(row[head * d + h + j]);
      auto c = static_cast<double>(angles[j]), s = static_cast<double>(angles[h + j]);
      row[head * d + j] = FromDouble<T>(u * c - w * s);
      row[head * d + h + j] = FromDouble<T>(w * c + u * s);
    }
  }
}

void Rotary(Tensor positions, Tensor q, Tensor k, Tensor cos_sin) {
  Dispatch(q, [&]<typename T>(T) {
    auto position = positions.accessor<const int64_t, 1>();
    for (int64_t t = 0; t < positions.size(0); ++t) {
      int64_t p = position[t];
      Require(p >= 0 && p < cos_sin.size(0), "position out of range");
      RotateRow<T>(q, t, cos_sin, p);
      RotateRow<T>(k, t, cos_sin, p);
    }
  });
}
void CheckRotary(Tensor positions, Tensor q, Tensor k, Tensor cos_sin) {
  RequireSameType({q, k, cos_sin});
  Require(positions.dtype() == DType::kI64, "element type");
  Require(q.dim() == 2 && k.dim() == 2 && cos_sin.dim() == 2 && positions.dim() == 1 &&
              q.size(0) == k.size(0) && q.size(0) == positions.size(0),
          "sizes do not fit");
  int64_t d = cos_sin.size(1);
  Require(d > 0 && d % 2 == 0 && q.size(1) % d == 0 && k.size(1) % d == 0, "head size");
}

}  // namespace

void DefineRows(palimpsest::plugin::Library& m) {
  m.def("push_back(Tensor(a!) state, Tensor new) -> ()", PushBack, CheckPushBack);
  m.def("kv_store(Tensor k, Tensor v, Tensor(a!) k_cache, Tensor(b!) v_cache, Tensor slots) -> ()",
        KvStore, CheckKvStore, {.may_refuse = true});
  m.def(
      "fused_add_rms_norm(Tensor(a!) x, Tensor(b!) residual, Tensor weight, float eps=1e-6) -> ()",
      FusedAddRmsNorm, CheckFusedAddRmsNorm);
  m.def("rotary(Tensor positions, Tensor(a!) q, Tensor(b!) k, Tensor cos_sin) -> ()", Rotary,
        CheckRotary, {.may_refuse = true});
}

}  // namespace caselib
