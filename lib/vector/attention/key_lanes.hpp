// Attention of one tile over one chunk with keys as lanes: for few rows (decoding, and rows left over by
// query_lanes.hpp), and with the smallest workspace. Keys are transposed in registers, 4 columns at a time; scores are
// [row][64].
#ifndef HEED_GENERIC_KEY_LANES_HPP
#define HEED_GENERIC_KEY_LANES_HPP

#include "copied_rows.hpp"

namespace heed {

// Scores of VECS registers of keys for ROWS rows, of columns [0, head_dim), a multiple of 4. Unless null, `ahead` is
// the same place in the next block, fetched a few lines at each step.
template <class V, int ROWS, int VECS>
HEED_INLINE void score_keys(const float *const (&q)[8], const float *k, ptrdiff_t k_stride, int32_t head_dim, float c,
                            float *const (&scores)[8], int32_t at, const float *ahead) {
  typename V::reg dots[ROWS][VECS];
  HEED_UNROLL for (int r = 0; r < ROWS; r++) { HEED_UNROLL for (int v = 0; v < VECS; v++) dots[r][v] = V::set(0.0f); }
  for (int32_t i = 0; i < head_dim; i += 4) {
    typename V::reg factors[ROWS];  // if they are taken from registers
    if (V::factors_at_once == 4) HEED_UNROLL for (int r = 0; r < ROWS; r++) factors[r] = V::load(q[r] + i);
    HEED_UNROLL for (int v = 0; v < VECS; v++) {
      typename V::reg columns[4];
      V::transpose4(k + v * V::lanes * k_stride + i, k_stride, columns);
      if (ahead) {
        constexpr int rows = V::lanes >= 4 ? V::lanes / 4 : 1;
        const float *lines = ahead + (v * V::lanes + i / 4 % 4 * rows) * k_stride + i / 16 * 16;
        HEED_UNROLL for (int u = 0; u < rows; u++) __builtin_prefetch(lines + u * k_stride, 0, 2);
      }
      for_each_constant<4>([&](auto of) HEED_INLINED {
        constexpr int u = decltype(of)::value;
        HEED_UNROLL for (int r = 0; r < ROWS; r++) {
          if constexpr (V::factors_at_once == 4)
            dots[r][v] = V::template fma_factor<u>(factors[r], columns[u], dots[r][v]);
          else
            dots[r][v] = V::fma(V::factor(q[r][i + u]), columns[u], dots[r][v]);
        }
      });
    }
  }
  const typename V::reg factor = V::set(c);
  HEED_UNROLL for (int r = 0; r < ROWS; r++) {
    HEED_UNROLL for (int v = 0; v < VECS; v++) V::store(scores[r] + at + v * V::lanes, V::mul(dots[r][v], factor));
  }
}

// The same of columns from `column` on, which go on with the chains in `scores`, for n_keys keys, a register or less.
// Some columns of the keys are copied, so that there are as many rows to transpose as lanes; fewer than 4 go one by one.
template <class V>
static HEED_NOINLINE void score_columns(const float *const (&q)[8], int32_t n_rows, const float *k, ptrdiff_t k_stride,
                                        int32_t n_keys, int32_t column, int32_t head_dim, float c,
                                        float *const (&scores)[8], int32_t at) {
  constexpr int32_t wide = V::compact ? 4 : 16;
  for (int32_t i = column, n; i < head_dim; i += n) {
    n = smaller_of(head_dim - i, wide);
    float columns[wide][V::lanes];
    for (int32_t u = 0; n < 4 && u < n; u++)
      for (int32_t l = 0; l < V::lanes; l++) columns[u][l] = l < n_keys ? k[l * k_stride + i + u] : 0.0f;
    if (n >= 4) {
      float copy[V::lanes][wide] = {};
      for (int32_t l = 0; l < n_keys; l++) copy_row<V>(copy[l], k + l * k_stride + i, n);
      for (int32_t u = 0; u < n; u += 4) {
        typename V::reg four[4];
        V::transpose4(copy[0] + u, wide, four);
        HEED_UNROLL for (int32_t j = 0; j < 4; j++) V::store(columns[u + j], four[j]);
      }
    }
    for (int32_t r = 0; r < n_rows; r++) {
      float *const x = scores[r] + at;
      typename V::reg dots = i > 0 ? V::load_n(x, n_keys) : V::set(0.0f);
      for (int32_t u = 0; u < n; u++) dots = V::fma(V::factor(q[r][i + u]), V::load(columns[u]), dots);
      if (i + n >= head_dim) dots = V::mul(dots, V::set(c));
      V::store_n(x, dots, n_keys);
    }
  }
}

// Scores of a block for ROWS rows from `row`; rows beyond the tile repeat its last one.
template <class V, int ROWS>
static HEED_NOINLINE void score_row_group(const tile &t, int32_t row, const key_block &b) {
  const stream &s = *t.s;
  // 8 chains of fma keep two units of latency 4 busy; one row alone waits for memory, or for its transposes.
  constexpr int vecs = ROWS == 8 ? 1 : 2;
  const float *q[8];
  float *scores[8];
  row_cursor cursor(s, t.first_row + row);
  for (int32_t r = 0; r < ROWS; r++) {
    const int32_t use = smaller_of(row + r, t.n_rows - 1);
    q[r] = cursor.q();
    scores[r] = t.scores + use * block_keys;
    if (use + 1 < t.n_rows) cursor.next();
  }
  const float *keys = s.k.from(b.begin);
  const float *ahead = row == 0 && block_is_far(t, b, 4) ? s.k.from(b.begin + block_keys) : nullptr;
  const ptrdiff_t stride = s.k.stride;
  const int32_t n_rows = smaller_of(t.n_rows - row, ROWS), n_keys = b.n - b.from;
  const int32_t head_dim = s.head_dim, by_four = head_dim / 4 * 4;
  const float c = by_four == head_dim ? s.c : 1.0f;
  const auto score = [&](auto registers, int32_t j) {
    constexpr int of_keys = decltype(registers)::value;
    score_keys<V, ROWS, of_keys>(q, keys + j * stride, stride, by_four, c, scores, j,
                                 offset_or_null(ahead, j * stride));
    for (int32_t v = 0; v < of_keys * V::lanes && by_four < head_dim; v += V::lanes)
      score_columns<V>(q, n_rows, keys + (j + v) * stride, stride, V::lanes, by_four, head_dim, s.c, scores, j + v);
  };
  if (n_keys < V::lanes)
    return score_columns<V>(q, n_rows, keys + b.from * stride, stride, n_keys, 0, head_dim, s.c, scores, b.from);
  int32_t j = b.from;
  for (; j + vecs * V::lanes <= b.n; j += vecs * V::lanes) score(constant<vecs>(), j);
  // The last register overlaps its neighbour, whose scores it computes again.
  for (; j < b.n; j += V::lanes) score(constant<1>(), smaller_of(j, b.n - V::lanes));
}

template <class V>
HEED_INLINE void score_key_block(const tile &t, const key_block &b) {
  each_group<!V::compact>(t.n_rows, [&](auto rows, int32_t row) {  // two rows cost what four cost: the transposes
    score_row_group<V, decltype(rows)::value>(t, row, b);
  });
}

// x[0, n) of x[0, 16) become -infinity, or with `last` x[n, 16). One by one they would be slow to load as a register.
template <class V>
HEED_INLINE void hide_ends(float *x, int32_t n, bool last) {
  if constexpr (V::compact) {
    for (int32_t j = last ? n : 0; j < (last ? n_sums : n); j++) x[j] = negative_infinity;
  } else {
    static constexpr float signs[3 * n_sums] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                                1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,
                                                -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    const float *of_n = signs + (last ? 2 * n_sums : n_sums) - n;
    for (int32_t j = 0; j < n_sums; j += V::lanes)
      V::store(x + j, V::if_negative(V::load(of_n + j), V::set(negative_infinity), V::load(x + j)));
  }
}

// One row of a block: maximum, alpha, exponentials in place, sums. x: [64], of which [from, to) are visible.
template <class V>
HEED_INLINE void row_softmax_step(const tile &t, int32_t r, int32_t from, int32_t to, bool first) {
  float *const x = t.scores + r * block_keys, *const sums = t.sums + r * n_sums;
  const int32_t begin = from / n_sums * n_sums, end = (to + n_sums - 1) / n_sums * n_sums;
  if (from > begin) hide_ends<V>(x + begin, from - begin, false);  // whole registers; these add +0
  if (to < end) hide_ends<V>(x + end - n_sums, to + n_sums - end, true);
  const typename V::reg old = V::set(t.chunk.m[r]);
  typename V::reg m = old;
  for (int32_t j = begin; j < to; j += V::lanes) m = V::max(V::load(x + j), m);
  const float maximum = max_of_lanes<V>(m);
  const typename V::reg shift = finite_maximum<V>(V::set(maximum));
  t.chunk.m[r] = maximum;
  if (!first) {  // else sums and accumulator are of nothing
    const typename V::reg alpha = exp2_nonpositive<V>(V::sub(old, shift));
    t.alpha[r] = first_lane<V>(alpha);
    for (int32_t i = 0; i < n_sums; i += V::lanes) V::store(sums + i, V::mul(V::load(sums + i), alpha));
  }
  add_exponentials<V>(x + begin, end - begin, sums,
                      [=](const float *p) HEED_INLINED { return V::sub(V::load(p), shift); });
}

template <class V>
struct key_lanes {
  using held = const tile &;

  static HEED_INLINE void begin(const tile &t) {
    for (int32_t r = 0; r < t.n_rows; r++) t.chunk.m[r] = negative_infinity;
    for (int32_t i = 0; i < n_sums * t.n_rows; i++) t.sums[i] = 0.0f;
  }
  static HEED_INLINE void score(const tile &t, const key_block &b) { score_key_block<V>(t, b); }
  static HEED_INLINE void softmax(const tile &t, const key_block &b) {
    for (int32_t r = 0; r < t.n_rows; r++) {
      const key_range seen = seen_of_block(t, b, r);
      row_softmax_step<V>(t, r, seen.first, seen.last, b.first);
    }
  }
  static HEED_INLINE void add(const tile &t, const key_block &b) {
    add_block<V>(t, b, block_keys, 1, block_is_far(t, b, 4));
  }
  static HEED_INLINE void end(const tile &t, bool empty) {
    if (empty) clear_rows(t);
    for (int32_t r = 0; r < t.n_rows; r++) t.chunk.l[r] = tree_sum<V>(t.sums + r * n_sums, n_sums);
    close_gap<V>(t);
  }
};

}  // namespace heed

#endif
