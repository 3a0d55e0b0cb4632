// Attention of one tile over one chunk with queries as lanes: for many rows. Nothing is ever summed across lanes.
//
// Queries are transposed once into qt[i][row]. Per block of 64 keys: scores[key][row] = x, with elements of k broadcast
// straight from memory (packing k for each tile would cost 10 %); then maximum, exponentials and sums lane by lane;
// then acc[row] += p v with columns as lanes and p broadcast.
#ifndef HEED_GENERIC_QUERY_LANES_HPP
#define HEED_GENERIC_QUERY_LANES_HPP

#include "score_queries.hpp"

namespace heed {

// Where the exponentials of a register of rows begin: its first key or before, in whole rounds of the sums.
HEED_INLINE int32_t first_round(const tile &t, const key_block &b, int32_t row) {
  return first_seen(t, b, row) / n_sums * n_sums;
}

// Of the keys that a register of rows takes, those that a row does not see become -infinity.
template <class V>
static HEED_NOINLINE void hide_unseen(const tile &t, const key_block &b) {
  for (int32_t row = 0; row < t.n_rows; row += V::lanes) {
    const int32_t begin = first_round(t, b, row), end = last_seen<V>(t, b, row);
    const int32_t row_end = smaller_of(row + V::lanes, t.n_rows);
    for (int32_t r = row; r < row_end; r++) {
      float *x = t.scores + r;
      const int32_t first = smaller_of(t.first[r] - b.begin, end);
      const int32_t last = larger_of(t.last[r] - b.begin, begin);
      for (int32_t j = begin; j < first; j++) x[j * t.row_capacity] = negative_infinity;
      for (int32_t j = last; j < end; j++) x[j * t.row_capacity] = negative_infinity;
    }
  }
}

// The new maximum of one register of rows; shift is what to subtract, alpha what the past is multiplied by, if there is
// one.
template <class V>
HEED_INLINE void update_maximum(const tile &t, key_range keys, int32_t row, bool first) {
  const int32_t n = keys.last - keys.first;
  const float *x = t.scores + row + keys.first * t.row_capacity;
  const ptrdiff_t ld = t.row_capacity;
  const typename V::reg old = V::load(t.chunk.m + row);
  typename V::reg m[4] = {old, old, old, old};
  int32_t j = 0;
  for (; j + 4 <= n; j += 4) HEED_UNROLL for (int u = 0; u < 4; u++) m[u] = V::max(V::load(x + (j + u) * ld), m[u]);
  for (; j < n; j++) m[0] = V::max(V::load(x + j * ld), m[0]);
  const typename V::reg maximum = V::max(V::max(m[0], m[1]), V::max(m[2], m[3]));
  const typename V::reg shift = finite_maximum<V>(maximum);
  V::store(t.chunk.m + row, maximum);
  V::store(t.shift + row, shift);
  if (!first) V::store(t.alpha + row, exp2_nonpositive<V>(V::sub(old, shift)));
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

// All n keys of a block for one register of rows. Key j goes to sum j % 16; the first block starts the sums at +0. The
// first n % 16 sums have one key more than the others. Groups of 4 exponentials run side by side wherever there are so
// many. With n = 36, say:
//   sums 0 to 3 have 3 keys each (0, 16, 32; 1, 17, 33; ...): more = 1, n_keys = 3, four groups of 3 keys by 1 sum
//   sums 4 to 15 have 2 keys each (4, 20; 5, 21; ...):        more = 0, n_keys = 2, six groups of 2 keys by 2 sums
// With n = 5: sums 0 to 3 as one group of 1 key by 4 sums, sum 4 alone; sums 5 to 15 have no key and are scaled.
template <class V>
HEED_INLINE void exponentials(const tile &t, key_range keys, int32_t row, bool first) {
  const int32_t n = keys.last - keys.first;
  const ptrdiff_t ld = t.row_capacity;
  const typename V::reg alpha = V::load(t.alpha + row), shift = V::load(t.shift + row);
  float *const x = t.scores + row + keys.first * ld, *const sums = t.sums + row;
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
    const auto groups = [&](auto keys, auto side) HEED_INLINED {
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
    for (; i < end; i++) {
      typename V::reg sum = V::set(0.0f);
      if (!first) sum = V::mul(V::load(sums + i * ld), alpha);
      V::store(sums + i * ld, sum);
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
    V::store(t.chunk.l + row, sum[0]);
  }
}

// Where a stream's rows outgrow the second-level cache, each tile finds its rows of out and the next tile its queries
// far away (1 to 2 % of the time of P4). They are fetched while this tile computes, some rows with each of its first
// blocks: rows at a distance from the first of what a block brings.
template <class V>
static HEED_NOINLINE void fetch_far_rows(const tile &t, const key_block &b) {
  const stream &s = *t.s;
  const int64_t bytes = static_cast<int64_t>(s.n_rows) * (s.head_dim + s.v_dim) * 4;
  const int32_t n_keys = t.last[t.n_rows - 1] - t.first[0], done = b.begin - t.first[0] / block_keys * block_keys;
  if (bytes < far_bytes || done >= chunk_keys || !s.q) return;
  const int32_t most = smaller_of(n_keys, chunk_keys), step = t.n_rows * block_keys / most + 1;
  const ptrdiff_t begin = t.first_row + done / block_keys * step;
  const auto fetch = [](const float *p, int32_t n) {
    for (int32_t i = 0; i < n; i += 16) __builtin_prefetch(p + i, 0, 2);
  };
  row_cursor out(s, begin), q(s, begin + t.n_rows);
  for (int32_t i = 0; i < step && begin + i < t.first_row + t.n_rows; i++, out.next(), q.next()) {
    fetch(out.out(), s.v_dim);
    if (begin + i + t.n_rows < s.n_rows) fetch(q.q(), s.head_dim);
  }
}

template <class V>
struct query_lanes {
  using held = tile;  // GCC reloads the fields of a shared one after each store of a register

  static HEED_INLINE void begin(const tile &t) {
    for (int32_t row = 0; row < t.n_rows; row += V::lanes) {
      if (t.s->q) transpose_queries<V>(t, row);
      V::store(t.chunk.m + row, V::set(negative_infinity));
    }
  }
  static HEED_INLINE void score(const tile &t, const key_block &b) {
    if (!V::compact) fetch_far_rows<V>(t, b);
    score_block<V>(t, b);
  }
  static HEED_INLINE void softmax(const tile &t, const key_block &b) {
    if (!all_see(t, b) || b.from > 0) hide_unseen<V>(t, b);
    const auto keys = [&](int32_t row) HEED_INLINED {
      const int32_t first = first_round(t, b, row), last = first < b.n ? last_seen<V>(t, b, row) : 0;
      return key_range{smaller_of(first, last), last};
    };
    for (int32_t row = 0; row < t.n_rows; row += V::lanes) update_maximum<V>(t, keys(row), row, b.first);
    for (int32_t row = 0; row < t.n_rows; row += V::lanes) exponentials<V>(t, keys(row), row, b.first);
  }
  static HEED_INLINE void add(const tile &t, const key_block &b) { add_block<V>(t, b, 1, t.row_capacity); }
  static HEED_INLINE void end(const tile &t, bool empty) {
    if (empty) {
      clear_rows(t);
      for (int32_t i = 0; i < n_sums * t.row_capacity; i++) t.sums[i] = 0.0f;
    }
    reduce_sums<V>(t);
    close_gap<V>(t);
  }
};

}  // namespace heed

#endif
