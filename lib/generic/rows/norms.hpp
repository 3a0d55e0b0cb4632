// Norms of rows (rule 16).
#ifndef HEED_GENERIC_NORMS_HPP
#define HEED_GENERIC_NORMS_HPP

#include "../../kernel/row_steps.hpp"
#include "../../kernel/root.hpp"
#include "elements.hpp"

namespace heed {

// 64 sums and the halving tree: sum[i mod 64] = step(sum, x[i]).
template <class V, class Step>
HEED_INLINE float sum_of_row(const float *x, int32_t n, Step step) {
  float sums[n_dot_sums];
  if constexpr (V::lanes == 1) {
    for (int32_t u = 0; u < n_dot_sums; u++) {
      float sum = 0.0f;
      for (int32_t i = u; i < n; i += n_dot_sums) sum = step(sum, x[i]);
      sums[u] = sum;
    }
  } else {
    constexpr int vecs = n_dot_sums / V::lanes;
    typename V::reg sum[vecs];
    HEED_UNROLL for (int u = 0; u < vecs; u++) sum[u] = V::set(0.0f);
    int32_t i = 0;
    for (; i + n_dot_sums <= n; i += n_dot_sums) {
      HEED_UNROLL for (int u = 0; u < vecs; u++) sum[u] = step(sum[u], V::load(x + i + u * V::lanes));
    }
    if (i == n) {
      HEED_UNROLL for (int half = vecs / 2; half > 0; half /= 2) {
        HEED_UNROLL for (int u = 0; u < half; u++) sum[u] = V::add(sum[u], sum[u + half]);
      }
      return V::tree(sum[0]);
    }
    HEED_UNROLL for (int u = 0; u < vecs; u++) V::store(sums + u * V::lanes, sum[u]);
    for (float *to = sums; i < n; i += V::lanes, to += V::lanes) {
      const int32_t left = n - i < V::lanes ? n - i : V::lanes;
      V::store_n(to, step(V::load(to), V::load_n(x + i, left)), left);
    }
  }
  return tree_sum<V>(sums, n_dot_sums);
}

// 1 / sqrt(sum / n + eps), 0 where that is no number that one can divide by.
HEED_INLINE float inverse_root(float sum, float n, float eps) { return reciprocal_or_zero(square_root(sum / n + eps)); }

// y = (x - mean) * factor * weight + bias. Several registers at a time: what is there besides is asked once for all of
// them.
template <class V, bool Centred>
HEED_INLINE void scale_row(const norm_rows &b, const float *x, float *y, float mean, float factor) {
  using reg = typename V::reg;
  const reg centre = V::set(mean), by = V::set(factor);
  const float *const weight = b.weight, *const bias = b.bias;
  const int32_t dim = b.dim;
  const auto step = [=](auto registers, int32_t i, auto load, auto store) {
    constexpr int n = decltype(registers)::value;
    reg r[n];
    HEED_UNROLL for (int u = 0; u < n; u++) r[u] = load(x + i + u * V::lanes);
    HEED_UNROLL for (int u = 0; u < n; u++) r[u] = V::mul(Centred ? V::sub(r[u], centre) : r[u], by);
    if (weight && bias) {
      HEED_UNROLL for (int u = 0; u < n; u++) r[u] =
          V::fma(r[u], load(weight + i + u * V::lanes), load(bias + i + u * V::lanes));
    } else if (weight) {
      HEED_UNROLL for (int u = 0; u < n; u++) r[u] = V::mul(r[u], load(weight + i + u * V::lanes));
    } else if (bias) {
      HEED_UNROLL for (int u = 0; u < n; u++) r[u] = V::add(r[u], load(bias + i + u * V::lanes));
    }
    HEED_UNROLL for (int u = 0; u < n; u++) store(y + i + u * V::lanes, r[u]);
  };
  const auto load = [](const float *p) { return V::load(p); };
  const auto store = [](float *p, reg r) { V::store(p, r); };
  constexpr int wide = elements_at_once<V>;
  int32_t i = 0;
  for (; i + wide * V::lanes <= dim; i += wide * V::lanes) step(constant<wide>(), i, load, store);
  if constexpr (V::lanes > 1) {
    for (; wide > 1 && i + V::lanes <= dim; i += V::lanes) step(constant<1>(), i, load, store);
    const int32_t left = dim - i;
    if (left == 0) return;
    step(
        constant<1>(), i, [=](const float *p) { return V::load_n(p, left); },
        [=](float *p, reg r) { V::store_n(p, r, left); });
  }
}

// Rows whose sums are taken before the first of them is written: the root and the quotients of one row are a chain of
// 100 cycles, in which the next row's sums are formed. Not so many that they would leave the first cache.
// Rows of 768 then run at 0.70 to 0.79 of what copying within that cache moves (Zen 4); what limits a row of 64, at
// 0.32 to 0.45, is the sum over lanes, the root and two quotients.
constexpr int32_t most_norm_rows = 8;
HEED_INLINE int32_t norm_rows_at_once(int32_t dim) {
  const int32_t n = 4096 / dim;
  return n < 1 ? 1 : n < most_norm_rows ? n : most_norm_rows;
}

template <class V, bool Centred>
static void norm_of_rows(const norm_rows &b) {
  const float n = static_cast<float>(b.dim);
  const int32_t most = norm_rows_at_once(b.dim);
  for (int32_t first = 0, rows; first < b.n_rows; first += rows) {
    rows = b.n_rows - first < most ? b.n_rows - first : most;
    const float *const x = b.x + first * b.x_stride;
    float mean[most_norm_rows] = {}, factor[most_norm_rows];
    for (int32_t r = 0; Centred && r < rows; r++)
      mean[r] = sum_of_row<V>(x + r * b.x_stride, b.dim, [](auto sum, auto part) { return V::add(sum, part); }) / n;
    for (int32_t r = 0; r < rows; r++) {
      const typename V::reg centre = V::set(mean[r]);
      const auto square = [=](auto sum, auto part) {
        const auto d = Centred ? V::sub(part, centre) : part;
        return V::fma(d, d, sum);
      };
      factor[r] = sum_of_row<V>(x + r * b.x_stride, b.dim, square);
    }
    for (int32_t r = 0; r < rows; r++) factor[r] = inverse_root(factor[r], n, b.eps);
    for (int32_t r = 0; r < rows; r++)
      scale_row<V, Centred>(b, x + r * b.x_stride, b.y + (first + r) * b.y_stride, mean[r], factor[r]);
  }
}

}  // namespace heed

#endif
