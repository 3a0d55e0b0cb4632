// Attention of one tile over one chunk with queries as lanes: for many rows. Nothing is ever summed across lanes.
//
// Queries are transposed once into qt[i][row]. Per block of 64 keys: scores[key][row] = x, with elements of k broadcast
// straight from memory (packing k for each tile would cost 10 %); then maximum, exponentials and sums lane by lane;
// then acc[row] += p v with columns as lanes and p broadcast.
#ifndef HEED_GENERIC_QUERY_LANES_HPP
#define HEED_GENERIC_QUERY_LANES_HPP

#include "attend.hpp"

namespace heed {

// qt[i][row] for one register of rows. Rows that are not evenly spaced (grouped heads) or missing (the end of the tile)
// pass through a small copy of 16 columns in the scores buffer.
template <class V>
static void transpose_queries(const tile &t, int32_t row) {
  const stream &s = *t.s;
  const int32_t d = s.head_dim, n = t.n_rows - row < V::lanes ? t.n_rows - row : V::lanes;
  const ptrdiff_t stride = s.group == 1 ? s.q_query_stride : s.q_head_stride;
  const bool even = s.group == 1 || s.q_query_stride == s.group * s.q_head_stride;
  constexpr int32_t width = 16;
  for (int32_t begin = 0; begin < d; begin += width) {
    const int32_t end = d - begin < width ? d : begin + width;
    const float *from = q_row(s, t.first_row + row) + begin;
    ptrdiff_t from_stride = stride;
    if (!even || n < V::lanes) {
      for (int32_t l = 0; l < V::lanes; l++) {
        const float *q = q_row(s, t.first_row + row + (l < n ? l : n - 1)) + begin;
        for (int32_t i = 0; i < end - begin; i++) t.scores[l * width + i] = q[i];
      }
      from = t.scores;
      from_stride = width;
    }
    for (int32_t i = begin; i < end; i += 4) {
      typename V::reg columns[4];
      transpose4_any<V>(from + (i - begin), from_stride, V::lanes, end - i, columns);
      for (int32_t j = 0; j < 4 && i + j < end; j++) V::store(t.qt + (i + j) * t.row_capacity + row, columns[j]);
    }
  }
}

template <class V, int KEYS, int VECS>
static void score_tile(const float *qt, ptrdiff_t qt_stride, const float *k, ptrdiff_t k_stride, int32_t head_dim,
                       float c, float *scores) {
  typename V::reg dots[KEYS][VECS];
  HEED_UNROLL for (int j = 0; j < KEYS; j++) { HEED_UNROLL for (int v = 0; v < VECS; v++) dots[j][v] = V::set(0.0f); }
  for (int32_t i = 0; i < head_dim; i++, qt += qt_stride, k++) {
    typename V::reg queries[VECS];
    HEED_UNROLL for (int v = 0; v < VECS; v++) {
      queries[v] = V::load(qt + v * V::lanes);
      if (KEYS > 1) V::pin(queries[v]);
    }
    HEED_UNROLL for (int j = 0; j < KEYS; j++) {
      typename V::reg key = V::set(k[j * k_stride]);
      if (VECS > 1) V::pin(key);
      HEED_UNROLL for (int v = 0; v < VECS; v++) dots[j][v] = V::fma(key, queries[v], dots[j][v]);
    }
  }
  const typename V::reg factor = V::set(c);
  HEED_UNROLL for (int j = 0; j < KEYS; j++) {
    HEED_UNROLL for (int v = 0; v < VECS; v++)
        V::store(scores + j * qt_stride + v * V::lanes, V::mul(dots[j][v], factor));
  }
}

// Scores of n keys and VECS registers of rows that start at `row`.
template <class V, int VECS>
static void score_rows(const tile &t, int32_t block_begin, int32_t n, int32_t row) {
  const stream &s = *t.s;
  const float *qt = t.qt + row, *k = s.k + block_begin * s.k_stride;
  const ptrdiff_t ld = t.row_capacity;
  float *scores = t.scores + row;
  constexpr int whole = V::score_keys, half = whole > 1 ? whole / 2 : 1;
  int32_t j = 0;
  for (; j + whole <= n; j += whole)
    score_tile<V, whole, VECS>(qt, ld, k + j * s.k_stride, s.k_stride, s.head_dim, s.c, scores + j * ld);
  for (; j + half <= n; j += half)
    score_tile<V, half, VECS>(qt, ld, k + j * s.k_stride, s.k_stride, s.head_dim, s.c, scores + j * ld);
  for (; j < n; j++) score_tile<V, 1, VECS>(qt, ld, k + j * s.k_stride, s.k_stride, s.head_dim, s.c, scores + j * ld);
}

template <class V>
static void score_block(const tile &t, int32_t block_begin, int32_t n) {
  constexpr int wide = V::score_vecs;
  for (int32_t row = 0; row < t.n_rows;) {
    const int32_t vecs = (t.n_rows - row + V::lanes - 1) / V::lanes;
    if (vecs >= wide) {
      score_rows<V, wide>(t, block_begin, n, row);
      row += wide * V::lanes;
    } else if (wide > 2 && vecs == 2) {
      score_rows<V, 2>(t, block_begin, n, row);
      row += 2 * V::lanes;
    } else {
      score_rows<V, 1>(t, block_begin, n, row);
      row += V::lanes;
    }
  }
}

// Scores that the causal mask hides become -infinity: for each key the rows before the first that sees it.
static inline void hide_masked(const tile &t, int32_t block_begin, int32_t n) {
  for (int32_t r = 0; r < t.n_rows; r++) {
    const int32_t limit = visible_keys(*t.s, t.first_row + r) - block_begin;
    if (limit >= n) break;
    for (int32_t j = limit < 0 ? 0 : limit; j < n; j++) t.scores[j * t.row_capacity + r] = negative_infinity;
  }
}

// The new maximum of one register of rows. Returns what to subtract; alpha is what the past is multiplied by.
template <class V>
HEED_INLINE typename V::reg update_maximum(const tile &t, int32_t n, int32_t row) {
  const float *x = t.scores + row;
  const ptrdiff_t ld = t.row_capacity;
  const typename V::reg old = V::load(t.m + row);
  typename V::reg m[4] = {old, old, old, old};
  int32_t j = 0;
  for (; j + 4 <= n; j += 4) HEED_UNROLL for (int u = 0; u < 4; u++) m[u] = V::max(V::load(x + (j + u) * ld), m[u]);
  for (; j < n; j++) m[0] = V::max(V::load(x + j * ld), m[0]);
  const typename V::reg maximum = V::max(V::max(m[0], m[1]), V::max(m[2], m[3]));
  const typename V::reg shift = finite_maximum<V>(maximum);
  V::store(t.m + row, maximum);
  V::store(t.alpha + row, exp2_nonpositive<V>(V::sub(old, shift)));
  return shift;
}

// scores = exp2(scores - shift), added to the 16 sums. Keys i, i + 16, i + 32, i + 48 share a sum and run interleaved:
// one exponential alone is a chain of 12 dependent operations.
template <class V>
HEED_INLINE void exponentials(const tile &t, int32_t n, int32_t row, typename V::reg shift) {
  const ptrdiff_t ld = t.row_capacity;
  const typename V::reg alpha = V::load(t.alpha + row);
  for (int32_t i = 0; i < n_sums; i++) {
    float *x = t.scores + row + i * ld, *memory = t.sums + i * ld + row;
    typename V::reg sum = V::mul(V::load(memory), alpha);
    if (n == block_keys) {
      typename V::reg p[4];
      HEED_UNROLL for (int u = 0; u < 4; u++) p[u] = exp2_nonpositive<V>(V::sub(V::load(x + u * n_sums * ld), shift));
      HEED_UNROLL for (int u = 0; u < 4; u++) {
        V::store(x + u * n_sums * ld, p[u]);
        sum = V::add(sum, p[u]);
      }
    } else {
      for (int32_t j = i; j < n; j += n_sums, x += n_sums * ld) {
        const typename V::reg p = exp2_nonpositive<V>(V::sub(V::load(x), shift));
        V::store(x, p);
        sum = V::add(sum, p);
      }
    }
    V::store(memory, sum);
  }
}

// Writes the logits of n keys into the rows of weights, which are transposed to scores.
template <class V>
static void keep_logits(const tile &t, int32_t block_begin, int32_t n) {
  for (int32_t r = 0; r < t.n_rows; r += 4) {
    for (int32_t j = 0; j < n; j += V::lanes) {
      typename V::reg rows[4];
      const int32_t left = n - j < V::lanes ? n - j : V::lanes;
      transpose4_any<V>(t.scores + j * t.row_capacity + r, t.row_capacity, left, t.n_rows - r, rows);
      for (int32_t i = 0; i < 4 && r + i < t.n_rows; i++) {
        float *weights = weights_row(*t.s, t.first_row + r + i) + block_begin + j;
        if (left == V::lanes)
          V::store(weights, rows[i]);
        else
          store_n<V>(weights, rows[i], left);
      }
    }
  }
}

template <class V>
static void reduce_sums(const tile &t) {
  const ptrdiff_t ld = t.row_capacity;
  for (int32_t half = n_sums / 2; half > 0; half /= 2)
    for (int32_t i = 0; i < half; i++)
      for (int32_t row = 0; row < t.n_rows; row += V::lanes)
        V::store(t.sums + i * ld + row,
                 V::add(V::load(t.sums + i * ld + row), V::load(t.sums + (i + half) * ld + row)));
  for (int32_t row = 0; row < t.n_rows; row += V::lanes) V::store(t.l + row, V::load(t.sums + row));
}

template <class V>
static void attend_query_lanes(const tile &t, int32_t key_begin, int32_t key_end) {
  const stream &s = *t.s;
  const int32_t last = visible_keys(s, t.first_row + t.n_rows - 1), first_visible = visible_keys(s, t.first_row);
  const int32_t end = last < key_end ? last : key_end;
  for (int32_t row = 0; row < t.n_rows; row += V::lanes) {
    transpose_queries<V>(t, row);
    V::store(t.m + row, V::set(negative_infinity));
    for (int32_t i = 0; i < n_sums; i++) V::store(t.sums + i * t.row_capacity + row, V::set(0.0f));
  }
  if (end <= key_begin)  // nothing visible: the accumulator is still to be cleared
    add_block<V>(t, key_begin, 0, true, 1, t.row_capacity, [](int32_t) { return 0; });
  for (int32_t begin = key_begin; begin < end; begin += block_keys) {
    const int32_t n = end - begin < block_keys ? end - begin : block_keys;
    score_block<V>(t, begin, n);
    if (s.weights) keep_logits<V>(t, begin, n);
    const bool ragged = first_visible < begin + n;
    if (ragged) hide_masked(t, begin, n);
    for (int32_t row = 0; row < t.n_rows; row += V::lanes) exponentials<V>(t, n, row, update_maximum<V>(t, n, row));
    add_block<V>(t, begin, n, begin == key_begin, 1, t.row_capacity, [&](int32_t r) {
      if (!ragged) return n;
      const int32_t limit = visible_keys(s, t.first_row + r) - begin;
      return limit < 0 ? 0 : limit < n ? limit : n;
    });
  }
  reduce_sums<V>(t);
  close_gap<V>(t);
}

}  // namespace heed

#endif
