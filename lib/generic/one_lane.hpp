// All of a kernel for a register of one float: processors without vectors. With one lane there is no axis to choose:
// scores are register tiles of rows times keys, sums of rows times columns, computed where the caller's data lies. The
// smallest workspace is therefore as fast as any. Code is kept small: tiles have two heights, the full one and one row,
// and there is one exponential.
#ifndef HEED_GENERIC_ONE_LANE_HPP
#define HEED_GENERIC_ONE_LANE_HPP

#include "attend.hpp"

namespace heed {

// x = exp2(x - shift) for n numbers, number i added to sums[i mod 16].
template <class V>
static HEED_NOINLINE void exponentials_one_lane(float *x, int32_t n, float *sums, float shift) {
  for (int32_t i = 0; i < n_sums && i < n; i++) {
    float sum = sums[i];
    for (int32_t j = i; j < n; j += n_sums) sum = V::add(sum, x[j] = exp2_nonpositive<V>(x[j] - shift));
    sums[i] = sum;
  }
}

template <class V>
static float exp2_one_lane(float x, float shift) {
  float unused = 0.0f;
  exponentials_one_lane<V>(&x, 1, &unused, shift);
  return x;
}

// acc (rows, columns) += a (rows, depth) b (depth, columns), rows of a contiguous.
struct scalar_operands {
  const float *a;
  ptrdiff_t a_row;
  const float *b;
  ptrdiff_t b_stride;
  float *acc;
  ptrdiff_t acc_stride;
  int32_t depth;
};

static inline HEED_NOINLINE void scale_one_lane(float *y, const float *x, int32_t n, float factor) {
  for (int32_t i = 0; i < n; i++) y[i] = x[i] * factor;
}

// Dots of ROWS rows and n keys, KEYS at a time. Past the end of the keys the last one is repeated.
template <class V, int ROWS, int KEYS>
static HEED_NOINLINE void score_one_lane(row_cursor &row, const float *keys, ptrdiff_t k_stride, int32_t n, int32_t dim,
                                         float *scores) {
  const float *q[ROWS], *k[KEYS];
  HEED_UNROLL for (int r = 0; r < ROWS; r++, row.next()) q[r] = row.q();
  for (; n > 0; scores += KEYS) {
    HEED_UNROLL for (int j = 0; j < KEYS; j++) {
      k[j] = keys;
      if (--n > 0) keys += k_stride;
    }
    float dots[ROWS][KEYS];
    HEED_UNROLL for (int r = 0; r < ROWS; r++) { HEED_UNROLL for (int j = 0; j < KEYS; j++) dots[r][j] = 0.0f; }
    for (const float *end = k[0] + dim; k[0] != end;) {
      float queries[ROWS];
      HEED_UNROLL for (int r = 0; r < ROWS; r++) queries[r] = *q[r]++;
      HEED_UNROLL for (int j = 0; j < KEYS; j++) {
        const float key = *k[j]++;
        HEED_UNROLL for (int r = 0; r < ROWS; r++) dots[r][j] = V::fma(queries[r], key, dots[r][j]);
      }
    }
    HEED_UNROLL for (int r = 0; r < ROWS; r++) {
      q[r] -= dim;
      HEED_UNROLL for (int j = 0; j < KEYS; j++) scores[r * block_keys + j] = dots[r][j];
    }
  }
}

// acc (ROWS, n_cols) += a b, COLS columns at a time, as many as there are. Returns how many columns are left.
template <class V, int ROWS, int COLS>
static HEED_NOINLINE int32_t sum_one_lane(const scalar_operands &o, int32_t n_cols) {
  const float *columns_of = o.b;
  float *memory = o.acc;
  for (; n_cols >= COLS; n_cols -= COLS, memory += COLS, columns_of += COLS) {
    float acc[ROWS][COLS];
    const float *a[ROWS], *b = columns_of;
    HEED_UNROLL for (int r = 0; r < ROWS; r++) {
      a[r] = o.a + r * o.a_row;
      HEED_UNROLL for (int v = 0; v < COLS; v++) acc[r][v] = memory[r * o.acc_stride + v];
    }
    for (int32_t i = o.depth; i > 0; i--, b += o.b_stride) {
      float columns[COLS];
      HEED_UNROLL for (int v = 0; v < COLS; v++) columns[v] = b[v];
      HEED_UNROLL for (int r = 0; r < ROWS; r++) {
        const float factor = *a[r]++;
        HEED_UNROLL for (int v = 0; v < COLS; v++) acc[r][v] = V::fma(factor, columns[v], acc[r][v]);
      }
    }
    HEED_UNROLL for (int r = 0; r < ROWS; r++) {
      HEED_UNROLL for (int v = 0; v < COLS; v++) memory[r * o.acc_stride + v] = acc[r][v];
    }
  }
  return n_cols;
}

// acc += a b for any number of rows and columns.
template <class V>
static HEED_NOINLINE void sum_rows_one_lane(scalar_operands o, int32_t n_rows, int32_t n_cols) {
  while (n_rows > 0) {
    int32_t rows = 1, left = n_cols;
    if (V::sum_rows > 1 && n_rows >= V::sum_rows) {
      rows = V::sum_rows;
      left = sum_one_lane<V, V::sum_rows, V::sum_vecs>(o, n_cols);
    } else if (V::sum_vecs > 1) {
      left = sum_one_lane<V, 1, V::sum_vecs>(o, n_cols);
    }
    scalar_operands rest = o;
    rest.b += n_cols - left;
    rest.acc += n_cols - left;
    for (n_rows -= rows; rows > 0; rows--) {
      if (left > 0) sum_one_lane<V, 1, 1>(rest, left);
      rest.a += o.a_row, o.a += o.a_row;
      rest.acc += o.acc_stride, o.acc += o.acc_stride;
    }
  }
}

// Keys [0, n) of a block that row r sees.
static inline int32_t visible_in(const tile &t, int32_t r, int32_t begin, int32_t end) {
  const int32_t visible = t.visible[r] < end ? t.visible[r] : end;
  return visible < begin ? 0 : visible - begin;
}

template <class V>
static void attend_one_lane(const tile &t, int32_t key_begin, int32_t key_end) {
  const stream &s = *t.s;
  for (int32_t i = 0; i < (n_sums + t.acc_stride) * t.n_rows; i++) t.sums[i] = 0.0f;  // and acc, which follows
  for (int32_t r = 0; r < t.n_rows; r++) t.m[r] = negative_infinity;
  const int32_t last = t.visible[t.n_rows - 1];
  if (last < key_end) key_end = last;
  for (int32_t begin = key_begin; begin < key_end; begin += block_keys) {
    const int32_t end = key_end - begin < block_keys ? key_end : begin + block_keys;
    row_cursor scored(s, t.first_row), row(s, t.first_row);
    for (int32_t r = 0; r < t.n_rows;) {
      const float *keys = s.k + begin * s.k_stride;
      if (V::sum_rows > 1 && t.n_rows - r >= V::sum_rows) {
        score_one_lane<V, V::sum_rows, V::score_keys>(scored, keys, s.k_stride, end - begin, s.head_dim,
                                                      t.scores + r * block_keys);
        r += V::sum_rows;
      } else {
        score_one_lane<V, 1, V::score_keys>(scored, keys, s.k_stride, end - begin, s.head_dim,
                                            t.scores + r * block_keys);
        r++;
      }
    }
    for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
      float *x = t.scores + r * block_keys, *sums = t.sums + r * n_sums, *acc = t.acc + r * t.acc_stride, m = t.m[r];
      const int32_t n = visible_in(t, r, begin, end);
      scale_one_lane(x, x, n, s.c);
      for (int32_t j = 0; j < n; j++) {
        if (s.weights) row.weights()[begin + j] = x[j];
        m = V::max(x[j], m);
      }
      const float shift = finite_maximum<V>(m), alpha = exp2_one_lane<V>(t.m[r], shift);
      t.m[r] = m;
      scale_one_lane(sums, sums, n_sums, alpha);
      if (begin > key_begin) scale_one_lane(acc, acc, s.v_dim, alpha);
      exponentials_one_lane<V>(x, n, sums, shift);
    }
    // On the causal diagonal rows share the keys that the first of them sees; then each takes its own.
    scalar_operands o = {t.scores, block_keys, s.v + begin * s.v_stride, s.v_stride, t.acc, t.acc_stride, 0};
    for (int32_t r = 0; r < t.n_rows;) {
      int32_t rows = t.n_rows - r;
      o.depth = visible_in(t, r, begin, end);
      if (rows > V::sum_rows && o.depth < end - begin) rows = V::sum_rows;
      sum_rows_one_lane<V>(o, rows, s.v_dim);
      for (const int32_t next = r + rows; r < next; r++, o.a += block_keys, o.acc += t.acc_stride) {
        scalar_operands rest = o;
        rest.depth = visible_in(t, r, begin, end) - o.depth;
        rest.a += o.depth;
        rest.b += o.depth * s.v_stride;
        if (rest.depth > 0) sum_rows_one_lane<V>(rest, 1, s.v_dim);
      }
    }
  }
  for (int32_t r = 0; r < t.n_rows; r++) t.l[r] = tree_sum<V>(t.sums + r * n_sums, n_sums);
}

