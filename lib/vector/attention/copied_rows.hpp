// What the kernels with vectors share: the sum of p v over a block, the merge of chunks, and the end of a row.
#ifndef HEED_GENERIC_ROWS_HPP
#define HEED_GENERIC_ROWS_HPP

#include "../rows/softmax.hpp"
#include "../product/sum_rows.hpp"

namespace heed {

// More memory than this is taken to lie beyond the second-level cache.
constexpr int64_t far_bytes = 512 * 1024;

// The last register of a row that is no multiple of `lanes` covers the row's last `lanes` columns: it overlaps its
// neighbour, needs no masked load, and keeps a slot of its own behind the whole registers until the chunk ends.
template <class V>
HEED_INLINE int32_t whole_columns(int32_t v_dim) {
  return v_dim / V::lanes * V::lanes;
}

// acc += p v for n_rows rows over the same keys and o.n_cols columns. o.b and o.acc point at column 0.
template <class V>
static void sum_values(const sum_operands &o, chain from, int32_t n_rows) {
  const int32_t n_cols = o.n_cols, whole = whole_columns<V>(n_cols);
  if (whole == 0) return sum_columns<V, narrow_vecs>(o, from, n_rows);
  sum_whole<V>(o, from, n_rows, n_cols);
  if (whole == n_cols) return;
  sum_operands last = o;
  last.b += n_cols - V::lanes;
  last.acc += whole;
  sum_columns<V, 1>(last, from, n_rows);
}

// Is the block after this one in the last cache or in memory? Beyond a certain size it is: then k is fetched one block
// ahead while k is read, and v while v is read: 30 GB/s from DRAM, against 12 without, 20 with k and v each fetched
// while the other is read and 19 with a burst between the two. Below it, fetching ahead costs 20 %. Only the first tile
// of a stream finds its keys and values far away.
HEED_INLINE bool block_is_far(const tile &t, const key_block &b, int32_t element_bytes) {
  const stream &s = *t.s;
  return t.first_row == 0 && b.begin + 2 * block_keys <= s.n_kv &&
         static_cast<int64_t>(s.n_kv) * (s.head_dim + s.v_dim) * element_bytes > far_bytes;
}

// Do all rows of the tile see all keys of the block?
HEED_INLINE bool all_see(const tile &t, const key_block &b) {
  return t.first[t.n_rows - 1] <= b.begin + b.from && t.last[0] >= b.begin + b.n;
}

// acc = acc * alpha + p v for the tile's rows over a block. Element (row, key) of p is at scores[row * p_row + key *
// p_key].
template <class V>
HEED_INLINE void add_block(const tile &t, const key_block &b, ptrdiff_t p_row, ptrdiff_t p_key,
                           bool fetch_ahead = false) {
  const stream &s = *t.s;
  const int32_t begin = b.begin + b.from;
  const float *values = s.v.from(begin);
  const float *ahead = fetch_ahead ? s.v.from(begin + block_keys) : nullptr;
  const bool ragged = !all_see(t, b);
  const sum_operands o = {t.scores + b.from * p_key,
                          p_row,
                          p_key,
                          values,
                          s.v.stride,
                          t.chunk.acc,
                          t.acc_stride,
                          t.alpha,
                          b.n - b.from,
                          ahead,
                          s.v.stride,
                          s.v_dim,
                          0};
  const chain from = chain_of_block(b.first);
  if (ragged)
    sum_ragged(o, from, t.n_rows, {t.first, t.last, begin}, V::sum_rows, sum_values<V>);
  else
    sum_values<V>(o, from, t.n_rows);
}

// Where no row of the tile sees a key.
[[maybe_unused]] static HEED_NOINLINE void clear_rows(const tile &t) {
  for (int32_t r = 0; r < t.n_rows; r++)
    for (int32_t i = 0; i < t.acc_stride; i++) t.chunk.acc[r * t.acc_stride + i] = 0.0f;
}

// Moves the overlapping last register into place, after which acc is plain [n_rows][v_dim].
template <class V>
HEED_INLINE void close_gap(const tile &t) {
  const int32_t v_dim = t.s->v_dim, whole = whole_columns<V>(v_dim);
  if (whole == v_dim || whole == 0) return;
  for (int32_t r = 0; r < t.n_rows; r++) {
    float *acc = t.chunk.acc + r * t.acc_stride;
    V::store(acc + v_dim - V::lanes, V::load(acc + whole));
  }
}

// out = in * factor, a zero being +0.
template <class V>
HEED_INLINE void finish_row(float *out, const float *in, int32_t n, float factor) {
  const typename V::reg by = V::set(factor), zero = V::set(0.0f);
  int32_t i = 0;
  for (; i + V::lanes <= n; i += V::lanes) V::store(out + i, V::add(V::mul(V::load(in + i), by), zero));
  if (i < n) V::store_n(out + i, V::add(V::mul(V::load_n(in + i, n - i), by), zero), n - i);
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
// shift for the chunk. The total's m becomes the common maximum.
template <class V>
HEED_INLINE void merge_factors(const tile &t) {
  for (int32_t r = 0; r < t.n_rows; r += V::lanes) {
    const int32_t n = smaller_of(t.n_rows - r, V::lanes);
    const typename V::reg total = V::load_n(t.total.m + r, n), chunk = V::load_n(t.chunk.m + r, n);
    const typename V::reg m = V::max(chunk, total), shift = finite_maximum<V>(m);
    V::store_n(t.alpha + r, exp2_nonpositive<V>(V::sub(total, shift)), n);
    V::store_n(t.shift + r, exp2_nonpositive<V>(V::sub(chunk, shift)), n);
    V::store_n(t.total.m + r, m, n);
  }
}

// A row that sees no key of the chunk has the partial (-inf, 0, 0), which changes nothing.
template <class V>
static void merge(const tile &t, bool first) {
  const stream &s = *t.s;
  if (!first) merge_factors<V>(t);
  row_cursor row(s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    float *out = row.out();
    const float *acc = t.chunk.acc + r * t.acc_stride;
    if (first) {
      t.total.m[r] = t.chunk.m[r];
      t.total.l[r] = t.chunk.l[r];
      copy_row<V>(out, acc, s.v_dim);
    } else {
      merge_row<V>(out, acc, s.v_dim, t.alpha[r], t.shift[r]);
      merge_row<V>(&t.total.l[r], &t.chunk.l[r], 1, t.alpha[r], t.shift[r]);
    }
  }
}

// factors = 1 / l, or 0 where l is 0, for n rows. One loop of constant length, which compilers make a division of
// registers where there is one; with no branch that would stop them.
template <class V>
HEED_INLINE void reciprocals(float *factors, const float *l, int32_t n) {
  if constexpr (V::compact) {
    for (int32_t r = 0; r < n; r++) factors[r] = reciprocal_of_row(l[r]);
    return;
  }
  for (int32_t r = 0; r < n; r += V::lanes) {
    const int32_t left = smaller_of(n - r, V::lanes);
    float x[V::lanes];
    if (left < V::lanes)
      V::store(x, V::load_n(l + r, left));
    else
      V::store(x, V::load(l + r));
    for (int32_t i = 0; i < V::lanes; i++) {
      const float divisor = x[i] == 0.0f ? 1.0f : x[i];
      x[i] = x[i] == 0.0f ? 0.0f : 1.0f / divisor;
    }
    if (left < V::lanes)
      V::store_n(factors + r, V::load(x), left);
    else
      V::store(factors + r, V::load(x));
  }
}

// Rows of out one after another. What moves on lies in registers, where no store can change it.
struct out_rows {
  float *data;
  ptrdiff_t head_stride, to_next_query;
  int32_t head, group;
  HEED_INLINE out_rows(const stream &s, ptrdiff_t first_row) {
    const row_cursor row(s, first_row);
    data = row.out();
    head = row.head;
    group = s.group;
    head_stride = s.out_head_stride;
    to_next_query = s.out_query_stride - (group - 1) * head_stride;
  }
  HEED_INLINE void next() {
    const bool within = ++head < group;
    data += within ? head_stride : to_next_query;
    if (!within) head = 0;
  }
};

template <class V>
static void finish(const tile &t, const partial &p) {
  const int32_t n_rows = t.n_rows, v_dim = t.s->v_dim;
  const ptrdiff_t acc_stride = t.acc_stride;
  const float *const acc = p.acc, *const factors = t.alpha;
  reciprocals<V>(t.alpha, p.l, n_rows);
  out_rows row(*t.s, t.first_row);
  for (int32_t r = 0; r < n_rows; r++, row.next()) {
    const float *const sums = acc ? acc + r * acc_stride : row.data;
    finish_row<V>(row.data, sums, v_dim, factors[r]);
  }
}

}  // namespace heed

#endif
