// Queries and keys that are rows of narrow numbers. Queries are widened once for a tile; keys on their way to the
// scores of few rows, or part by part on the stack for many.
#ifndef HEED_GENERIC_NARROW_ROWS_HPP
#define HEED_GENERIC_NARROW_ROWS_HPP

#include "../stored_elements.hpp"
#include "key_lanes.hpp"
#include "one_lane_project.hpp"
#include "project.hpp"
#include "query_lanes.hpp"
#include "stored_keys.hpp"

namespace heed {

// A tile's queries: to qt where they are lanes, else to rows of head_dim floats.
template <class V, class T>
static void widen_queries_of(const tile &t, float *to) {
  const stream &s = *t.s;
  const narrow_rows &q = s.rule->stored->queries;
  const auto widen = [&](float *y, const row_cursor &row, int32_t begin, int32_t n) {
    const float scale = sizeof(T) == 1 ? *row_of<float>(q.scales, s, row) : 0.0f;
    widen_row<V>(y, row_of<T>(q.numbers, s, row) + begin, n, scale);
  };
  if constexpr (V::lanes > 1)
    if (t.lanes_are_queries) {
      for (int32_t r = 0; r < t.n_rows; r += V::lanes) transpose_copies<V>(t, r, widen);
      return;
    }
  row_cursor row(s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next(), to += s.head_dim) widen(to, row, 0, s.head_dim);
}

template <class V>
static void widen_queries(const tile &t, float *to) {
  with_narrow_format(t.s->rule->stored->queries.format,
                     [&](auto number) { widen_queries_of<V, decltype(number)>(t, to); });
}

// Where the workspace has no room for a row of widened queries: number by number.
template <class V>
static HEED_NOINLINE void score_by_elements(const tile &t, const key_block &b) {
  const stream &s = *t.s;
  row_cursor row(s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next())
    for (int32_t j = b.from; j < b.n; j += V::lanes) {
      const int32_t n = b.n - j < V::lanes ? b.n - j : V::lanes;
      float lanes[V::lanes];
      typename V::reg dots = V::set(0.0f);
      for (int32_t i = 0; i < s.head_dim; i++) {
        for (int32_t l = 0; l < V::lanes; l++) lanes[l] = key_element(s, b.begin + j + (l < n ? l : n - 1), i);
        dots = V::fma(V::factor(query_element(s, row, i)), V::load(lanes), dots);
      }
      V::store(lanes, V::mul(dots, V::set(s.c)));
      for (int32_t l = 0; l < n; l++) t.scores[r * block_keys + j + l] = lanes[l];
    }
}

// Keys of a block as rows of numbers.
template <class T>
struct key_rows {
  const T *data;
  ptrdiff_t stride;
  const float *scales;  // of int8
  ptrdiff_t scale_stride;