template <class V>
static void merge_one_lane(const tile &t, int32_t key_begin) {
  const stream &s = *t.s;
  row_cursor row(s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    float *out = row.out(), a = 0.0f, b = 1.0f;
    const float *acc = t.acc + r * t.acc_stride;
    if (key_begin == 0) {
      t.m_total[r] = t.m[r];
      t.l_total[r] = t.l[r];
      scale_one_lane(out, acc, s.v_dim, 1.0f);
    } else if (t.visible[r] > key_begin) {
      const float m = V::max(t.m[r], t.m_total[r]), shift = finite_maximum<V>(m);
      a = exp2_one_lane<V>(t.m_total[r], shift);
      b = exp2_one_lane<V>(t.m[r], shift);
      for (int32_t i = 0; i < s.v_dim; i++) out[i] = V::fma(acc[i], b, out[i] * a);
      t.l_total[r] = V::fma(t.l[r], b, t.l_total[r] * a);
      t.m_total[r] = m;
    }
  }
}

template <class V>
static void finish_one_lane(const tile &t, bool merged) {
  row_cursor row(*t.s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    const float *acc = merged ? row.out() : t.acc + r * t.acc_stride;
    scale_one_lane(row.out(), acc, t.s->v_dim, reciprocal_or_zero(merged ? t.l_total[r] : t.l[r]));
  }
}

