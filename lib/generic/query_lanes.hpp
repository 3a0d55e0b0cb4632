// Attention of one tile over one chunk with queries as lanes: for many rows. Nothing is ever summed across lanes.
//
// Queries are transposed once into qt[i][row]. Per block of 64 keys: scores[key][row] = x, with elements of k broadcast
// straight from memory (packing k for each tile would cost 10 %); then maximum, exponentials and sums lane by lane;
// then acc[row] += p v with columns as lanes and p broadcast.
#ifndef HEED_GENERIC_QUERY_LANES_HPP
#define HEED_GENERIC_QUERY_LANES_HPP

#include "score_queries.hpp"

namespace heed {

// Scores that the causal mask hides become -infinity: for each key the rows before the first that sees it.
[[maybe_unused]] static void hide_masked(const tile &t, int32_t block_begin, int32_t n) {
  for (int32_t r = 0; r < t.n_rows; r++) {
    const int32_t limit = t.visible[r] - block_begin;
    if (limit >= n) break;
    for (int32_t j = limit < 0 ? 0 : limit; j < n; j++) t.scores[j * t.row_capacity + r] = negative_infinity;
  }
}

// The new maximum of one register of rows; spare is what to subtract, alpha what the past is multiplied by.
template <class V>
HEED_INLINE void update_maximum(const tile &t, int32_t n, int32_t row) {
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
  V::store(t.spare + row, shift);
  V::store(t.alpha + row, exp2_nonpositive<V>(V::sub(old, shift)));
}

// For KEYS x SUMS keys of one register of rows, 16 and 1 apart: scores = exp2(scores - shift), added to SUMS sums.
template <class V, int KEYS, int SUMS>
HEED_INLINE void exponential_group(float *x, float *sums, ptrdiff_t ld, bool first, typename V::reg alpha,
                                   typename V::reg shift) {
  typename V::reg p[KEYS * SUMS];
  HEED_UNROLL for (int u = 0; u < KEYS; u++) {
    HEED_UNROLL for (int i = 0; i < SUMS; i++) p[u * SUMS + i] = V::sub(V::load(x + (u * n_sums + i) * ld), shift);
  }
  exp2_nonpositive<V>(p);
  HEED_UNROLL for (int i = 0; i < SUMS; i++) {
    typename V::reg sum = first ? V::set(0.0f) : V::mul(V::load(sums + i * ld), alpha);
    HEED_UNROLL for (int u = 0; u < KEYS; u++) {
      V::store(x + (u * n_sums + i) * ld, p[u * SUMS + i]);
      sum = V::add(sum, p[u * SUMS + i]);
    }
    V::store(sums + i * ld, sum);
  }
}

// All n keys of a block for one register of rows. The first block starts the sums at +0. The first n % 16 sums have one
// key more than the others. Groups of 4 exponentials run side by side wherever there are so many.
template <class V>
HEED_INLINE void exponentials(const tile &t, int32_t n, int32_t row, bool first) {
  const ptrdiff_t ld = t.row_capacity;
  const typename V::reg alpha = V::load(t.alpha + row), shift = V::load(t.spare + row);
  float *const x = t.scores + row, *const sums = t.sums + row;
  if constexpr (V::compact) {
    for (int32_t i = 0; i < n_sums; i++) {
      typename V::reg sum = first ? V::set(0.0f) : V::mul(V::load(sums + i * ld), alpha);
      for (int32_t j = i; j < n; j += n_sums) {
        const typename V::reg p = exp2_nonpositive<V>(V::sub(V::load(x + j * ld), shift));
        V::store(x + j * ld, p);
        sum = V::add(sum, p);
      }
      V::store(sums + i * ld, sum);
    }
    return;
  }
  int32_t i = 0;
  for (int32_t more = 1; more >= 0; more--) {
    const int32_t n_keys = n / n_sums + more, end = more ? n % n_sums : n_sums;
    const auto groups = [&](auto keys, auto side) {
      constexpr int n_side = decltype(side)::value;
      for (; i + n_side <= end; i += n_side)
        exponential_group<V, decltype(keys)::value, n_side>(x + i * ld, sums + i * ld, ld, first, alpha, shift);
    };
    if (n_keys == 4) groups(constant<4>(), constant<1>());
    if (n_keys == 3) groups(constant<3>(), constant<1>());
    if (n_keys == 2) groups(constant<2>(), constant<2>());
    if (n_keys == 2) groups(constant<2>(), constant<1>());
    if (n_keys == 1) groups(constant<1>(), constant<4>());
    if (n_keys == 1) groups(constant<1>(), constant<1>());
    for (; i < end; i++) V::store(sums + i * ld, first ? V::set(0.0f) : V::mul(V::load(sums + i * ld), alpha));
  }
}

// Writes the logits of n keys into the rows of weights, which are transposed to scores.
template <class V>
static void keep_logits(const tile &t, int32_t block_begin, int32_t n) {
  row_cursor row(*t.s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r += 4) {
    float *weights[4] = {};
    for (int32_t i = 0; i < 4 && r + i < t.n_rows; i++, row.next()) weights[i] = row.weights() + block_begin;
    for (int32_t j = 0; j < n; j += V::lanes) {
      typename V::reg rows[4];
      const int32_t left = n - j < V::lanes ? n - j : V::lanes;
      transpose4_any<V>(t.scores + j * t.row_capacity + r, t.row_capacity, left, t.n_rows - r, rows);
      for (int32_t i = 0; i < 4 && r + i < t.n_rows; i++) {
        if (left == V::lanes)
          V::store(weights[i] + j, rows[i]);
        else
          V::store_n(weights[i] + j, rows[i], left);
      }
    }
  }
}

template <class V>
HEED_INLINE void reduce_sums(const tile &t) {
  const ptrdiff_t ld = t.row_capacity;
  const int32_t n_rows = t.n_rows;
  for (int32_t row = 0; row < n_rows; row += V::lanes) {
    const float *sums = t.sums + row;
    typename V::reg sum[n_sums / 2];
    HEED_UNROLL for (int i = 0; i < n_sums / 2; i++) sum[i] =
        V::add(V::load(sums + i * ld), V::load(sums + (i + n_sums / 2) * ld));
    HEED_UNROLL for (int half = n_sums / 4; half > 0; half /= 2) {
      HEED_UNROLL for (int i = 0; i < half; i++) sum[i] = V::add(sum[i], sum[i + half]);
    }
    V::store(t.l + row, sum[0]);
  }
}

// A tile that sees no key of the chunk.
template <class V>
static void clear_partial(const tile &t, int32_t key_begin) {
  for (int32_t i = 0; i < n_sums; i++)
    for (int32_t row = 0; row < t.n_rows; row += V::lanes) V::store(t.sums + i * t.row_capacity + row, V::set(0.0f));
  add_block<V>(t, key_begin, 0, true, 1, t.row_capacity);
}

// Where a stream's rows outgrow the second-level cache, each tile finds its rows of out and the next tile its queries
// far away (1 to 2 % of the time of P4). They are fetched while this tile computes, some rows with each block of keys.
namespace {
class far_rows {
 public:
  far_rows(const tile &t, int32_t key_begin, int32_t key_end)
      : s(*t.s), out(s, t.first_row), q(s, t.first_row + t.n_rows), left(0), left_q(0), step(0) {
    const int64_t bytes = static_cast<int64_t>(s.n_rows) * (s.head_dim + s.v_dim) * 4;
    if (key_begin > 0 || key_end <= key_begin || bytes < far_bytes) return;
    left = t.n_rows;
    const int64_t after = s.n_rows - t.first_row - t.n_rows;
    left_q = after < left ? static_cast<int32_t>(after) : left;
    step = t.n_rows * block_keys / (key_end - key_begin) + 1;
  }
  void fetch() {
    for (int32_t i = 0; i < step && left > 0; i++, left--) {
      fetch_row(out.out(), s.v_dim);
      out.next();
      if (left_q-- <= 0) continue;
      fetch_row(q.q(), s.head_dim);
      q.next();
    }
  }

