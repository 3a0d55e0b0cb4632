// All of a kernel for a register of one float: processors without vectors. With one lane there is no axis to choose:
// scores, sums and projections are the same product in register tiles of scalars, computed where the caller's data
// lies, so that the smallest workspace is as fast as any. Code is kept small: tiles have two heights, the full one and
// one row, and there is one exponential.
#ifndef HEED_GENERIC_ONE_LANE_HPP
#define HEED_GENERIC_ONE_LANE_HPP

#include "one_lane_product.hpp"
#include "one_lane_numbers.hpp"

namespace heed {

// Where a row's parts lie; a division each time, which is little code.
[[maybe_unused]] static HEED_NOINLINE const float *query_of(const tile &t, int32_t r) {
  return row_cursor(*t.s, t.first_row + r).q();
}
[[maybe_unused]] static HEED_NOINLINE float *output_of(const tile &t, int32_t r) {
  return row_cursor(*t.s, t.first_row + r).out();
}

// Scores of a block for the rows of one register tile, [row][64], added to zeros. The caller has p on its stack, since
// the frame of this function is gone when the tile is computed.
template <class V, bool PLAIN>
static HEED_NOINLINE void score_one_lane(product &p, const tile &t, const key_block &b, int32_t r, int32_t rows) {
  const stream &s = *t.s;
  const int32_t from = PLAIN ? 0 : b.from;
  for (int32_t i = 0; i < rows; i++) p.a[i] = query_of(t, r + i);
  p.b = s.k.from(b.begin + from);
  p.b_depth = 1;
  p.b_col = s.k.stride;
  p.acc = t.scores + r * block_keys + from;
  p.acc_stride = block_keys;
  p.depth = s.head_dim;
  p.n_cols = b.n - from;
  if (!PLAIN && V::sum_vecs > 1 && from + round_up<V::sum_vecs>(p.n_cols) > block_keys)
    return multiply_exactly<V, keys_operand>(p, rows);
  multiply<V, keys_operand>(p, rows);
}

// acc += p v for keys [from, to) of a block.
template <class V>
static HEED_NOINLINE void add_values(product &p, const tile &t, const key_block &b, int32_t r, int32_t rows,
                                     int32_t from, int32_t to) {
  const stream &s = *t.s;
  if (from >= to) return;
  p.a[0] = t.scores + r * block_keys + from;
  HEED_UNROLL for (int i = 1; i < V::sum_rows; i++) p.a[i] = p.a[0] + i * block_keys;
  p.b = s.v.from(b.begin + from);
  p.b_depth = s.v.stride;
  p.b_col = 1;
  p.acc = t.chunk.acc + r * t.acc_stride;
  p.acc_stride = t.acc_stride;
  p.depth = to - from;
  p.n_cols = s.v_dim;
  if (values_operand == operand::any)
    multiply<V, values_operand>(p, rows);
  else
    multiply_exactly<V, values_operand>(p, rows);
}

// Where products are calls of functions, a pass of its own costs less than products by 1 of numbers that have their c.
constexpr bool scales_with_maximum = most_product_rows > 1;

// y = x * c, which is otherwise done before, and the greatest of m and these; NaN are passed over.
template <class V>
static HEED_NOINLINE float logits_one_lane(float *y, const float *x, int32_t n, float c, float m) {
  if constexpr (V::own_tile) {
    const int32_t whole = n & ~3;
    if (whole > 0) m = V::logits_of_fours(y, x, whole / 4, c, m);
    n -= whole;
    y += whole;
    x += whole;
  }
  if (n <= 0) return m;
  do {
    const float logit = scales_with_maximum ? *x * c : *x;
    m = V::max(logit, m);
    if (scales_with_maximum) *y++ = logit;
    x++;
  } while (--n > 0);
  return m;
}

// Maximum, exponentials, sums of the keys of a block that one row sees; acc is multiplied by alpha, unless it and the
// sums are of nothing. Scores may have been multiplied by c.
template <class V>
static HEED_NOINLINE void softmax_step(const tile &t, int32_t r, int32_t first, int32_t n, bool scaled, bool begins) {
  float *const x = t.scores + r * block_keys + first;
  float *const alpha = t.alpha + r, *const m = t.chunk.m + r, *const sums = t.sums + r * n_sums;
  *alpha = *m;
  const float c = scaled ? 1.0f : t.s->c;
  *m = logits_one_lane<V>(x, x, n, c, *m);
  if (!begins) {
    exponentials_one_lane<V>(alpha, 1, t.shift + r, 0, *m);
    scale_one_lane(sums, sums, n_sums, *alpha);
    if (*alpha != 1.0f) {
      float *const acc = t.chunk.acc + r * t.acc_stride;
      scale_one_lane(acc, acc, t.s->v_dim, *alpha);
    }
  }
  exponentials_one_lane<V>(x, n, sums, first, *m);
}

// The halving tree over n numbers, n at least 16: as a loop, and where numbers have registers the last 16 in these.
template <class V>
static HEED_NOINLINE float tree_one_lane(float *sums, int32_t n) {
  constexpr int32_t in_registers = scales_with_maximum ? n_sums / 2 : 0;
  while ((n /= 2) > in_registers)
    for (int32_t i = 0; i < n; i++) sums[i] += sums[i + n];
  if constexpr (V::own_tile) return V::tree_of_16(sums);
  if (in_registers == 0) return sums[0];
  float half[n_sums / 2];
  HEED_UNROLL for (int i = 0; i < n_sums / 2; i++) half[i] = sums[i] + sums[i + n_sums / 2];
  HEED_UNROLL for (int m = n_sums / 4; m > 0; m /= 2) {
    HEED_UNROLL for (int i = 0; i < m; i++) half[i] += half[i + m];
  }
  return half[0];
}

// acc += p v for the rows of one register tile: the keys that all of them see, and before and after each row's others.
template <class V>
HEED_INLINE void add_tile(product &p, const tile &t, const key_block &b, int32_t r, int32_t rows) {
  const int32_t last = clip_to(b, t.last[r]), latest = clip_to(b, t.first[r + rows - 1]),
                first = smaller_of(latest, last);
  for (int32_t i = r; i < r + rows; i++) add_values<V>(p, t, b, i, 1, clip_to(b, t.first[i]), first);
  add_values<V>(p, t, b, r, rows, first, last);
  for (int32_t i = r; i < r + rows; i++) {
    const int32_t from = clip_to(b, t.first[i]);
    add_values<V>(p, t, b, i, 1, larger_of(from, last), clip_to(b, t.last[i]));
  }
}

// Are scores multiplied by c before their maximum is taken? A rule wants them so.
template <bool PLAIN>
HEED_INLINE bool scaled_one_lane(const tile &t) {
  return !scales_with_maximum || (!PLAIN && t.s->rule);
}

template <class V, bool PLAIN>
struct one_lane {
  using held = const tile &;

