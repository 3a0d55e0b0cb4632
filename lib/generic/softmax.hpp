// Softmax of one row (rule 8), keys as lanes. Three passes: maximum, exponentials and their sums, division.
#ifndef HEED_GENERIC_SOFTMAX_HPP
#define HEED_GENERIC_SOFTMAX_HPP

#include "vector.hpp"

namespace heed {

template <class V>
HEED_INLINE float row_maximum(const float *x, int32_t n, float c) {
  typename V::reg m[4];  // independent chains: a maximum takes 2 to 4 cycles
  for (auto &part : m) part = V::set(negative_infinity);
  const typename V::reg factor = V::set(c);
  int32_t i = 0;
  for (; i + 4 * V::lanes <= n; i += 4 * V::lanes)
    HEED_UNROLL for (int u = 0; u < 4; u++) m[u] = V::max(V::mul(V::load(x + i + u * V::lanes), factor), m[u]);
  for (; i + V::lanes <= n; i += V::lanes) m[0] = V::max(V::mul(V::load(x + i), factor), m[0]);
  float maximum = max_of_lanes<V>(V::max(V::max(m[0], m[1]), V::max(m[2], m[3])));
  for (; i < n; i++) maximum = x[i] * c > maximum ? x[i] * c : maximum;
  return maximum;
}

// y = exp2(x * c - shift); returns the sum.
template <class V>
HEED_INLINE float row_exponentials(const float *x, float *y, int32_t n, float c, float shift) {
  constexpr int vecs = n_sums / V::lanes;
  typename V::reg sums[vecs];
  for (auto &sum : sums) sum = V::set(0.0f);
  const typename V::reg factor = V::set(c), base = V::set(shift);
  int32_t i = 0;
  for (; i + n_sums <= n; i += n_sums) {
    HEED_UNROLL for (int u = 0; u < vecs; u++) {
      const typename V::reg scaled = V::mul(V::load(x + i + u * V::lanes), factor);
      const typename V::reg p = exp2_nonpositive<V>(V::sub(scaled, base));
      V::store(y + i + u * V::lanes, p);
      sums[u] = V::add(sums[u], p);
    }
  }
  HEED_UNROLL for (int u = 0; u < vecs; u++, i += V::lanes) {
    if (i >= n) break;
    const int32_t left = n - i < V::lanes ? n - i : V::lanes;
    const typename V::reg scaled = V::mul(load_n<V>(x + i, left), factor);
    float lanes[V::lanes];
    V::store(lanes, exp2_nonpositive<V>(V::sub(scaled, base)));
    for (int32_t l = 0; l < left; l++) y[i + l] = lanes[l];
    sums[u] = V::add(sums[u], load_n<V>(lanes, left));
  }
  float memory[n_sums];
  for (int u = 0; u < vecs; u++) V::store(memory + u * V::lanes, sums[u]);
  return tree_sum<V>(memory, n_sums);
}

template <class V>
static void softmax(const float *x, float *y, int32_t n, float c) {
  const float m = row_maximum<V>(x, n, c);
  const float shift = m == negative_infinity ? 0.0f : m;
  const float sum = row_exponentials<V>(x, y, n, c, shift);
  const typename V::reg factor = V::set(reciprocal_or_zero(sum));
  int32_t i = 0;
  for (; i + V::lanes <= n; i += V::lanes) V::store(y + i, V::mul(V::load(y + i), factor));
  if (i < n) store_n<V>(y + i, V::mul(load_n<V>(y + i, n - i), factor), n - i);
}

}  // namespace heed

#endif
