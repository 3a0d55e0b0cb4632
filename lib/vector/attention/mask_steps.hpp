// What a mask does to a block: to its scores, for both layouts, and to the sum of its values.
#ifndef HEED_GENERIC_MASK_STEPS_HPP
#define HEED_GENERIC_MASK_STEPS_HPP

#include "../../kernel_contract/score_rule.hpp"
#include "score_queries.hpp"
#include "stored_values.hpp"

namespace heed {

// What the rows of a register see of a block, in keys from its begin: what lies outside is left as it is.
template <class V>
HEED_INLINE key_range seen_of_register(const tile &t, const key_block &b, int32_t row) {
  return {first_seen(t, b, row), last_seen<V>(t, b, row)};
}

// x + mask, or -infinity where mask is, whatever x.
template <class V>
HEED_INLINE typename V::reg add_mask(typename V::reg x, typename V::reg mask) {
  return V::fma(mask, V::set(log2e), V::zero_below(x, mask, least_finite));
}

// Masks of one register of rows and up to 16 keys pass through a copy, from which they are transposed: rows may lie
// anywhere.
template <class V>
struct mask_copy {
  static constexpr int32_t width = 16;
  float rows[V::lanes][width];
};

// The greatest of -mask so far: +infinity once a key is hidden. NaN is passed over.
template <class V>
HEED_INLINE typename V::reg most_hidden(typename V::reg most, typename V::reg mask) {
  return V::max(V::sub(V::set(0.0f), mask), most);
}
template <class V>
HEED_INLINE bool any_infinite(typename V::reg most) {
  float lanes[V::lanes];
  V::store(lanes, most);
  bool any = false;
  for (int32_t i = 0; i < V::lanes; i++) any = any || lanes[i] > -least_finite;
  return any;
}

template <class V>
static HEED_NOINLINE bool additive_by_keys(const tile &t, const key_block &b, const input_rows &from) {
  using reg = typename V::reg;
  reg most = V::set(0.0f);
  row_cursor row(*t.s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    const float *mask = row_of<float>(from, *t.s, row) + b.begin;
    float *x = t.scores + r * block_keys;
    int32_t j = b.from;
    for (; j + V::lanes <= b.n; j += V::lanes) {
      const reg m = V::load(mask + j);
      most = most_hidden<V>(most, m);
      V::store(x + j, add_mask<V>(V::load(x + j), m));
    }
    if (j == b.n) continue;
    float last[V::lanes];  // the row of scores has room for a whole register, the mask may not
    for (int32_t i = 0; i < V::lanes; i++) last[i] = j + i < b.n ? mask[j + i] : 0.0f;
    float scores[V::lanes];
    for (int32_t i = 0; i < V::lanes; i++) scores[i] = j + i < b.n ? x[j + i] : 0.0f;
    most = most_hidden<V>(most, V::load(last));
    V::store(scores, add_mask<V>(V::load(scores), V::load(last)));
    for (int32_t i = 0; j + i < b.n; i++) x[j + i] = scores[i];
  }
  return any_infinite<V>(most);
}

// Of up to 4 keys.
template <class V>
HEED_INLINE void add_masks(float *x, ptrdiff_t stride, const typename V::reg (&mask)[4], int32_t n,
                           typename V::reg &most) {
  HEED_UNROLL for (int32_t i = 0; i < 4; i++) {
    if (i >= n) continue;
    most = most_hidden<V>(most, mask[i]);
    V::store(x + i * stride, add_mask<V>(V::load(x + i * stride), mask[i]));
  }
}

// Rows that are evenly spaced are transposed where they lie: 6 % of P3.
template <class V>
static HEED_NOINLINE bool additive_by_queries(const tile &t, const key_block &b, const input_rows &from) {
  using reg = typename V::reg;
  constexpr int32_t width = mask_copy<V>::width;
  mask_copy<V> copy;
  reg most = V::set(0.0f);
  for (int32_t r = 0; r < t.n_rows; r += V::lanes) {
    const key_range seen = seen_of_register<V>(t, b, r);
    int32_t begin = seen.first;
    if (t.s->group == 1 && r + V::lanes <= t.n_rows) {
      const float *mask = row_of<float>(from, *t.s, row_cursor(*t.s, t.first_row + r)) + b.begin;
      for (; begin + 4 <= seen.last; begin += 4) {
        reg m[4];
        V::transpose4(mask + begin, from.row_stride, m);
        add_masks<V>(t.scores + begin * t.row_capacity + r, t.row_capacity, m, 4, most);
      }
    }
    for (; begin < seen.last; begin += width) {
      const int32_t n = smaller_of(seen.last - begin, width);
      row_cursor row(*t.s, t.first_row + r);
      for (int32_t i = 0; i < V::lanes; i++) {
        copy_row<V>(copy.rows[i], row_of<float>(from, *t.s, row) + b.begin + begin, n);
        if (r + i + 1 < t.n_rows) row.next();  // lanes beyond the tile repeat its last row
      }
      float *x = t.scores + begin * t.row_capacity + r;
      for (int32_t j = 0; j < n; j += 4) {
        reg m[4];
        V::transpose4(&copy.rows[0][j], width, m);
        add_masks<V>(x + j * t.row_capacity, t.row_capacity, m, n - j, most);
      }
    }
  }
  return any_infinite<V>(most);
}

template <class V>
static bool mask_additive(const tile &t, const key_block &b, const input_rows &from) {
  if constexpr (V::lanes > 1)
    if (t.lanes_are_queries) return additive_by_queries<V>(t, b, from);
  return additive_by_keys<V>(t, b, from);
}

// Is one of n bytes zero?
[[maybe_unused]] static bool has_zero(const uint8_t *p, int32_t n) {
  int32_t i = 0;
  uint64_t zeros = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t x;
    __builtin_memcpy(&x, p + i, 8);
    zeros |= (x - 0x0101010101010101u) & ~x & 0x8080808080808080u;
  }
  bool any = zeros != 0;
  for (; i < n; i++) any = any || p[i] == 0;
  return any;
}

