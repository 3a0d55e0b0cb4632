// Softmax of one row (rule 8), keys as lanes. Three passes: logits and their maximum, exponentials and their sums,
// product.
#ifndef HEED_GENERIC_SOFTMAX_HPP
#define HEED_GENERIC_SOFTMAX_HPP

#include "../vector.hpp"

namespace heed {

// x = exp2(x - shift) for n numbers, n a multiple of 16, added to sums[16]. Registers 16 apart share a sum and run side
// by side, four at a time.
template <class V>
HEED_INLINE void add_exponentials(float *x, int32_t n, float *sums, typename V::reg shift) {
  for (int32_t lane = 0; lane < n_sums; lane += V::lanes, x += V::lanes) {
    typename V::reg sum = V::load(sums + lane);
    const auto add = [&](auto registers, int32_t j) HEED_INLINED {
      constexpr int n_registers = decltype(registers)::value;
      typename V::reg p[n_registers];
      HEED_UNROLL for (int i = 0; i < n_registers; i++) p[i] = V::sub(V::load(x + j + i * n_sums), shift);
      exp2_nonpositive<V>(p);
      HEED_UNROLL for (int i = 0; i < n_registers; i++) {
        V::store(x + j + i * n_sums, p[i]);
        sum = V::add(sum, p[i]);
      }
    };
    int32_t j = 0;
    for (; !V::compact && j + 4 * n_sums <= n; j += 4 * n_sums) add(constant<4>(), j);
    for (; j < n; j += n_sums) add(constant<1>(), j);
    V::store(sums + lane, sum);
  }
}

// y = x * c; returns the greatest, at least `least`.
template <class V>
HEED_INLINE float row_logits(const float *x, float *y, int32_t n, float c, float least) {
  typename V::reg m[4];  // independent chains: a maximum takes 2 to 4 cycles
  HEED_UNROLL for (int u = 0; u < 4; u++) m[u] = V::set(least);
  const typename V::reg factor = V::set(c);
  const auto scale = [&](int32_t i, typename V::reg &most) HEED_INLINED {
    const typename V::reg logit = V::mul(V::load(x + i), factor);
    V::store(y + i, logit);
    most = V::max(logit, most);
  };
  int32_t i = 0;
  for (; i + 4 * V::lanes <= n; i += 4 * V::lanes) {
    HEED_UNROLL for (int u = 0; u < 4; u++) scale(i + u * V::lanes, m[u]);
  }
  for (; i + V::lanes <= n; i += V::lanes) scale(i, m[0]);
  float maximum = max_of_lanes<V>(V::max(V::max(m[0], m[1]), V::max(m[2], m[3])));
  for (; i < n; i++) {
    y[i] = x[i] * c;
    maximum = y[i] > maximum ? y[i] : maximum;
  }
  return maximum;
}

// The last n % 16 numbers pass through a register's worth of memory, filled up with numbers that add +0.
template <class V>
HEED_INLINE void add_last_exponentials(float *x, int32_t n, float *sums, typename V::reg shift) {
  if (n == 0) return;
  float copy[n_sums];
  for (int32_t i = 0; i < n_sums; i++) copy[i] = i < n ? x[i] : negative_infinity;
  add_exponentials<V>(copy, n_sums, sums, shift);
  for (int32_t i = 0; i < n; i++) x[i] = copy[i];
}

template <class V>
static void softmax(const float *x, float *y, int32_t n, float c, float sink) {
  const float m = row_logits<V>(x, y, n, c, sink);
  const typename V::reg shift = V::set(m == negative_infinity ? 0.0f : m);
  float sums[n_sums] = {};
  const int32_t whole = n / n_sums * n_sums;
  add_exponentials<V>(y, whole, sums, shift);
  add_last_exponentials<V>(y + whole, n - whole, sums, shift);
  const float of_sink = first_lane<V>(exp2_nonpositive<V>(V::sub(V::set(sink), shift)));
  const float factor = reciprocal_or_zero(tree_sum<V>(sums, n_sums) + of_sink);
  int32_t i = 0;
  for (; i + V::lanes <= n; i += V::lanes) V::store(y + i, V::mul(V::load(y + i), V::set(factor)));
  for (; i < n; i++) y[i] *= factor;
}

}  // namespace heed

#endif
