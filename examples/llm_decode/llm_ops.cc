// The `llm` operators of the demo, as a user would port a TORCH_LIBRARY block: the schemas are the
// ones that export_decode.py registers in PyTorch, the bodies are plain loops.

#include <cmath>
#include <vector>

#include "palimpsest/operator_library.h"

namespace {

using palimpsest::plugin::IndexError;
using palimpsest::plugin::NewTensor;
using palimpsest::plugin::OperatorOptions;
using palimpsest::plugin::Require;
using palimpsest::plugin::Tensor;

// Token t of k and v [T, heads, dim] goes to slot slots[t] of the pages [pages, page, heads, dim].
void StoreKv(Tensor k, Tensor v, Tensor k_pages, Tensor v_pages, Tensor slots) {
  auto slot = slots.accessor<const int64_t, 1>();
  int64_t page = k_pages.size(1);
  for (int64_t t = 0; t < slots.size(0); ++t) {
    if (slot[t] < 0 || slot[t] >= k_pages.size(0) * page) throw IndexError("slot out of range");
  }
  auto store = [&](Tensor from, Tensor to) {
    auto source = from.accessor<const float, 3>();
    auto pages = to.accessor<float, 4>();
    for (int64_t t = 0; t < slots.size(0); ++t) {
      for (int64_t h = 0; h < from.size(1); ++h) {
        for (int64_t d = 0; d < from.size(2); ++d) {
          pages[slot[t] / page][slot[t] % page][h][d] = source[t][h][d];
        }
      }
    }
  };
  store(k, k_pages);
  store(v, v_pages);
}

void StoreKvMeta(Tensor k, Tensor v, Tensor k_pages, Tensor v_pages, Tensor slots) {
  Require(k.dim() == 3 && v.dim() == 3, "k and v are [tokens, heads, dim]");
  Require(k_pages.dim() == 4 && v_pages.dim() == 4, "pages are [pages, page, heads, dim]");
  Require(slots.dim() == 1 && slots.size(0) == k.size(0) && slots.size(0) == v.size(0),
          "one slot per token");
}

// residual += hidden; hidden = rms_norm(residual) * weight.
void AddRmsNorm(Tensor hidden, Tensor residual, Tensor weight, double eps) {
  auto h = hidden.accessor<float, 2>();
  auto r = residual.accessor<float, 2>();
  auto w = weight.accessor<const float, 1>();
  int64_t n = hidden.size(1);
  for (int64_t i = 0; i < hidden.size(0); ++i) {
    double sum = 0;
    for (int64_t j = 0; j < n; ++j) {
      r[i][j] += h[i][j];
      sum += static_cast<double>(r[i][j]) * static_cast<double>(r[i][j]);
    }
    float scale = static_cast<float>(1.0 / std::sqrt(sum / static_cast<double>(n) + eps));
    for (int64_t j = 0; j < n; ++j) h[i][j] = r[i][j] * scale * w[j];
  }
}

void AddRmsNormMeta(Tensor hidden, Tensor residual, Tensor weight, double) {
  Require(hidden.dim() == 2 && residual.dim() == 2 && weight.dim() == 1, "[tokens, width]");
  Require(hidden.size(0) == residual.size(0) && hidden.size(1) == residual.size(1) &&
              weight.size(0) == hidden.size(1),
          "hidden, residual and weight do not fit together");
}

// Rotates the halves of every head of q and k [T, heads, dim] by the angles of its position;
// table: [positions, dim], cosines then sines.
void Rotate(Tensor positions, Tensor q, Tensor k, Tensor table) {
  auto position = positions.accessor<const int64_t, 1>();
  auto angle = table.accessor<const float, 2>();
  auto rotate = [&](Tensor m) {
    auto a = m.accessor<float, 3>();
    int64_t half = m.size(2) / 2;
    for (int64_t t = 0; t < m.size(0); ++t) {
      if (position[t] < 0 || position[t] >= table.size(0))
        throw IndexError("position out of range");
      for (int64_t h = 0; h < m.size(1); ++h) {
        for (int64_t d = 0; d < half; ++d) {
          float c = angle[position[t]][d], s = angle[position[t]][half + d];
          float x = a[t][h][d], y = a[t][h][half + d];
          a[t][h][d] = x * c - y * s;
          a[t][h][half + d] = y * c + x * s;
        }
      }
    }
  };
  rotate(q);
  rotate(k);
}

// One token: q [1, heads, dim] against the first length[0] slots of the sequence whose pages are
// listed in page_table. Grouped heads: heads is a multiple of the pages' heads.
void PagedAttention(Tensor q, Tensor k_pages, Tensor v_pages, Tensor page_table, Tensor length,
                    double scale, Tensor result) {
  auto query = q.accessor<const float, 3>();
  auto keys = k_pages.accessor<const float, 4>();
  auto values = v_pages.accessor<const float, 4>();
  auto pages = page_table.accessor<const int64_t, 1>();
  auto out = result.accessor<float, 3>();
  int64_t page = k_pages.size(1), n = length.accessor<const int64_t, 1>()[0], dim = q.size(2);
  if (n < 1 || n > page_table.size(0) * page) throw IndexError("length out of range");
  int64_t group = q.size(1) / k_pages.size(2);
  std::vector<float> weight(static_cast<size_t>(n));
  for (int64_t h = 0; h < q.size(1); ++h) {
    float most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      auto key = keys[pages[i / page]][i % page][h / group];
      float dot = 0;
      for (int64_t d = 0; d < dim; ++d) dot += query[0][h][d] * key[d];
      weight[static_cast<size_t>(i)] = dot * static_cast<float>(scale);
      most = std::max(most, weight[static_cast<size_t>(i)]);
    }
    for (float& w : weight) sum += w = std::exp(w - most);
    for (int64_t d = 0; d < dim; ++d) {
      float acc = 0;
      for (int64_t i = 0; i < n; ++i) {
        acc += weight[static_cast<size_t>(i)] * values[pages[i / page]][i % page][h / group][d];
      }
      out[0][h][d] = acc / sum;
    }
  }
}

NewTensor PagedAttentionMeta(Tensor q, Tensor k_pages, Tensor, Tensor page_table, Tensor length,
                             double) {
  Require(q.dim() == 3 && q.size(0) == 1, "q is [1, heads, dim]");
  Require(k_pages.dim() == 4 && q.size(1) % k_pages.size(2) == 0, "heads do not fit the pages");
  Require(page_table.dim() == 1 && length.dim() == 1, "one page table, one length");
  return NewTensor::Like(q);
}

}  // namespace

PALIMPSEST_LIBRARY(llm, m) {
  m.def("store_kv(Tensor k, Tensor v, Tensor(a!) k_pages, Tensor(b!) v_pages, Tensor slots) -> ()",
        StoreKv, StoreKvMeta, OperatorOptions{.may_refuse = true});
  m.def(
      "add_rms_norm_(Tensor(a!) hidden, Tensor(b!) residual, Tensor weight, float eps=1e-6) -> ()",
      AddRmsNorm, AddRmsNormMeta);
  m.def("rotate_(Tensor positions, Tensor(a!) q, Tensor(b!) k, Tensor table) -> ()", Rotate,
        OperatorOptions{.may_refuse = true});
  m.def(
      "paged_attention(Tensor q, Tensor k_pages, Tensor v_pages, Tensor page_table, Tensor length, "
      "float scale) -> Tensor",
      PagedAttention, PagedAttentionMeta, OperatorOptions{.may_refuse = true});
}