[[maybe_unused]] static HEED_NOINLINE bool boolean_by_keys(const tile &t, const key_block &b, const input_rows &from) {
  bool hidden = false;
  row_cursor row(*t.s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    const uint8_t *mask = row_of<uint8_t>(from, *t.s, row) + b.begin;
    if (!has_zero(mask + b.from, b.n - b.from)) continue;
    hidden = true;
    float *x = t.scores + r * block_keys;
    for (int32_t j = b.from; j < b.n; j++) x[j] = mask[j] ? x[j] : negative_infinity;
  }
  return hidden;
}

// The byte of a word in memory order.
constexpr uint32_t byte_of_word(int i) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  return 0xff000000u >> 8 * i;
#else
  return 0xffu << 8 * i;
#endif
}

// Up to 4 keys of one register of rows, whose flags are the bytes of a word.
template <class V>
HEED_INLINE void hide_keys(float *x, ptrdiff_t stride, typename V::reg flags, int32_t n) {
  HEED_UNROLL for (int i = 0; i < 4; i++) {
    if (i < n) V::store(x + i * stride, V::hide(V::load(x + i * stride), flags, byte_of_word(i)));
  }
}

// Four bytes of a row travel as one float through the transpose.
template <class V>
static HEED_NOINLINE bool boolean_by_queries(const tile &t, const key_block &b, const input_rows &from) {
  using reg = typename V::reg;
  constexpr int32_t width = mask_copy<V>::width;
  mask_copy<V> copy;
  bool hidden = false;
  for (int32_t r = 0; r < t.n_rows; r += V::lanes) {
    const key_range seen = seen_of_register<V>(t, b, r);
    const int32_t n = seen.last - seen.first;
    bool here = false;
    row_cursor row(*t.s, t.first_row + r);
    for (int32_t i = 0; i < V::lanes; i++) {
      const uint8_t *mask = row_of<uint8_t>(from, *t.s, row) + b.begin + seen.first;
      here |= has_zero(mask, n);
      if (n == block_keys)
        __builtin_memcpy(copy.rows[i], mask, block_keys);
      else
        for (int32_t j = 0; j < n; j++) reinterpret_cast<uint8_t *>(copy.rows[i])[j] = mask[j];
      if (r + i + 1 < t.n_rows) row.next();  // lanes beyond the tile repeat its last row
    }
    if (!here) continue;
    hidden = true;
    float *x = t.scores + seen.first * t.row_capacity + r;
    for (int32_t word = 0; word * 4 < n; word += 4) {
      reg flags[4];
      V::transpose4(&copy.rows[0][word], width, flags);
      HEED_UNROLL for (int i = 0; i < 4; i++) {
        const int32_t first = (word + i) * 4;
        hide_keys<V>(x + first * t.row_capacity, t.row_capacity, flags[i], n - first);
      }
    }
  }
  return hidden;
}

