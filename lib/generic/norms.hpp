// Norms of rows (rule 16).
#ifndef HEED_GENERIC_NORMS_HPP
#define HEED_GENERIC_NORMS_HPP

#include "../block_steps.hpp"
#include "vector.hpp"

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

// y = (x - mean) * factor * weight + bias
template <class V>
HEED_INLINE void scale_row(const norm_rows &b, const float *x, float *y, float mean, float factor) {
  using reg = typename V::reg;
  const reg centre = V::set(mean), by = V::set(factor);
  const float *const weight = b.weight, *const bias = b.bias;
  const auto scale = [=](reg from, auto load, int32_t i) {
    reg r = V::mul(V::sub(from, centre), by);
    if (weight && bias) return V::fma(r, load(weight + i), load(bias + i));
    if (weight) return V::mul(r, load(weight + i));
    return bias ? V::add(r, load(bias + i)) : r;
  };
  int32_t i = 0;
  for (; i + V::lanes <= b.dim; i += V::lanes)
    V::store(y + i, scale(
                        V::load(x + i), [](const float *p) { return V::load(p); }, i));
  if constexpr (V::lanes > 1) {
    const int32_t left = b.dim - i;
    if (left == 0) return;
    V::store_n(y + i,
               scale(
                   V::load_n(x + i, left), [=](const float *p) { return V::load_n(p, left); }, i),
               left);
  }
}

template <class V>
static void rms_norm(const norm_rows &b) {
  for (int32_t r = 0; r < b.n_rows; r++) {
    const float *x = b.x + r * b.x_stride;
    const auto square = [](auto sum, auto part) { return V::fma(part, part, sum); };
    const float squares = sum_of_row<V>(x, b.dim, square), n = static_cast<float>(b.dim);
    scale_row<V>(b, x, b.y + r * b.y_stride, 0.0f, inverse_root(squares, n, b.eps));
  }
}

template <class V>
static void layer_norm(const norm_rows &b) {
  for (int32_t r = 0; r < b.n_rows; r++) {
    const float *x = b.x + r * b.x_stride;
    const float n = static_cast<float>(b.dim);
    const float mean = sum_of_row<V>(x, b.dim, [](auto sum, auto part) { return V::add(sum, part); }) / n;
    const typename V::reg centre = V::set(mean);
    const auto square = [=](auto sum, auto part) {
      const auto d = V::sub(part, centre);
      return V::fma(d, d, sum);
    };
    scale_row<V>(b, x, b.y + r * b.y_stride, mean, inverse_root(sum_of_row<V>(x, b.dim, square), n, b.eps));
  }
}

}  // namespace heed

#endif
