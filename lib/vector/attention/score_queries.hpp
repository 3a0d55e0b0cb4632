// The scores of attention with queries as lanes: queries transposed once for a tile, then scores[key][row] = x for a
// block of keys, with elements of k broadcast straight from memory.
#ifndef HEED_GENERIC_SCORE_QUERIES_HPP
#define HEED_GENERIC_SCORE_QUERIES_HPP

#include "../product/tile.hpp"
#include "copied_rows.hpp"
#include "../widen.hpp"

namespace heed {

// qt[i][row] for one register of rows, by copies of 64 columns in the scores buffer: copy(to, row, first column, n).
template <class V, class F>
HEED_INLINE void transpose_copies(const tile &t, int32_t row, F copy) {
  const stream &s = *t.s;
  const int32_t n = smaller_of(t.n_rows - row, V::lanes);
  constexpr int32_t width = 64;  // lanes * 64 floats fit: there are at least 16 rows of 64 scores
  for (int32_t begin = 0; begin < s.head_dim; begin += width) {
    const int32_t columns = smaller_of(s.head_dim - begin, width);
    row_cursor from(s, t.first_row + row);
    for (int32_t l = 0; l < V::lanes; l++) {
      copy(t.scores + l * width, from, begin, columns);
      if (l + 1 < n) from.next();  // lanes beyond the tile repeat its last row
    }
    transpose_rows<V>(t.qt + row + begin * t.row_capacity, t.row_capacity, t.scores, width, columns, V::set(0.0f));
  }
}

// Rows that are not evenly spaced (grouped heads) or missing (the end of the tile) pass through copies.
template <class V>
static HEED_NOINLINE void transpose_queries(const tile &t, int32_t row) {
  const stream &s = *t.s;
  const bool even = s.group == 1 || s.q_query_stride == s.group * s.q_head_stride;
  if (even && t.n_rows - row >= V::lanes) {
    const ptrdiff_t stride = s.group == 1 ? s.q_query_stride : s.q_head_stride;
    return transpose_rows<V>(t.qt + row, t.row_capacity, row_cursor(s, t.first_row + row).q(), stride, s.head_dim,
                             V::set(0.0f));
  }
  transpose_copies<V>(t, row, [](float *to, const row_cursor &from, int32_t begin, int32_t n) {
    copy_row<V>(to, from.q() + begin, n);
  });
}

// The same keys and values one block later.
struct rows_ahead {
  const float *k;
  ptrdiff_t k_stride;
  const float *v;
  ptrdiff_t v_stride;
  int32_t v_dim;
};

// With FETCH each step of the register tile, which has slots to spare, fetches one line of the next block: 3 % on P5,
// 6 % where many small heads are met for the first time.
template <class V, int KEYS, int VECS, bool FETCH = false>
HEED_INLINE void score_tile(const float *qt, ptrdiff_t qt_stride, const float *k, ptrdiff_t k_stride, int32_t head_dim,
                            float c, float *scores, const rows_ahead *ahead = nullptr) {
  typename V::reg dots[KEYS][VECS];
  start_tile<V, KEYS, VECS>(dots, [](int, int) HEED_INLINED { return V::set(0.0f); });
  const int32_t lines = FETCH ? head_dim / 16 * KEYS : 0;
  const int32_t end = FETCH ? lines + ahead->v_dim / 16 * KEYS : 0;
  const auto fetch = [&](int32_t i) HEED_INLINED {
    if (FETCH && i < lines)
      __builtin_prefetch(ahead->k + i % KEYS * ahead->k_stride + i / KEYS * 16, 0, 2);
    else if (FETCH && i < end)
      __builtin_prefetch(ahead->v + i % KEYS * ahead->v_stride + (i - lines) / KEYS * 16, 0, 2);
  };
  int32_t i = 0;
  if constexpr (V::factors_at_once > 1 && KEYS > 1) {
    constexpr int step = V::factors_at_once;
    for (; i + step <= head_dim; i += step, k += step) {
      typename V::reg keys[KEYS];
      HEED_UNROLL for (int j = 0; j < KEYS; j++) keys[j] = V::load(k + j * k_stride);
      for_each_constant<step>([&](auto u) HEED_INLINED {
        fetch(i + decltype(u)::value);
        typename V::reg queries[VECS];
        HEED_UNROLL for (int v = 0; v < VECS; v++) queries[v] = V::load(qt + v * V::lanes);
        qt += qt_stride;
        HEED_UNROLL for (int j = 0; j < KEYS; j++) {
          HEED_UNROLL for (int v = 0; v < VECS; v++) dots[j][v] =
              V::template fma_factor<decltype(u)::value>(keys[j], queries[v], dots[j][v]);
        }
      });
    }
  }
  for (; i < head_dim; i++, qt += qt_stride, k++) {
    fetch(i);
    typename V::reg queries[VECS];
    HEED_UNROLL for (int v = 0; v < VECS; v++) queries[v] = V::load(qt + v * V::lanes);
    add_step<V, KEYS, VECS>(dots, queries, [=](int j) HEED_INLINED { return k[j * k_stride]; });
  }
  store_scaled<V, KEYS, VECS>(dots, c, [=](int j) HEED_INLINED { return scores + j * qt_stride; });
}

// What the rows of the register at `row` see of a block lies in [first_seen, last_seen).
HEED_INLINE int32_t first_seen(const tile &t, const key_block &b, int32_t row) {
  return clamp_to(t.first[row] - b.begin, b.from, b.n);
}
template <class V>
HEED_INLINE int32_t last_seen(const tile &t, const key_block &b, int32_t row) {
  const int32_t last_row = smaller_of(row + V::lanes, t.n_rows) - 1;
  return clamp_to(t.last[last_row] - b.begin, 0, b.n);
}

// Scores of keys [from, to) of a block for VECS registers of rows that start at `row`.
template <class V, int VECS>
static HEED_NOINLINE void score_rows(const tile &t, int32_t block_begin, int32_t from, int32_t to, int32_t row) {
  const stream &s = *t.s;
  const float *qt = t.qt + row, *k = s.k.from(block_begin);
  const ptrdiff_t ld = t.row_capacity;
  float *scores = t.scores + row;
  int32_t j = from;
  const auto score = [&](auto keys) {
    constexpr int n_keys = decltype(keys)::value;
    for (; j + n_keys <= to; j += n_keys)
      score_tile<V, n_keys, VECS>(qt, ld, k + j * s.k.stride, s.k.stride, s.head_dim, s.c, scores + j * ld);
  };
  if (V::score_keys > 4) score(constant<V::score_keys>());
  if (V::score_keys > 2) score(constant<4>());
  score(constant<2>());
  score(constant<1>());
}

// The same for the first rows of a tile and the keys from 0, fetching the next block; returns how many keys are done. A
// stream of 128 KB is worth it.
template <class V>
static HEED_NOINLINE int32_t score_and_fetch(const tile &t, int32_t block_begin, int32_t to) {
  const stream &s = *t.s;
  const float *k = s.k.from(block_begin), *next_k = s.k.from(block_begin + block_keys),
              *next_v = s.v.from(block_begin + block_keys);
  const int32_t next = s.n_kv - block_begin - block_keys;  // keys after this block
  int32_t j = 0;
  for (; j + V::score_keys <= to && j + V::score_keys <= next; j += V::score_keys) {
    const rows_ahead ahead = {next_k + j * s.k.stride, s.k.stride, next_v + j * s.v.stride, s.v.stride, s.v_dim};
    score_tile<V, V::score_keys, V::score_vecs, true>(t.qt, t.row_capacity, k + j * s.k.stride, s.k.stride, s.head_dim,
                                                      s.c, t.scores + j * t.row_capacity, &ahead);
  }
  return j;
}

template <class V>
HEED_INLINE void score_registers(const tile &t, int32_t block_begin, int32_t from, int32_t to, int32_t row,
                                 int32_t vecs) {
  if (V::score_vecs > 2 && vecs > 2)
    score_rows<V, V::score_vecs>(t, block_begin, from, to, row);
  else if (vecs == 2)
    score_rows<V, 2>(t, block_begin, from, to, row);
  else
    score_rows<V, 1>(t, block_begin, from, to, row);
}

// Registers of rows see keys that begin and end ever later: each takes part from its first to its last key, in whole
// tiles of keys. Of a tile of registers those from `a` up to `z` are active at key j.
template <class V>
static void score_block(const tile &t, const key_block &b) {
  const bool far = static_cast<int64_t>(t.s->n_kv) * (t.s->head_dim + t.s->v_dim) * 4 > far_bytes / 4;
  constexpr int32_t step = V::score_keys;
  for (int32_t row = 0; row < t.n_rows;) {
    int32_t vecs = (t.n_rows - row + V::lanes - 1) / V::lanes;
    if (vecs > V::score_vecs) vecs = V::score_vecs;
    const auto first = [&](int32_t i) { return first_seen(t, b, row + i * V::lanes); };
    const auto last = [&](int32_t i) { return last_seen<V>(t, b, row + i * V::lanes); };
    const int32_t end = last(vecs - 1);
    int32_t j = first(0), a = 0;
    if (step > 4 && row == 0 && vecs == V::score_vecs && far && first(vecs - 1) == 0)
      j = score_and_fetch<V>(t, b.begin, last(0));
    while (j < end) {
      while (last(a) <= j) a++;  // the last one's is `end`
      if (first(a) > j) j = first(a);
      int32_t z = a + 1, to = j + (last(a) - j + step - 1) / step * step;
      while (z < vecs && first(z) < j + step) z++;
      if (z < vecs && first(z) < to) to = j + (first(z) - j) / step * step;
      if (to > end) to = end;
      if (to > j) score_registers<V>(t, b.begin, j, to, row + a * V::lanes, z - a);
      j = to;
    }
    row += vecs * V::lanes;
  }
}

}  // namespace heed

#endif