  static HEED_INLINE void begin(const tile &t) {
    // and acc, which follows
    clear_one_lane<V>(t.sums, (n_sums + t.acc_stride) * t.n_rows);
    for (int32_t r = 0; r < t.n_rows; r++) t.chunk.m[r] = negative_infinity;
  }
  static HEED_INLINE void score(const tile &t, const key_block &b) {
    clear_one_lane<V>(t.scores, block_keys * t.n_rows);
    product p;
    for (int32_t r = 0, rows; r < t.n_rows; r += rows) {
      rows = tile_height(t.n_rows - r, V::sum_rows);
      score_one_lane<V, PLAIN>(p, t, b, r, rows);
    }
    if (!scaled_one_lane<PLAIN>(t)) return;
    const int32_t from = PLAIN ? 0 : b.from;
    float *x = t.scores + from;
    for (int32_t r = 0; r < t.n_rows; r++, x += block_keys) scale_one_lane(x, x, b.n - from, t.s->c);
  }
  static HEED_INLINE void softmax(const tile &t, const key_block &b) {
    const bool whole = PLAIN || all_see(t, b);
    const int32_t from = PLAIN ? 0 : b.from;
    for (int32_t r = 0; r < t.n_rows; r++) {
      const key_range seen = whole ? key_range{from, b.n} : seen_of_block(t, b, r);
      softmax_step<V>(t, r, seen.first, seen.last - seen.first, scaled_one_lane<PLAIN>(t), b.first);
    }
  }
  static HEED_INLINE void add(const tile &t, const key_block &b) {
    const bool whole = PLAIN || all_see(t, b);
    const int32_t from = PLAIN ? 0 : b.from;
    product p;
    for (int32_t r = 0, rows; r < t.n_rows; r += rows) {
      rows = tile_height(t.n_rows - r, V::sum_rows);
      if (whole)
        add_values<V>(p, t, b, r, rows, from, b.n);
      else
        add_tile<V>(p, t, b, r, rows);
    }
  }
  static HEED_INLINE void end(const tile &t, bool) {
    for (int32_t r = 0; r < t.n_rows; r++) t.chunk.l[r] = tree_one_lane<V>(t.sums + r * n_sums, n_sums);
  }
};

template <class V>
static void merge_one_lane(const tile &t, bool first) {
  for (int32_t r = 0; r < t.n_rows; r++) {
    float *out = output_of(t, r), *m_total = t.total.m + r, *l_total = t.total.l + r;
    const float *acc = t.chunk.acc + r * t.acc_stride, m_chunk = t.chunk.m[r], l_chunk = t.chunk.l[r];
    if (first) {
      *m_total = m_chunk;
      *l_total = l_chunk;
      scale_one_lane(out, acc, t.s->v_dim, 1.0f);
    } else {
      const float m = V::max(m_chunk, *m_total), a = exp2_one_lane<V>(*m_total, m), b = exp2_one_lane<V>(m_chunk, m);
      for (int32_t i = 0; i < t.s->v_dim; i++) out[i] = V::fma(acc[i], b, out[i] * a);
      *l_total = V::fma(l_chunk, b, *l_total * a);
      *m_total = m;
    }
  }
}

template <class V>
static void finish_one_lane(const tile &t, const partial &p) {
  const float *acc = p.acc;
  for (int32_t r = 0; r < t.n_rows; r++, acc += t.acc_stride) {
    float *out = output_of(t, r);
    if (!p.acc) acc = out;
    const float factor = reciprocal_of_row(p.l[r]);
    int32_t n = t.s->v_dim;
    const float *from = acc;
    if constexpr (V::own_tile) {
      const int32_t whole = n & ~3;
      if (whole > 0) V::scale_fours(out, from, whole / 4, factor, 0.0f);
      n -= whole;
      out += whole;
      from += whole;
      if (n == 0) continue;
    }
    do *out++ = *from++ * factor + 0.0f;  // a zero is +0
    while (--n > 0);
  }
}

template <class V>
static HEED_NOINLINE void softmax_one_lane(const softmax_rows &b) {
  const int32_t n = b.dim;
  for (int32_t r = 0; r < b.n_rows; r++) {
    const float *x = b.x + r * b.x_stride;
    float *const y = b.y + r * b.y_stride;
    float sums[n_sums] = {};
    if (!scales_with_maximum) scale_one_lane(y, x, n, b.c), x = y;
    const float m = logits_one_lane<V>(y, x, n, b.c, b.sink);
    exponentials_one_lane<V>(y, n, sums, 0, m);
    scale_one_lane(y, y, n, reciprocal_of_row(tree_one_lane<V>(sums, n_sums) + exp2_one_lane<V>(b.sink, m)));
  }
}

template <class V>
static float dot_one_lane(const float *a, const float *b, int32_t n) {
  float sums[n_dot_sums];
  for (int32_t u = 0; u < n_dot_sums; u++) {
    sums[u] = 0.0f;
    for (int32_t i = u; i < n; i += n_dot_sums) sums[u] = V::fma(a[i], b[i], sums[u]);
  }
  return tree_one_lane<V>(sums, n_dot_sums);
}

}  // namespace heed

#endif
