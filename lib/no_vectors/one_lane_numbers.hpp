// What processors without vectors do to the numbers of a row: zeros, products with a factor, exponentials.
#ifndef HEED_GENERIC_ONE_LANE_NUMBERS_HPP
#define HEED_GENERIC_ONE_LANE_NUMBERS_HPP

#include "../vector/attention/copied_rows.hpp"

namespace heed {

// Loops over numbers end with their test: with one at the beginning GCC at -Os makes two jumps a pass.

[[maybe_unused]] static HEED_NOINLINE void scale_one_lane(float *y, const float *x, int32_t n, float factor) {
  if (n <= 0) return;
  do *y++ = *x++ * factor;
  while (--n > 0);
}

// n numbers become +0, a multiple of 16.
template <class V>
HEED_INLINE void clear_one_lane(float *x, ptrdiff_t n) {
  if constexpr (V::own_tile)
    V::clear_sixteens(x, static_cast<int32_t>(n / 16));
  else
    __builtin_memset(x, 0, static_cast<size_t>(n) * 4);
}

// x = exp2(x - shift) for n numbers, n at least 1, which are added to as many sums. Some are computed side by side; of the
// last ones, which may be fewer, the first stands for those that there are not.
template <class V>
HEED_INLINE void add_exponentials_one_lane(float *x, float *sum, int32_t n, float shift) {
  if constexpr (V::own_tile) {
    if (n > 1) V::exponentials_of_pairs(x, sum, n / 2, shift);
    if ((n & 1) == 0) return;
    float last[2] = {x[n - 1], x[n - 1]}, sums[2] = {sum[n - 1], 0.0f};
    V::exponentials_of_pairs(last, sums, 1, shift);
    x[n - 1] = last[0];
    sum[n - 1] = sums[0];
  } else {
    constexpr int N = V::exponentials;
    do {
      float e[N];
      HEED_UNROLL for (int u = 0; u < N; u++) e[u] = x[u < n ? u : 0] - shift;
      exp2_nonpositive<V>(e);
      HEED_UNROLL for (int u = 0; u < N; u++) {
        if (u > 0 && u >= n) break;
        *x++ = e[u];
        *sum++ += e[u];
      }
    } while ((n -= N) > 0);
  }
}

// x = exp2(x - m) for n numbers, number i added to sums[(first + i) mod 16].
template <class V>
static HEED_NOINLINE void exponentials_one_lane(float *x, int32_t n, float *sums, uint32_t first, float m) {
  const float shift = finite_maximum<V>(m);
  while (n > 0) {
    first %= n_sums;
    int32_t left = n_sums - static_cast<int32_t>(first);
    if (left > n) left = n;
    add_exponentials_one_lane<V>(x, sums + first, left, shift);
    n -= left;
    x += left;
    first = 0;
  }
}

template <class V>
static HEED_NOINLINE float exp2_one_lane(float x, float m) {
  float unused = 0.0f;
  exponentials_one_lane<V>(&x, 1, &unused, 0, m);
  return x;
}

}  // namespace heed

#endif