  HEED_INLINE key_rows(const stream &s, const key_block &b)
      : data(reinterpret_cast<const T *>(s.k.data) + b.begin * s.k.stride),
        stride(s.k.stride),
        scales(nullptr),
        scale_stride(s.rule->stored->key_scales.query_stride) {
    if (sizeof(T) == 1) scales = scales_of(s, s.rule->stored->key_scales) + b.begin * scale_stride;
  }
  HEED_INLINE const T *row(ptrdiff_t j) const { return data + j * stride; }
  HEED_INLINE float scale(int32_t j) const { return sizeof(T) == 1 ? scales[j * scale_stride] : 0.0f; }
};

// Rows [r, r + rows) of a tile that lie q_stride apart: x = q k^T of keys [j, j + n) is a projection whose weights are
// the keys, an output each.
template <class V, class T>
HEED_INLINE void project_keys(const tile &t, const key_rows<T> &k, const float *q, ptrdiff_t q_stride, int32_t r,
                              int32_t rows, int32_t j, int32_t n) {
  linear_block p = {q,          q_stride, nullptr,       0, nullptr, t.scores + r * block_keys + j,
                    block_keys, rows,     t.s->head_dim, n};
  if constexpr (V::lanes == 1) {
    project_one_lane_format<V, T>(p, {k.row(j), k.scales + j, k.stride, 0, true});
  } else {
    const weights_of<T> keys = {k.row(j), k.stride, k.scales + j};
    const int32_t whole = n / V::lanes * V::lanes, last = n - V::lanes;
    const auto project = [&](auto at_once) {
      constexpr int n_rows = decltype(at_once)::value;
      for (; p.n_rows >= n_rows; p.n_rows -= n_rows, p.x += n_rows * q_stride, p.y += n_rows * block_keys) {
        project_outputs_of<V, n_rows>(p, keys, whole);
        // The last register overlaps its neighbour, whose scores it computes again.
        if (whole < n) project_outputs_of<V, n_rows>(from_column(p, last), keys.from(last, true), V::lanes);
      }
    };
    if constexpr (!V::compact) project(constant<8>());
    project(constant<4>());
    if constexpr (!V::compact) project(constant<2>());
    project(constant<1>());
  }
}

// Fewer keys than lanes: by a widened copy, part by part.
template <class V, class T>
static HEED_NOINLINE void score_few_keys(const tile &t, const key_block &b, const key_rows<T> &k) {
  constexpr int32_t dims = panel_floats<V>() / 16;
  const int32_t head_dim = t.s->head_dim, key = b.from < block_keys - 16 ? b.from : block_keys - 16;
  float panel[dims * 16] = {};
  for (int32_t dim = 0; dim < head_dim; dim += dims) {
    const int32_t n_dims = head_dim - dim < dims ? head_dim - dim : dims;
    for (int32_t j = b.from; j < b.n; j++)
      for (int32_t i = 0; i < n_dims; i++) panel[i * 16 + j - key] = widen(k.row(j)[dim + i], k.scale(j));
    const key_piece<float> piece = {panel,   0,      key, 16, dim, n_dims, dim == 0, dim + n_dims == head_dim,
                                    nullptr, nullptr};
    score_piece_by_keys<V>(t, piece);
  }
}

// Keys as lanes, or none. Of what is far away the next block is fetched meanwhile, some keys at a time (key_lanes.hpp).
template <class V, class T>
static HEED_NOINLINE void score_rows_by_keys(const tile &t, const key_block &b) {
  const stream &s = *t.s;
  key_rows<T> k(s, b);
  if constexpr (V::lanes > 1)
    if (b.n - b.from < V::lanes) return score_few_keys<V>(t, b, k);
  float scales[sizeof(T) == 1 ? block_keys : 1];  // side by side
  if (sizeof(T) == 1) {
    for (int32_t j = b.from; j < b.n; j++) scales[j] = k.scale(j);
    k.scales = scales;
    k.scale_stride = 1;
  }
  const bool even = s.group == 1 || s.q_query_stride == s.group * s.q_head_stride;
  const ptrdiff_t q_stride = s.group == 1 ? s.q_query_stride : s.q_head_stride;
  const bool far = stored_block_is_far<V>(t, b, sizeof(T));
  constexpr int32_t at_once = 32;
  for (int32_t j = b.from, n; j < b.n; j += n) {
    n = far && b.n - j >= at_once + V::lanes ? at_once : b.n - j;
    for (int32_t i = 0; far && i < n; i++)
      for (int32_t at = 0; at < s.head_dim; at += 64 / static_cast<int32_t>(sizeof(T)))
        __builtin_prefetch(k.row(block_keys + j + i) + at, 0, 2);
    row_cursor row(s, t.first_row);
    for (int32_t r = 0, rows; r < t.n_rows; r += rows) {
      rows = even || s.group - row.head > t.n_rows - r ? t.n_rows - r : s.group - row.head;
      project_keys<V>(t, k, row.q(), q_stride, r, rows, j, n);
      for (int32_t i = 0; i < rows; i++) row.next();
    }
  }
  const typename V::reg c = V::set(s.c);
  for (int32_t r = 0; r < t.n_rows; r++)
    for (float *x = t.scores + r * block_keys + b.from / 16 * 16; x < t.scores + r * block_keys + b.n; x += V::lanes)
      V::store(x, V::mul(V::load(x), c));
}

// Queries as lanes: keys widened part by part on the stack, in long chains, begun once if possible.
template <class V, class T>
static HEED_NOINLINE void score_rows_by_queries(const tile &t, const key_block &b) {
  constexpr int32_t keys = 8, dims = V::compact ? 32 : 64;
  const int32_t head_dim = t.s->head_dim;
  const key_rows<T> k(*t.s, b);
  float panel[keys * dims];
  for (int32_t key = b.from / keys * keys; key < b.n; key += keys) {
    const int32_t n_keys = b.n - key < keys ? b.n - key : keys;
    for (int32_t dim = 0; dim < head_dim; dim += dims) {
      const int32_t n_dims = head_dim - dim < dims ? head_dim - dim : dims;
      for (int32_t j = key < b.from ? b.from : key; j < key + n_keys; j++)
        widen_row<V>(panel + (j - key) * dims, k.row(j) + dim, n_dims, k.scale(j));
      score_piece_by_queries<V, true>(
          t, b, {panel, dims, key, n_keys, dim, n_dims, dim == 0, dim + n_dims == head_dim, nullptr, nullptr});
    }
  }
}

// x = q k^T * c of narrow queries, or keys, or both.
template <class V>
static HEED_NOINLINE void score_narrow(const tile &t, const key_block &b) {
  const score_rule &rule = *t.s->rule;
  const int32_t format = rule.stored->key_format;
  if (!t.lanes_are_queries && !t.s->q) return score_by_elements<V>(t, b);
  if (rule.score_keys) return rule.score_keys(t, b);
  if constexpr (V::lanes == 1) {
    if (format == stored_f32) return one_lane<V, false>::score(t, b);
  } else {
    if (format == stored_f32) return t.lanes_are_queries ? query_lanes<V>::score(t, b) : key_lanes<V>::score(t, b);
    if (t.lanes_are_queries)
      return with_narrow_format(format, [&](auto number) { score_rows_by_queries<V, decltype(number)>(t, b); });
  }
  with_narrow_format(format, [&](auto number) { score_rows_by_keys<V, decltype(number)>(t, b); });
}

}  // namespace heed

#endif
