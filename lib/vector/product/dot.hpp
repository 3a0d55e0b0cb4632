// Dot product of two vectors (rule 11): 64 sums, so that the loads and not the latency of a chain set the pace.
#ifndef HEED_GENERIC_DOT_HPP
#define HEED_GENERIC_DOT_HPP

#include "../vector.hpp"

namespace heed {

// The last n < 64 products. Sums beyond them stay as they are.
template <class V>
HEED_INLINE void add_last_products(typename V::reg (&sums)[n_dot_sums / V::lanes], const float *a, const float *b,
                                   int32_t n) {
  float memory[n_dot_sums];
  HEED_UNROLL for (int u = 0; u < n_dot_sums / V::lanes; u++) V::store(memory + u * V::lanes, sums[u]);
  for (int32_t i = 0; i < n; i += V::lanes) {
    const int32_t left = smaller_of(n - i, V::lanes);
    const typename V::reg added = V::fma(V::load_n(a + i, left), V::load_n(b + i, left), V::load(memory + i));
    V::store_n(memory + i, added, left);
  }
  HEED_UNROLL for (int u = 0; u < n_dot_sums / V::lanes; u++) sums[u] = V::load(memory + u * V::lanes);
}

template <class V>
static float dot(const float *a, const float *b, int32_t n) {
  constexpr int vecs = n_dot_sums / V::lanes;
  typename V::reg sums[vecs];
  HEED_UNROLL for (int u = 0; u < vecs; u++) sums[u] = V::set(0.0f);
  int32_t i = 0;
  for (; i + n_dot_sums <= n; i += n_dot_sums) {
    HEED_UNROLL for (int u = 0; u < vecs; u++) sums[u] =
        V::fma(V::load(a + i + u * V::lanes), V::load(b + i + u * V::lanes), sums[u]);
  }
  if (i < n) add_last_products<V>(sums, a + i, b + i, n - i);
  HEED_UNROLL for (int half = vecs / 2; half > 0; half /= 2) {
    HEED_UNROLL for (int u = 0; u < half; u++) sums[u] = V::add(sums[u], sums[u + half]);
  }
  float lanes[V::lanes];
  V::store(lanes, sums[0]);
  return tree_sum<V>(lanes, V::lanes);
}

}  // namespace heed

#endif
