// Scores of keys in a cache, which lie 16 side by side, so that few rows need no transpose. For many rows those in a
// narrow format are widened part by part on the stack, once for all rows of a tile.
#ifndef HEED_GENERIC_STORED_KEYS_HPP
#define HEED_GENERIC_STORED_KEYS_HPP

#include "../../no_vectors/one_lane.hpp"
#include "score_queries.hpp"
#include "stored_values.hpp"

namespace heed {

// Keys [key, key + n_keys) of a block, both multiples of 16, and columns [dim, dim + n_dims) of them: element (j, i) is
// k[j / 16 * group_stride + i * 16 + j % 16], times scales[j] if it is an int8.
template <class T>
struct key_piece {
  const T *k;
  ptrdiff_t group_stride;
  int32_t key, n_keys, dim, n_dims;
  bool first, last;  // of the columns: chains start at +0; scores are multiplied by c
  const float *scales;
  const T *ahead;  // null, or the same of the next block, to fetch meanwhile
};

// For ROWS rows whose scores and queries are given, with VECS registers of keys as lanes.
template <class V, int ROWS, int VECS, class T>
HEED_INLINE void score_piece_keys(const float *const (&q)[8], float *const (&scores)[8], const key_piece<T> &p,
                                  int32_t from, float c) {
  constexpr int line = 64 / sizeof(T);
  const auto at = [&](int v) {
    const int32_t j = from + v * V::lanes;
    return j / 16 * p.group_stride + j % 16;
  };
  const T *k[VECS];
  typename V::reg scale[VECS];
  HEED_UNROLL for (int v = 0; v < VECS; v++) {
    k[v] = p.k + at(v);
    if (sizeof(T) == 1) scale[v] = V::load(p.scales + from + v * V::lanes);
  }
  const T *ahead = offset_or_null(p.ahead, at(0));
  typename V::reg dots[ROWS][VECS];
  start_tile<V, ROWS, VECS>(dots, [&](int r, int v) HEED_INLINED {
    return p.first ? V::set(0.0f) : V::load(scores[r] + from + v * V::lanes);
  });
  for (int32_t i = 0; i < p.n_dims; i++) {
    if (ahead && i * 16 % line == 0) {
      HEED_UNROLL for (int v = 0; v < VECS * V::lanes; v += 16)
          __builtin_prefetch(ahead + v / 16 * p.group_stride + i * 16, 0, 2);
    }
    typename V::reg keys[VECS];
    HEED_UNROLL for (int v = 0; v < VECS; v++) {
      keys[v] = V::load(k[v] + i * 16);
      if (sizeof(T) == 1) keys[v] = V::mul(keys[v], scale[v]);
    }
    add_step<V, ROWS, VECS>(dots, keys, [&](int r) HEED_INLINED { return q[r][i]; });
  }
  const float by = p.last ? c : 1.0f;
  store_scaled<V, ROWS, VECS>(dots, by, [&](int r) HEED_INLINED { return scores[r] + from; });
}

// ROWS rows from `row` on; rows beyond the tile repeat its last one.
template <class V, int ROWS, class T>
static HEED_NOINLINE void score_piece_rows(const tile &t, int32_t row, const key_piece<T> &p) {
  constexpr int several = ROWS == 8 ? 1 : 2;
  constexpr int vecs = ROWS > 1 ? several : 4;  // at least 8 chains, or one row's loads
  const float *q[8];
  float *scores[8];
  row_cursor cursor(*t.s, t.first_row + row);
  for (int32_t r = 0; r < ROWS; r++) {
    const int32_t use = smaller_of(row + r, t.n_rows - 1);
    q[r] = cursor.q() + p.dim;
    scores[r] = t.scores + use * block_keys + p.key;
    if (use + 1 < t.n_rows) cursor.next();
  }
  int32_t j = 0;
  for (; vecs > 1 && j + vecs * V::lanes <= p.n_keys; j += vecs * V::lanes)
    score_piece_keys<V, ROWS, vecs>(q, scores, p, j, t.s->c);
  for (; j < p.n_keys; j += V::lanes) score_piece_keys<V, ROWS, 1>(q, scores, p, j, t.s->c);
}

// With keys as lanes, for a tile of few rows.
template <class V, class T>
static void score_piece_by_keys(const tile &t, const key_piece<T> &p) {
  each_group<many_registers<V>>(t.n_rows,
                                [&](auto rows, int32_t row) { score_piece_rows<V, decltype(rows)::value>(t, row, p); });
}

// KEYS keys by VECS registers of rows as lanes. ROWS: element (j, i) is k[j * group_stride + i].
template <class V, int KEYS, int VECS, bool ROWS>
static HEED_NOINLINE void score_piece_queries(const tile &t, int32_t row, const key_piece<float> &p, int32_t from,
                                              int32_t to) {
  const ptrdiff_t ld = t.row_capacity;
  const ptrdiff_t key_stride = ROWS ? p.group_stride : 1;
  for (int32_t j = from; j < to; j += KEYS) {
    const float *qt = t.qt + p.dim * ld + row,
                *k = p.k + (ROWS ? j * p.group_stride : j / 16 * p.group_stride + j % 16);
    float *scores = t.scores + (p.key + j) * ld + row;
    typename V::reg dots[KEYS][VECS];
    start_tile<V, KEYS, VECS>(dots, [&](int u, int v) HEED_INLINED {
      return p.first ? V::set(0.0f) : V::load(scores + u * ld + v * V::lanes);
    });
    for (int32_t i = 0; i < p.n_dims; i++, qt += ld, k += ROWS ? 1 : 16) {
      typename V::reg queries[VECS];
      HEED_UNROLL for (int v = 0; v < VECS; v++) queries[v] = V::load(qt + v * V::lanes);
      add_step<V, KEYS, VECS>(dots, queries, [=](int u) HEED_INLINED { return k[u * key_stride]; });
    }
    const float by = p.last ? t.s->c : 1.0f;
    store_scaled<V, KEYS, VECS>(dots, by, [=](int u) HEED_INLINED { return scores + u * ld; });
  }
}

// Registers of rows take the keys that one of them sees, in whole tiles of keys.
template <class V, int VECS, bool ROWS>
HEED_INLINE void score_piece_registers(const tile &t, const key_block &b, int32_t row, const key_piece<float> &p) {
  constexpr int keys = VECS == 1 && !V::compact ? 8 : V::score_keys;  // 8 chains
  const int32_t from = larger_of(first_seen(t, b, row) - p.key, 0);
  const int32_t to = last_seen<V>(t, b, row + (VECS - 1) * V::lanes) - p.key;
  score_piece_queries<V, keys, VECS, ROWS>(t, row, p, from / keys * keys, smaller_of(to, p.n_keys));
}

template <class V, bool ROWS>
static HEED_NOINLINE void score_piece_by_queries(const tile &t, const key_block &b, const key_piece<float> &p) {
  for (int32_t row = 0; row < t.n_rows;) {
    const int32_t left = (t.n_rows - row + V::lanes - 1) / V::lanes;
    if (V::score_vecs > 2 && left > 2) {
      score_piece_registers<V, V::score_vecs, ROWS>(t, b, row, p);
      row += V::score_vecs * V::lanes;
    } else if (left >= 2) {
      score_piece_registers<V, 2, ROWS>(t, b, row, p);
      row += 2 * V::lanes;
    } else {
      score_piece_registers<V, 1, ROWS>(t, b, row, p);
      row += V::lanes;
    }
  }
}

template <class V>
static HEED_NOINLINE void score_piece(const tile &t, const key_block &b, const key_piece<float> &p) {
  if constexpr (V::lanes == 1) {
    product o;
    for (int32_t r = 0, rows; r < t.n_rows; r += rows) {
      rows = tile_height(t.n_rows - r, V::sum_rows);
      for (int32_t i = 0; i < rows; i++) o.a[i] = query_of(t, r + i) + p.dim;
      for (int32_t j = 0; j < p.n_keys; j += 16) {
        float *const x = t.scores + r * block_keys + p.key + j;
        for (int32_t i = 0; i < rows && p.first; i++) __builtin_memset(x + i * block_keys, 0, 16 * sizeof *x);
        o.b = p.k + j / 16 * p.group_stride;
        o.b_depth = 16;
        o.b_col = 1;
        o.acc = x;
        o.acc_stride = block_keys;
        o.depth = p.n_dims;
        o.n_cols = 16;
        multiply<V, values_operand>(o, rows);
        for (int32_t i = 0; i < rows && p.last; i++) scale_one_lane(x + i * block_keys, x + i * block_keys, 16, t.s->c);
      }
    }
  } else {
    if (!t.lanes_are_queries) return score_piece_by_keys<V>(t, p);
    score_piece_by_queries<V, false>(t, b, p);
  }
}

// to[i * 16 + j] for n_dims columns of 16 keys.
template <class V, class T>
HEED_INLINE void widen_group(float *to, const T *from, int32_t n_dims, const float *scales) {
  for (int32_t i = 0; i < n_dims * 16; i += 16) HEED_UNROLL for (int32_t j = 0; j < 16; j += V::lanes) {
      typename V::reg x = V::load(from + i + j);
      if (sizeof(T) == 1) x = V::mul(x, V::load(scales + j));
      V::store(to + i + j, x);
    }
}

// A piece for all rows of a tile: as it lies, or widened part by part.
template <class V, class T>
static HEED_NOINLINE void score_widened(const tile &t, const key_block &b, const key_piece<T> &whole) {
  constexpr int32_t room = panel_floats<V>(), keys = room >= 1024 ? 64 : 16, dims = room / keys;
  float panel[room];
  for (int32_t key = 0; key < whole.n_keys; key += keys) {
    const int32_t n_keys = smaller_of(whole.n_keys - key, keys);
    for (int32_t dim = 0; dim < whole.n_dims; dim += dims) {
      const int32_t n_dims = smaller_of(whole.n_dims - dim, dims);
      for (int32_t j = 0; j < n_keys; j += 16)
        widen_group<V>(panel + j * dims, whole.k + (key + j) / 16 * whole.group_stride + dim * 16, n_dims,
                       whole.scales + key + j);
      score_piece<V>(t, b,
                     {panel, dims * 16, whole.key + key, n_keys, dim, n_dims, dim == 0, dim + n_dims == whole.n_dims,
                      nullptr, nullptr});
    }
  }
}

template <class V, class T>
static void score_numbers(const tile &t, const key_block &b) {
  const stream &s = *t.s;
  const storage &at = *s.rule->stored;
  const int32_t from = b.from / 16 * 16, slot = at.slot_of(b.begin) + from;
  const ptrdiff_t group = static_cast<ptrdiff_t>(s.head_dim) * 16;
  const T *keys = reinterpret_cast<const T *>(s.k.data);
  key_piece<T> p = {
      keys + slot / 16 * group,           group,  from, (b.n - from + 15) / 16 * 16, 0, s.head_dim, true, true,
      scales_of(s, at.key_scales) + slot, nullptr};
  if (stored_block_is_far<V>(t, b, sizeof(T))) p.ahead = keys + (at.slot_of(b.begin + block_keys) + from) / 16 * group;
  if constexpr (V::lanes > 1 && (sizeof(T) == 4 || V::loads_narrow))
    if (!t.lanes_are_queries) return score_piece_by_keys<V>(t, p);
  if constexpr (sizeof(T) == 4)
    score_piece<V>(t, b, p);
  else
    score_widened<V>(t, b, p);
}

template <class V>
static HEED_NOINLINE void score_stored(const tile &t, const key_block &b) {
  with_format(t.s->rule->stored->key_format, [&](auto number) { score_numbers<V, decltype(number)>(t, b); });
}

}  // namespace heed

#endif
