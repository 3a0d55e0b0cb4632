// What the two attention kernels share: the sum of p v over a block, the merge of chunks, and the end of a row.
#ifndef HEED_GENERIC_ATTEND_HPP
#define HEED_GENERIC_ATTEND_HPP

#include "softmax.hpp"
#include "sum_rows.hpp"

namespace heed {

// More memory than this is taken to lie beyond the second-level cache.
constexpr int64_t far_bytes = 512 * 1024;

// The last register of a row that is no multiple of `lanes` covers the row's last `lanes` columns: it overlaps its
// neighbour, needs no masked load, and keeps a slot of its own behind the whole registers until the chunk ends.
template <class V>
HEED_INLINE int32_t whole_columns(int32_t v_dim) {
  return v_dim / V::lanes * V::lanes;
}

// acc += p v for n_rows rows over the same keys. o.b and o.acc point at column 0.
template <class V>
static void sum_values(sum_operands o, chain from, int32_t n_rows, int32_t v_dim) {
  o.n_cols = v_dim;
  if (v_dim < V::lanes) return sum_columns<V, narrow_vecs>(o, from, n_rows);
  sum_whole<V>(o, from, n_rows, v_dim);
  const int32_t whole = whole_columns<V>(v_dim);
  if (whole == v_dim) return;
  o.b += v_dim - V::lanes;
  o.acc += whole;
  sum_columns<V, 1>(o, from, n_rows);
}

// acc = acc * alpha + p v for the tile's rows over a block of n keys.
template <class V>
HEED_INLINE void add_block(const tile &t, int32_t block_begin, int32_t n, bool first, ptrdiff_t p_row, ptrdiff_t p_key,
                           bool fetch_ahead = false) {
  const stream &s = *t.s;
  const float *values = s.v + block_begin * s.v_stride;
  const float *ahead = fetch_ahead ? values + block_keys * s.v_stride : nullptr;
  const int32_t *visible = t.visible[0] < block_begin + n ? t.visible : nullptr;
  sum_values<V>({t.scores, p_row, p_key, values, s.v_stride, t.acc, t.acc_stride, t.alpha, n, visible, block_begin,
                 ahead, s.v_stride, 0},
                first ? chain::zero : chain::scaled, t.n_rows, s.v_dim);
}

// Moves the overlapping last register into place, after which acc is plain [n_rows][v_dim].
template <class V>
HEED_INLINE void close_gap(const tile &t) {
  const int32_t v_dim = t.s->v_dim, whole = whole_columns<V>(v_dim);
  if (whole == v_dim || whole == 0) return;
  for (int32_t r = 0; r < t.n_rows; r++) {
    float *acc = t.acc + r * t.acc_stride;
    V::store(acc + v_dim - V::lanes, V::load(acc + whole));
  }
}

template <class V>
HEED_INLINE void scale_row(float *out, const float *in, int32_t n, float factor) {
  const typename V::reg by = V::set(factor);
  int32_t i = 0;
  for (; i + V::lanes <= n; i += V::lanes) V::store(out + i, V::mul(V::load(in + i), by));
  if (i < n) V::store_n(out + i, V::mul(V::load_n(in + i, n - i), by), n - i);
}

template <class V>
HEED_INLINE void merge_row(float *out, const float *acc, int32_t n, float a, float b) {
  int32_t i = 0;
  for (; i + V::lanes <= n; i += V::lanes)
    V::store(out + i, V::fma(V::load(acc + i), V::set(b), V::mul(V::load(out + i), V::set(a))));
  if (i < n) {
    const typename V::reg old = V::load_n(out + i, n - i), added = V::load_n(acc + i, n - i);
    V::store_n(out + i, V::fma(added, V::set(b), V::mul(old, V::set(a))), n - i);
  }
}

// The factors of both sides for all rows at once (an exponential alone is a chain of 50 cycles): alpha for the total,
// spare for the chunk. m_total becomes the common maximum.
template <class V>
HEED_INLINE void merge_factors(const tile &t) {
  for (int32_t r = 0; r < t.n_rows; r += V::lanes) {
    const int32_t n = t.n_rows - r < V::lanes ? t.n_rows - r : V::lanes;
    const typename V::reg total = V::load_n(t.m_total + r, n), chunk = V::load_n(t.m + r, n);
    const typename V::reg m = V::max(chunk, total), shift = finite_maximum<V>(m);
    V::store_n(t.alpha + r, exp2_nonpositive<V>(V::sub(total, shift)), n);
    V::store_n(t.spare + r, exp2_nonpositive<V>(V::sub(chunk, shift)), n);
    V::store_n(t.m_total + r, m, n);
  }
}

template <class V>
static void merge(const tile &t, int32_t key_begin) {
  const stream &s = *t.s;
  if (key_begin > 0) merge_factors<V>(t);  // a row that sees no key of the chunk has m -inf there: its m_total stays
  row_cursor row(s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    float *out = row.out();
    const float *acc = t.acc + r * t.acc_stride;
    if (key_begin == 0) {
      t.m_total[r] = t.m[r];
      t.l_total[r] = t.l[r];
      copy_row<V>(out, acc, s.v_dim);
    } else if (t.visible[r] > key_begin) {
      merge_row<V>(out, acc, s.v_dim, t.alpha[r], t.spare[r]);
      merge_row<V>(&t.l_total[r], &t.l[r], 1, t.alpha[r], t.spare[r]);
    }
  }
}

template <class V>
static void finish(const tile &t, bool merged) {
  const stream &s = *t.s;
  const float *const l = merged ? t.l_total : t.l;
  for (int32_t r = 0; r < t.n_rows; r++) t.alpha[r] = reciprocal_or_zero(l[r]);
  row_cursor row(s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next())
    scale_row<V>(row.out(), merged ? row.out() : t.acc + r * t.acc_stride, s.v_dim, t.alpha[r]);
}

// The rows of weights hold logits; softmax of those that are visible.
template <class V>
static void weigh(const tile &t) {
  weigh_rows<softmax<V>>(t);
}

}  // namespace heed

#endif
