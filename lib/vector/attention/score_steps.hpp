// What options do to the scores of a block, for both layouts: [key][row] with queries as lanes, [row][64] else.
#ifndef HEED_GENERIC_SCORE_STEPS_HPP
#define HEED_GENERIC_SCORE_STEPS_HPP

#include "../rows/elements.hpp"
#include "mask_steps.hpp"

namespace heed {

// x = tanh(x) * factor for n registers, `stride` floats apart, 4 at a time.
template <class V>
HEED_INLINE void cap_registers(float *x, ptrdiff_t stride, int32_t n, float factor) {
  const auto cap = [=](float *from, auto registers) {
    constexpr int n_registers = decltype(registers)::value;
    typename V::reg u[n_registers];
    HEED_UNROLL for (int i = 0; i < n_registers; i++) u[i] = V::load(from + i * stride);
    capped_tanh<V>(u, factor);
    HEED_UNROLL for (int i = 0; i < n_registers; i++) V::store(from + i * stride, u[i]);
  };
  int32_t i = 0;
  for (; i + 4 <= n; i += 4) cap(x + i * stride, constant<4>());
  for (; i < n; i++) cap(x + i * stride, constant<1>());
}

template <class V>
static HEED_NOINLINE void softcap_block(const tile &t, const key_block &b, float factor) {
  if (t.lanes_are_queries) {
    for (int32_t r = 0; r < t.n_rows; r += V::lanes) {
      const key_range seen = seen_of_register<V>(t, b, r);
      cap_registers<V>(t.scores + seen.first * t.row_capacity + r, t.row_capacity, seen.last - seen.first, factor);
    }
    return;
  }
  const int32_t from = b.from / V::lanes * V::lanes, n = (b.n - from + V::lanes - 1) / V::lanes;
  for (int32_t r = 0; r < t.n_rows; r++) cap_registers<V>(t.scores + r * block_keys + from, V::lanes, n, factor);
}

// For each row: slope * log2(e), and the distance of the block's first key from the query (rule 13).
template <class V>
HEED_INLINE void alibi_of_row(const stream &s, const row_cursor &row, const key_block &b, const float *slopes,
                              int64_t offset, float &slope, float &distance) {
  slope = slopes[s.first_head + row.head] * log2e;
  distance = static_cast<float>(b.begin - (row.query + offset));
}

template <class V>
static HEED_NOINLINE void alibi_block(const tile &t, const key_block &b, const float *slopes, bool symmetric,
                                      int64_t offset) {
  using reg = typename V::reg;
  const auto signed_distance = [=](reg distance) HEED_INLINED {
    if (!symmetric) return distance;
    return V::if_negative(distance, distance, V::sub(V::set(0.0f), distance));
  };
  const stream &s = *t.s;
  row_cursor row(s, t.first_row);
  float slope[V::lanes], distance[V::lanes];
  if (t.lanes_are_queries) {
    for (int32_t r = 0; r < t.n_rows; r += V::lanes) {
      for (int32_t i = 0; i < V::lanes; i++, row.next()) {
        if (r + i < t.n_rows)
          alibi_of_row<V>(s, row, b, slopes, offset, slope[i], distance[i]);
        else
          slope[i] = distance[i] = 0.0f;
      }
      const reg by = V::load(slope), from = V::load(distance);
      const key_range seen = seen_of_register<V>(t, b, r);
      float *x = t.scores + r + seen.first * t.row_capacity;
      for (int32_t j = seen.first; j < seen.last; j++, x += t.row_capacity)
        V::store(x, V::fma(by, signed_distance(V::add(from, V::set(static_cast<float>(j)))), V::load(x)));
    }
    return;
  }
  float ramp[V::lanes];
  for (int32_t i = 0; i < V::lanes; i++) ramp[i] = static_cast<float>(i);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    alibi_of_row<V>(s, row, b, slopes, offset, slope[0], distance[0]);
    const reg by = V::set(slope[0]), from = V::set(distance[0]);
    for (int32_t j = b.from / V::lanes * V::lanes; j < b.n; j += V::lanes) {
      float *x = t.scores + r * block_keys + j;
      const reg key = V::add(V::load(ramp), V::set(static_cast<float>(j)));
      V::store(x, V::fma(by, signed_distance(V::add(from, key)), V::load(x)));
    }
  }
}

