// The steps of attention in integers in plain C++, two rows at a time, where they lie: for cores without vectors, and for
// what vectors leave over.
#ifndef HEED_PLAIN_INTEGERS_HPP
#define HEED_PLAIN_INTEGERS_HPP

#include "../kernel_contract/integers.hpp"

namespace heed {
namespace {
namespace plain_integers {

[[maybe_unused]] inline bool always() { return true; }

// Words, without the zero point.
[[maybe_unused]] inline int32_t open_query(const int8_t *q, int32_t dim, int32_t zero_point, void *to) {
  int32_t *wide = static_cast<int32_t *>(to), sum = 0;
  for (int32_t i = 0; i < dim; i++) sum += wide[i] = q[i] - zero_point;
  return sum;
}

[[maybe_unused]] inline void pack_nothing(const int_rows &, void *) {}

// Small code computes a row that has no partner twice; fast code has loops of one row, too.
#ifdef __OPTIMIZE_SIZE__
constexpr bool unrolls = false;
#else
constexpr bool unrolls = true;
#endif

// The two products that take the time. Another tile may take the place of this one.
struct tile {
  [[maybe_unused]] static constexpr bool one_row_apart = unrolls;
  [[maybe_unused]] static constexpr int32_t columns = 4;

  // Two queries, or one, against two keys; the second of each may be the first again.
  template <int ROWS>
  HEED_INLINE static void scores(const int32_t *p, const int32_t *r, const int8_t *a, const int8_t *b, int32_t dim,
                                 int32_t (&sums)[4]) {
    int32_t pa = 0, pb = 0, ra = 0, rb = 0;
    const auto add = [&](int32_t i) HEED_INLINED {
      const int32_t ka = a[i], kb = b[i], x = p[i];
      pa += x * ka;
      pb += x * kb;
      if (ROWS == 2) {
        const int32_t y = r[i];
        ra += y * ka;
        rb += y * kb;
      }
    };
    if (unrolls)
      for (const int32_t *const end = p + (dim & -4); p != end; a += 4, b += 4, p += 4, r += 4)
        add(0), add(1), add(2), add(3);
    for (const int32_t *const end = p + (unrolls ? dim & 3 : dim); p != end; a++, b++, p++, r++) add(0);
    sums[0] = pa, sums[1] = pb, sums[2] = ra, sums[3] = rb;
  }