 private:
  static void fetch_row(const float *p, int32_t n) {
    for (int32_t i = 0; i < n; i += 16) __builtin_prefetch(p + i, 0, 2);
  }
  const stream &s;
  row_cursor out, q;
  int32_t left, left_q, step;
};
}  // namespace

template <class V>
static HEED_NOINLINE void attend_query_lanes(const tile &shared_tile, int32_t key_begin, int32_t key_end) {
  const tile t = shared_tile;  // a copy whose fields no store can change: they stay in registers
  const stream &s = *t.s;
  const int32_t last = t.visible[t.n_rows - 1], end = last < key_end ? last : key_end;
  for (int32_t row = 0; row < t.n_rows; row += V::lanes) {
    transpose_queries<V>(t, row);
    V::store(t.m + row, V::set(negative_infinity));
  }
  if (end <= key_begin) clear_partial<V>(t, key_begin);
  far_rows far(t, key_begin, end);
  for (int32_t begin = key_begin; begin < end; begin += block_keys) {
    const int32_t n = end - begin < block_keys ? end - begin : block_keys;
    const bool first = begin == key_begin;
    far.fetch();
    score_block<V>(t, begin, n);
    if (s.weights) keep_logits<V>(t, begin, n);
    if (t.visible[0] < begin + n) hide_masked(t, begin, n);
    for (int32_t row = 0; row < t.n_rows; row += V::lanes) update_maximum<V>(t, keys_seen<V>(t, begin, n, row), row);
    for (int32_t row = 0; row < t.n_rows; row += V::lanes)
      exponentials<V>(t, keys_seen<V>(t, begin, n, row), row, first);
    add_block<V>(t, begin, n, first, 1, t.row_capacity);
  }
  reduce_sums<V>(t);
  close_gap<V>(t);
}

}  // namespace heed

#endif