template <class V>
static bool mask_boolean(const tile &t, const key_block &b, const input_rows &from) {
  if constexpr (V::lanes > 1)
    if (t.lanes_are_queries) return boolean_by_queries<V>(t, b, from);
  return boolean_by_keys(t, b, from);
}

template <class V, bool STORED>
static HEED_NOINLINE bool values_are_finite(const tile &t, const key_block &b) {
  const typename V::reg zero = V::set(0.0f);
  typename V::reg nothing[4] = {zero, zero, zero, zero};  // 0 * x is 0, or NaN
  float last = 0.0f;
  value_pieces<V, STORED> pieces(t, b);
  for (value_piece p; pieces.next(p);) {
    const float *v = p.v;
    for (int32_t j = p.from; j < p.to; j++, v += p.stride) {
      int32_t i = 0;
      for (; i + 4 * V::lanes <= p.n_cols; i += 4 * V::lanes)
        HEED_UNROLL for (int u = 0; u < 4; u++) nothing[u] = V::fma(zero, V::load(v + i + u * V::lanes), nothing[u]);
      for (; i + V::lanes <= p.n_cols; i += V::lanes) nothing[0] = V::fma(zero, V::load(v + i), nothing[0]);
      for (; i < p.n_cols; i++) last += v[i] - v[i];
    }
  }
  float lanes[V::lanes];
  V::store(lanes, V::add(V::add(nothing[0], nothing[1]), V::add(nothing[2], nothing[3])));
  for (int32_t i = 0; i < V::lanes; i++) last += lanes[i];
  return last == 0.0f;
}

// acc = acc * alpha + p v of the keys that are not hidden, row by row and run by run: where a value that someone hides
// is NaN or infinite, and 0 times it would not be 0.
template <class V, bool STORED>
static HEED_NOINLINE void add_visible_values(const tile &t, const key_block &b,
                                             bool (*hides)(const tile &t, int32_t r, int32_t key)) {
  value_pieces<V, STORED> pieces(t, b);
  for (value_piece p; pieces.next(p);) {
    const bool begins = p.from == b.from;
    const auto add = [&](int32_t r, int32_t from, int32_t to, chain start) {
      if constexpr (V::lanes == 1 && !STORED) {
        product o;
        add_values<V>(o, t, b, r, 1, from, to);  // acc has alpha already
      } else {
        add_value_piece<V>(t, b, p, r, 1, from, to, false, start);
      }
    };
    const chain first = chain_of_block(b.first);
    for (int32_t r = 0; r < t.n_rows; r++) {
      if (begins) add(r, p.from, p.from, first);
      const key_range seen = seen_of_block(t, b, r);
      const int32_t last = smaller_of(seen.last, p.to);
      for (int32_t j = larger_of(seen.first, p.from), end; j < last; j = end + 1) {
        for (end = j; end < last && !hides(t, r, b.begin + end);) end++;
        if (end > j) add(r, j, end, chain::keep);
      }
    }
  }
}

}  // namespace heed

#endif