template <class V>
static void softmax_one_lane(const float *x, float *y, int32_t n, float c) {
  float m = negative_infinity, sums[n_sums] = {};
  scale_one_lane(y, x, n, c);
  for (int32_t i = 0; i < n; i++) m = V::max(y[i], m);
  exponentials_one_lane<V>(y, n, sums, finite_maximum<V>(m));
  scale_one_lane(y, y, n, reciprocal_or_zero(tree_sum<V>(sums, n_sums)));
}

template <class V>
static void weigh_one_lane(const tile &t) {
  weigh_rows(t, softmax_one_lane<V>);
}

template <class V>
static float dot_one_lane(const float *a, const float *b, int32_t n) {
  float sums[n_dot_sums];
  for (int32_t u = 0; u < n_dot_sums; u++) {
    sums[u] = 0.0f;
    for (int32_t i = u; i < n; i += n_dot_sums) sums[u] = V::fma(a[i], b[i], sums[u]);
  }
  return tree_sum<V>(sums, n_dot_sums);
}

template <class V>
static void linear_one_lane(const linear_block &b) {
  for (int32_t r = 0; r < b.n_rows; r++)
    for (int32_t i = 0; i < b.n_cols; i++) b.y[r * b.y_stride + i] = b.bias ? b.bias[i] : 0.0f;
  sum_rows_one_lane<V>({b.x, b.x_stride, b.w, b.w_stride, b.y, b.y_stride, b.depth}, b.n_rows, b.n_cols);
}

}  // namespace heed

#endif