// Rows of scores times factor, where they are wanted.
template <class V>
static HEED_NOINLINE void keep_by_keys(const tile &t, const key_block &b, const kept_rows &to, float factor) {
  row_cursor row(*t.s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    float *y = row_of(to, *t.s, row) + b.begin;
    const float *x = t.scores + r * block_keys;
    int32_t j = b.from;
    for (; j + V::lanes <= b.n; j += V::lanes) V::store(y + j, V::mul(V::load(x + j), V::set(factor)));
    for (; j < b.n; j++) y[j] = x[j] * factor;
  }
}

template <class V>
static HEED_NOINLINE void keep_by_queries(const tile &t, const key_block &b, const kept_rows &to, float factor) {
  row_cursor row(*t.s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r += 4) {
    float *y[4] = {};
    for (int32_t i = 0; i < 4 && r + i < t.n_rows; i++, row.next()) y[i] = row_of(to, *t.s, row) + b.begin;
    for (int32_t j = b.from; j < b.n; j += V::lanes) {
      typename V::reg rows[4];
      const int32_t left = smaller_of(b.n - j, V::lanes);
      transpose4_any<V>(t.scores + j * t.row_capacity + r, t.row_capacity, left, t.n_rows - r, rows);
      for (int32_t i = 0; i < 4 && r + i < t.n_rows; i++) {
        const typename V::reg x = V::mul(rows[i], V::set(factor));
        if (left == V::lanes)
          V::store(y[i] + j, x);
        else
          V::store_n(y[i] + j, x, left);
      }
    }
  }
}

template <class V>
static void keep(const tile &t, const key_block &b, const kept_rows &to, float factor) {
  if constexpr (V::lanes > 1)
    if (t.lanes_are_queries) return keep_by_queries<V>(t, b, to, factor);
  keep_by_keys<V>(t, b, to, factor);
}

// One more logit for each row, to which no value belongs (rule 14): the partial (sink, 1, 0), merged last.
template <class V>
static HEED_NOINLINE void add_sinks(const tile &t, const partial &p, const float *logits) {
  row_cursor row(*t.s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    const float sink = logits ? logits[t.s->first_head + row.head] * log2e : 0.0f;
    const float m = maximum_over_nan(p.m[r], sink), shift = finite_maximum(m);
    const float a = first_lane<V>(exp2_nonpositive<V>(V::set(p.m[r] - shift)));
    const float b = first_lane<V>(exp2_nonpositive<V>(V::set(sink - shift)));
    p.m[r] = m;
    p.l[r] = p.l[r] * a + b;
    float *acc = p.acc ? p.acc + r * t.acc_stride : row.out();
    for (int32_t i = 0; i < t.s->v_dim; i++) acc[i] *= a;
  }
}

// Scores become weights by the shift and the alpha of their rows: +0 for a hidden key, also in a row that is NaN,
// because blocks that are hidden from a whole tile are passed over.
template <class V>
static HEED_NOINLINE void weigh_block(const tile &t, const key_block &b) {
  const auto weigh = [](float *at, typename V::reg shift, typename V::reg alpha) {
    const typename V::reg x = V::load(at);
    V::store(at, V::zero_below(V::mul(exp2_nonpositive<V>(V::sub(x, shift)), alpha), x, least_finite));
  };
  if (t.lanes_are_queries) {
    for (int32_t r = 0; r < t.n_rows; r += V::lanes)
      for (int32_t j = b.from; j < b.n; j++)
        weigh(t.scores + j * t.row_capacity + r, V::load(t.shift + r), V::load(t.alpha + r));
    return;
  }
  for (int32_t r = 0; r < t.n_rows; r++)
    for (int32_t j = b.from / V::lanes * V::lanes; j < b.n; j += V::lanes)
      weigh(t.scores + r * block_keys + j, V::set(t.shift[r]), V::set(t.alpha[r]));
}

}  // namespace heed

#endif
