// Dot product of two vectors (rule 11): 64 sums, so that the loads and not the latency of a chain set the pace.
#ifndef HEED_GENERIC_DOT_HPP
#define HEED_GENERIC_DOT_HPP

#include "vector.hpp"

namespace heed {

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
  float memory[n_dot_sums];
  HEED_UNROLL for (int u = 0; u < vecs; u++) V::store(memory + u * V::lanes, sums[u]);
  for (float *sum = memory; i < n; i += V::lanes, sum += V::lanes) {
    const int32_t left = n - i < V::lanes ? n - i : V::lanes;
    store_n<V>(sum, V::fma(load_n<V>(a + i, left), load_n<V>(b + i, left), V::load(sum)), left);
  }
  return tree_sum<V>(memory, n_dot_sums);
}

}  // namespace heed

#endif
