// Queries and keys that are rows of narrow numbers. Queries are widened once for a tile; keys on their way to the
// scores of few rows, or part by part on the stack for many.
#ifndef HEED_GENERIC_NARROW_ROWS_HPP
#define HEED_GENERIC_NARROW_ROWS_HPP

#include "../../kernel_contract/stored_elements.hpp"
#include "key_lanes.hpp"
#include "../../no_vectors/one_lane_project.hpp"
#include "../product/project.hpp"
#include "query_lanes.hpp"
#include "stored_keys.hpp"

namespace heed {

// to[0, n) = numbers from element `first` on, of any narrow format. scale: of int8.
template <class V>
static HEED_NOINLINE void widen_any(float *to, const void *from, int32_t dtype, ptrdiff_t first, int32_t n,
                                    float scale) {
  with_narrow_format(
      dtype, [&](auto number) { widen_row<V>(to, static_cast<const decltype(number) *>(from) + first, n, scale); });
}

// Columns [begin, begin + n) of a query.
template <class V>
static void widen_query(float *to, const stream &s, const row_cursor &row, int32_t begin, int32_t n) {
  const narrow_rows &q = s.rule->stored->queries;
  const float scale = q.dtype == stored_int8 ? *row_of<float>(q.scales, s, row) : 0.0f;
  widen_any<V>(to, q.numbers.data, q.dtype, start_of(q.numbers, s, row) + begin, n, scale);
}

// A tile's queries: to qt where they are lanes, else to rows of head_dim floats.
template <class V>
static void widen_queries(const tile &t, float *to) {
  const stream &s = *t.s;
  if constexpr (V::lanes > 1)
    if (t.lanes_are_queries) {
      for (int32_t r = 0; r < t.n_rows; r += V::lanes)
        transpose_copies<V>(t, r, [&](float *y, const row_cursor &row, int32_t begin, int32_t n) {
          widen_query<V>(y, s, row, begin, n);
        });
      return;
    }
  row_cursor row(s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next(), to += s.head_dim) widen_query<V>(to, s, row, 0, s.head_dim);
}

// Where the workspace has no room for a row of widened queries: number by number.
template <class V>
static HEED_COLD void score_by_elements(const tile &t, const key_block &b) {
  const stream &s = *t.s;
  row_cursor row(s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next())
    for (int32_t j = b.from; j < b.n; j += V::lanes) {
      const int32_t n = smaller_of(b.n - j, V::lanes);
      float lanes[V::lanes];
      typename V::reg dots = V::set(0.0f);
      for (int32_t i = 0; i < s.head_dim; i++) {
        for (int32_t l = 0; l < V::lanes; l++) lanes[l] = key_element(s, b.begin + j + smaller_of(l, n - 1), i);
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
        scale_stride(s.rule->stored->key_scales.row_stride) {
    if (sizeof(T) == 1) scales = scales_of(s, s.rule->stored->key_scales) + b.begin * scale_stride;
  }
  HEED_INLINE const T *row(ptrdiff_t j) const { return data + j * stride; }
  HEED_INLINE float scale(int32_t j) const { return sizeof(T) == 1 ? scales[j * scale_stride] : 0.0f; }
};

// No lanes: x = q k^T is a projection whose weights are the keys, an output each.
template <class V, class T>
static HEED_NOINLINE void score_rows_one_lane(const tile &t, const key_block &b) {
  const stream &s = *t.s;
  const key_rows<T> k(s, b);
  float scales[sizeof(T) == 1 ? block_keys : 1];  // side by side
  for (int32_t j = b.from; sizeof(T) == 1 && j < b.n; j++) scales[j] = k.scale(j);
  const bool even = s.group == 1 || s.q_query_stride == s.group * s.q_head_stride;
  const ptrdiff_t q_stride = s.group == 1 ? s.q_query_stride : s.q_head_stride;
  const float *const scales_of_keys = sizeof(T) == 1 ? scales + b.from : scales;
  row_cursor row(s, t.first_row);
  for (int32_t r = 0, rows; r < t.n_rows; r += rows) {
    rows = even || s.group - row.head > t.n_rows - r ? t.n_rows - r : s.group - row.head;
    float *const x = t.scores + r * block_keys + b.from;
    project_one_lane_format<V, T>(
        {row.q(), q_stride, nullptr, 0, nullptr, x, block_keys, rows, s.head_dim, b.n - b.from},
        {k.row(b.from), scales_of_keys, k.stride, s.rule->stored->key_format, true});
    for (int32_t i = 0; i < rows; i++, row.next()) {
      float *const of_row = x + i * block_keys;
      scale_one_lane(of_row, of_row, b.n - b.from, s.c);
    }
  }
}

// Columns [dim, + n_dims) of keys [key, + n): 16 side by side, as in a cache, `dims` columns of each 16 after another;
// fewer than a register of them from key `at` of the first 16 on.
template <class V, class T>
static HEED_NOINLINE void transpose_keys(float *panel, int32_t dims, const key_rows<T> &k, int32_t key, int32_t n,
                                         int32_t dim, int32_t n_dims, int32_t at) {
  for (int32_t j = 0; n < V::lanes && j < n; j++)
    for (int32_t i = 0; i < n_dims; i++) panel[i * 16 + at + j] = widen(k.row(key + j)[dim + i], k.scale(key + j));
  for (int32_t j = 0; n >= V::lanes && j < n; j += V::lanes) {
    float scales[V::lanes] = {};
    for (int32_t l = 0; sizeof(T) == 1 && l < V::lanes; l++) scales[l] = k.scale(key + j + l);
    transpose_rows<V>(panel + j / 16 * 16 * dims + j % 16, 16, k.row(key + j) + dim, k.stride, n_dims, V::load(scales));
  }
}

// Scores of keys [key, key + n), n at most 64 and a multiple of the lanes, or less than those: a part of their columns
// at a time is transposed on the stack.
template <class V>
static HEED_NOINLINE void score_transposed(const tile &t, const key_block &b, int32_t key, int32_t n, bool far) {
  constexpr int32_t room = panel_floats<V>(), dims = room / block_keys;
  const stream &s = *t.s;
  const bool few = n < V::lanes;  // they may not begin where a register would leave the row of scores
  const int32_t begin = few && key > block_keys - 16 ? block_keys - 16 : key;
  float panel[room];
  if (few) __builtin_memset(panel, 0, sizeof panel);
  for (int32_t dim = 0; dim < s.head_dim; dim += dims) {
    const int32_t n_dims = smaller_of(s.head_dim - dim, dims);
    with_narrow_format(s.rule->stored->key_format, [&](auto number) {
      const key_rows<decltype(number)> k(s, b);
      for (int32_t j = 0; far && j < n; j++) __builtin_prefetch(k.row(block_keys + key + j) + dim, 0, 2);
      transpose_keys<V>(panel, dims, k, key, n, dim, n_dims, key - begin);
    });
    const int32_t keys = few ? 16 : n;
    score_piece_by_keys<V>(t, key_piece<float>{panel, 16 * dims, begin, keys, dim, n_dims, dim == 0,
                                               dim + n_dims == s.head_dim, nullptr, nullptr});
  }
}

// Keys as lanes. The last register overlaps its neighbour, whose scores it computes again.
template <class V>
static void score_rows_by_keys(const tile &t, const key_block &b) {
  const int32_t key_bytes = t.s->rule->stored->key_format == stored_int8 ? 1 : 2;
  const bool far = stored_block_is_far<V>(t, b, key_bytes);
  const int32_t n = b.n - b.from, whole = n / V::lanes * V::lanes;
  if (whole == 0) return score_transposed<V>(t, b, b.from, n, far);
  score_transposed<V>(t, b, b.from, whole, far);
  if (whole < n) score_transposed<V>(t, b, b.n - V::lanes, V::lanes, far);
}

// Queries as lanes: keys widened part by part on the stack, in long chains, begun once if possible.
template <class V>
static HEED_NOINLINE void score_rows_by_queries(const tile &t, const key_block &b) {
  constexpr int32_t keys = 8, dims = V::compact ? 32 : 64;
  const stream &s = *t.s;
  const storage &at = *s.rule->stored;
  const bool scaled = at.key_format == stored_int8;
  const float *const scales = scaled ? scales_of(s, at.key_scales) : nullptr;
  float panel[keys * dims];
  for (int32_t key = b.from / keys * keys; key < b.n; key += keys) {
    const int32_t n_keys = smaller_of(b.n - key, keys);
    for (int32_t dim = 0; dim < s.head_dim; dim += dims) {
      const int32_t n_dims = smaller_of(s.head_dim - dim, dims);
      for (int32_t j = larger_of(key, b.from); j < key + n_keys; j++) {
        const ptrdiff_t row = b.begin + j;
        const float scale = scaled ? scales[row * at.key_scales.row_stride] : 0.0f;
        widen_any<V>(panel + (j - key) * dims, s.k.data, at.key_format, row * s.k.stride + dim, n_dims, scale);
      }
      score_piece_by_queries<V, true>(
          t, b, {panel, dims, key, n_keys, dim, n_dims, dim == 0, dim + n_dims == s.head_dim, nullptr, nullptr});
    }
  }
}

// x = q k^T * c of narrow queries, or keys, or both.
template <class V>
static HEED_NOINLINE void score_narrow(const tile &t, const key_block &b) {
  const score_rule &rule = *t.s->rule;
  const int32_t dtype = rule.stored->key_format;
  if (!t.lanes_are_queries && !t.s->q) return score_by_elements<V>(t, b);
  if (rule.score_keys) return rule.score_keys(t, b);
  if constexpr (V::lanes == 1) {
    if (dtype == stored_f32) return one_lane<V, false>::score(t, b);
  } else {
    if (dtype == stored_f32) return t.lanes_are_queries ? query_lanes<V>::score(t, b) : key_lanes<V>::score(t, b);
    if (t.lanes_are_queries) return score_rows_by_queries<V>(t, b);
  }
  if constexpr (V::lanes == 1)
    with_narrow_format(dtype, [&](auto number) { score_rows_one_lane<V, decltype(number)>(t, b); });
  else
    score_rows_by_keys<V>(t, b);
}

}  // namespace heed

#endif
