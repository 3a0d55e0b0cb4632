// Softmax of rows (rule 8), keys as lanes. Three passes: maximum of the logits, exponentials and their sums, product.
#ifndef HEED_GENERIC_SOFTMAX_HPP
#define HEED_GENERIC_SOFTMAX_HPP

#include "../vector.hpp"

namespace heed {

// x = exp2(of(x)) for n numbers, n a multiple of 16, added to sums[16]. Registers 16 apart share a sum and run side by
// side, four at a time; LEAST 4: n is a multiple of 64.
template <class V, int LEAST = 1, class Of>
HEED_INLINE void add_exponentials(float *x, int32_t n, float *sums, Of of) {
  for (int32_t lane = 0; lane < n_sums; lane += V::lanes, x += V::lanes) {
    typename V::reg sum = V::load(sums + lane);
    const auto add = [&](auto registers, int32_t j) HEED_INLINED {
      constexpr int n_registers = decltype(registers)::value;
      typename V::reg p[n_registers];
      HEED_UNROLL for (int i = 0; i < n_registers; i++) p[i] = of(x + j + i * n_sums);
      exp2_nonpositive<V>(p);
      HEED_UNROLL for (int i = 0; i < n_registers; i++) {
        V::store(x + j + i * n_sums, p[i]);
        sum = V::add(sum, p[i]);
      }
    };
    int32_t j = 0;
    for (; !V::compact && j + 4 * n_sums <= n; j += 4 * n_sums) add(constant<4>(), j);
    if constexpr (LEAST == 1)
      for (; j < n; j += n_sums) add(constant<1>(), j);
    V::store(sums + lane, sum);
  }
}

// The greatest of x * c in each lane, at least `least`.
template <class V>
HEED_INLINE typename V::reg row_maximum(const float *x, int32_t n, typename V::reg c, typename V::reg least) {
  typename V::reg m[4];  // independent chains: a maximum takes 2 to 4 cycles
  HEED_UNROLL for (int u = 0; u < 4; u++) m[u] = least;
  int32_t i = 0;
  for (; i + 4 * V::lanes <= n; i += 4 * V::lanes) {
    HEED_UNROLL for (int u = 0; u < 4; u++) m[u] = V::max(V::mul(V::load(x + i + u * V::lanes), c), m[u]);
  }
  for (; i + V::lanes <= n; i += V::lanes) m[0] = V::max(V::mul(V::load(x + i), c), m[0]);
  if (i < n) m[1] = V::max(keep_first<V>(V::mul(V::load_n(x + i, n - i), c), n - i, least), m[1]);
  return V::max(V::max(m[0], m[1]), V::max(m[2], m[3]));
}

// y = exp2(x * c - shift), and the sums of it, halved to one register.
template <class V>
HEED_INLINE typename V::reg row_exponentials(const float *x, float *y, int32_t n, typename V::reg c,
                                             typename V::reg shift) {
  constexpr int vecs = n_sums / V::lanes;
  float sums[n_sums];
  HEED_UNROLL for (int v = 0; v < vecs; v++) V::store(sums + v * V::lanes, V::set(0.0f));
  int32_t i = V::compact ? 0 : n / (4 * n_sums) * (4 * n_sums);
  const auto logits = [=](typename V::reg r) HEED_INLINED { return V::sub(V::mul(r, c), shift); };
  if (i > 0)
    add_exponentials<V, 4>(y, i, sums, [=](const float *p) HEED_INLINED { return logits(V::load(x + (p - y))); });
  for (float *to = sums; i < n; i += V::lanes, to = to + V::lanes < sums + n_sums ? to + V::lanes : sums) {
    const int32_t left = n - i;
    const bool all = left >= V::lanes;
    typename V::reg logit;
    if (all)
      logit = logits(V::load(x + i));
    else
      logit = keep_first<V>(logits(V::load_n(x + i, left)), left, V::set(negative_infinity));
    const typename V::reg p = exp2_nonpositive<V>(logit);
    if (all)
      V::store(y + i, p);
    else
      V::store_n(y + i, p, left);
    V::store(to, V::add(V::load(to), p));
  }
  HEED_UNROLL for (int half = vecs / 2; half > 0; half /= 2) {
    HEED_UNROLL for (int v = 0; v < half; v++) {
      float *const to = sums + v * V::lanes;
      V::store(to, V::add(V::load(to), V::load(to + half * V::lanes)));
    }
  }
  return V::load(sums);
}

template <class V>
HEED_INLINE void multiply_row(float *y, int32_t n, typename V::reg factor) {
  int32_t i = 0;
  for (; i + V::lanes <= n; i += V::lanes) V::store(y + i, V::mul(V::load(y + i), factor));
  if (i < n) V::store_n(y + i, V::mul(V::load_n(y + i, n - i), factor), n - i);
}

template <class V>
static void softmax(const softmax_rows &b) {
  const int32_t most = rows_abreast<V>(b.dim), n = b.dim;
  const typename V::reg c = V::set(b.c);
  for (int32_t first = 0, rows; first < b.n_rows; first += rows) {
    rows = smaller_of(b.n_rows - first, most);
    const float *const x = b.x + first * b.x_stride;
    float *const y = b.y + first * b.y_stride;
    float shift[most_rows_abreast<V> + 8], factor[most_rows_abreast<V>];  // whole registers of shifts
    fold_each_row<V>(rows, shift, greater_lanes<V>(),
                     [=](int32_t r) HEED_INLINED { return row_maximum<V>(x + r * b.x_stride, n, c, V::set(b.sink)); });
    for (int32_t r = 0; r < rows; r += V::lanes) V::store(shift + r, finite_maximum<V>(V::load(shift + r)));
    fold_each_row<V>(rows, factor, add_lanes<V>(), [=, &shift](int32_t r) HEED_INLINED {
      return row_exponentials<V>(x + r * b.x_stride, y + r * b.y_stride, n, c, V::set(shift[r]));
    });
    for (int32_t r = 0; b.sink > negative_infinity && r < rows; r++)
      factor[r] += first_lane<V>(exp2_nonpositive<V>(V::set(b.sink - shift[r])));
    each_eight<V>(rows, [&](int32_t r) HEED_INLINED { factor[r] = reciprocal_of_row(factor[r]); });
    for (int32_t r = 0; r < rows; r++) multiply_row<V>(y + r * b.y_stride, n, V::set(factor[r]));
  }
}

}  // namespace heed

#endif