  // COLUMNS columns of two rows, or of one; the second may be the first again. To sums, those of the second from 4 on.
  template <int ROWS, int COLUMNS>
  HEED_INLINE static void sums(const int16_t *p, const int16_t *r, const int8_t *x, ptrdiff_t stride, int32_t n,
                               int32_t (&sums)[8]) {
    // By name: compilers for small cores keep arrays in memory.
    int32_t a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
    const ptrdiff_t other = r - p;
    const auto add = [&](const int16_t *at) HEED_INLINED {
      const int32_t e = *at, f = ROWS == 2 ? at[other] : 0;
      const auto column = [&](int32_t y, int32_t &of_a, int32_t &of_b) HEED_INLINED {
        of_a += e * y;
        if (ROWS == 2) of_b += f * y;
      };
      column(x[0], a0, b0);
      if (COLUMNS > 1) column(x[1], a1, b1), column(x[2], a2, b2), column(x[3], a3, b3);
      x += stride;
    };
    for (const int16_t *const end = p + n; p != end; p++) add(p);
    sums[0] = a0, sums[1] = a1, sums[2] = a2, sums[3] = a3;
    sums[4] = b0, sums[5] = b1, sums[6] = b2, sums[7] = b3;
  }
};

template <class Tile, int ROWS>
HEED_NOINLINE void score_int_rows(const int32_t *q, ptrdiff_t q_other, const int_rows &k, int32_t *s,
                                  ptrdiff_t s_other) {
  const int8_t *a = k.data;
  for (int32_t j = 0; j < k.n; j += 2, s += 2, a += 2 * k.stride) {
    int32_t sums[4];
    const auto *const second = j + 1 < k.n ? a + k.stride : a;
    Tile::template scores<ROWS>(q, q + q_other, a, second, k.dim, sums);
    s[0] = sums[0], s[1] = sums[1];
    if (ROWS == 2) s[s_other] = sums[2], s[s_other + 1] = sums[3];
  }
}
template <class Tile>
void scores(const void *queries, ptrdiff_t query_bytes, int32_t n_rows, int32_t, const int_rows &k, int32_t *s) {
  const int32_t *q = static_cast<const int32_t *>(queries);
  for (; n_rows > 0; n_rows -= 2, q += query_bytes / 2, s += 2 * int_block) {
    const bool two = n_rows > 1;
    const int32_t to_query = two ? static_cast<int32_t>(query_bytes / 4) : 0;  // of the second row
    const int32_t to_scores = two ? int_block : 0;
    if (two || !Tile::one_row_apart)
      score_int_rows<Tile, 2>(q, to_query, k, s, to_scores);
    else
      score_int_rows<Tile, 1>(q, 0, k, s, 0);
  }
}

[[maybe_unused]] inline int32_t greatest(const int32_t *s, int32_t n) {
  int32_t max = s[0];
  for (int32_t j = 1; j < n; j++)
    if (s[j] > max) max = s[j];
  return max;
}

// Probabilities where scores are read. Copies of bytes would be calls on cores that cannot read words anywhere.
typedef int16_t __attribute__((may_alias)) probability_in_place;

// Rule I5 in fewer steps: t = 32 v, and y >> n is rounded by its last bit.
[[maybe_unused]] inline int32_t probabilities(int32_t *s, int32_t n, int32_t padded, const distance_rule &rule,
                                              int32_t max, uint32_t offset) {
  const uint32_t m = rule.m16 << rule.g, limit = rule.limit;
  const int32_t h = rule.h;
  int32_t c0 = int_exp_term(0) / 32, c1 = int_exp_term(1) / 32, c2 = int_exp_term(2) / 32;
  asm("" : "+r"(c0), "+r"(c1), "+r"(c2));  // in registers: GCC would add each in two steps
  probability_in_place *p = reinterpret_cast<probability_in_place *>(s);
  int32_t l = 0;
  for (int32_t j = 0; j < n; j++) {
    uint32_t a = (static_cast<uint32_t>(max) - static_cast<uint32_t>(s[j])) >> h;
    if (a > limit) a = limit;
    const uint32_t u = offset + ((a * m) >> 16);
    const int32_t v = static_cast<int32_t>(u & ((1u << int_fraction) - 1)) - (1 << (int_fraction - 1));
    int32_t y = (int_exp[3] * v + c2) >> 10;
    y = (y * v + c1) >> 10;
    y = (y * v + c0) >> 10;
    y = ((y << 1 >> (u >> int_fraction)) + 1) >> 1;
    l += y;
    p[j] = static_cast<int16_t>(y);
  }
  __builtin_memset(p + n, 0, static_cast<size_t>(padded - n) * 2);
  return l;
}

template <class Tile, int ROWS>
HEED_NOINLINE void sum_rows(const int16_t *p, ptrdiff_t p_other, const int_rows &v, int32_t *acc, ptrdiff_t acc_other) {
  constexpr int32_t columns = Tile::columns;
  const int8_t *x = v.data;
  int32_t sums[8], left = v.dim;
  for (; left >= columns; left -= columns, x += columns, acc += columns) {
    Tile::template sums<ROWS, columns>(p, p + p_other, x, v.stride, v.n, sums);
    for (int32_t i = 0; i < columns; i++) acc[i] = sums[i];
    for (int32_t i = 0; i < columns && ROWS == 2; i++) acc[acc_other + i] = sums[4 + i];
  }
  for (; left > 0; left--, x++, acc++) {
    tile::sums<ROWS, 1>(p, p + p_other, x, v.stride, v.n, sums);
    acc[0] = sums[0];
    if (ROWS == 2) acc[acc_other] = sums[4];
  }
}
template <class Tile>
void sums(int32_t *p, int32_t n_rows, const int_rows &v, int32_t *acc, ptrdiff_t acc_stride) {
  const int16_t *rows = reinterpret_cast<const int16_t *>(p);
  for (; n_rows > 0; n_rows -= 2, rows += 4 * int_block, acc += 2 * acc_stride) {
    const bool two = n_rows > 1;
    const int32_t to_row = two ? 2 * int_block : 0;
    const ptrdiff_t to_acc = two ? acc_stride : 0;
    if (two || !Tile::one_row_apart)
      sum_rows<Tile, 2>(rows, to_row, v, acc, to_acc);
    else
      sum_rows<Tile, 1>(rows, 0, v, acc, 0);
  }
}

inline void add_to_bin(int64_t *bin, const int32_t *a, int32_t n, int32_t shift) {
  for (int32_t i = 0; i < n; i++)
    bin[i] = static_cast<int64_t>(static_cast<uint64_t>(bin[i]) + (static_cast<uint64_t>(int64_t{a[i]}) << shift));
}

inline void join_bins(const int64_t *top, const int64_t *low, int32_t n, int32_t down, int32_t *a) {
  for (int32_t i = 0; i < n; i++)
    a[i] = static_cast<int32_t>(
        static_cast<int64_t>(static_cast<uint64_t>(top[i]) + static_cast<uint64_t>(low[i] >> int_bin)) >> down);
}

[[maybe_unused]] inline void finish(const int32_t *a, int32_t n, const int_finish &f, int32_t zero_point, bool wide,
                                    void *out) {
  const int_finish own = f;
  const int32_t most = greatest_output(wide);
  for (int32_t i = 0; i < n; i++) {
    const int32_t y = int_finished(a[i], own, zero_point, -most - 1, most);
    if (wide)
      static_cast<int16_t *>(out)[i] = static_cast<int16_t>(y);
    else
      static_cast<int8_t *>(out)[i] = static_cast<int8_t>(y);
  }
}

template <class Tile = tile>
constexpr int_steps make(const char *name) {
  return {name,     always,        2,          INT32_MAX,  open_query, pack_nothing, pack_nothing, scores<Tile>,
          greatest, probabilities, sums<Tile>, add_to_bin, join_bins,  finish};
}

}  // namespace plain_integers
}  // namespace
}  // namespace heed

#endif
