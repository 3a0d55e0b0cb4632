// The steps of attention in integers in plain C++, two rows at a time, where they lie: for cores without vectors, and for
// what vectors leave over.
#ifndef HEED_PLAIN_INTEGERS_HPP
#define HEED_PLAIN_INTEGERS_HPP

#include "../../kernel/integers.hpp"

namespace heed {
namespace {
namespace plain_integers {

inline bool always() { return true; }

// 16 bits, without the zero point.
inline int32_t open_query(const int8_t *q, int32_t dim, int32_t zero_point, void *to) {
  int16_t *wide = static_cast<int16_t *>(to);
  int32_t sum = 0;
  for (int32_t i = 0; i < dim; i++) sum += wide[i] = static_cast<int16_t>(q[i] - zero_point);
  return sum;
}

inline void pack_nothing(const int_rows &, void *) {}

// Two queries, or one, against two keys.
template <int ROWS>
HEED_INLINE void score_keys(const int16_t *q, ptrdiff_t q_stride, const int_rows &k, int32_t j, int32_t *s) {
  const int8_t *a = k.data + j * k.stride, *b = j + 1 < k.n ? a + k.stride : a;
  const int16_t *p = q, *r = q + q_stride, *const end = q + k.dim;
  int32_t pa = 0, pb = 0, ra = 0, rb = 0;
  while (p != end) {
    const int32_t ka = *a++, kb = *b++, x = *p++;
    pa += x * ka;
    pb += x * kb;
    if (ROWS == 2) {
      const int32_t y = *r++;
      ra += y * ka;
      rb += y * kb;
    }
  }
  s[j] = pa;
  s[j + 1] = pb;
  if (ROWS == 2) s[int_block + j] = ra, s[int_block + j + 1] = rb;
}
inline void scores(const void *queries, ptrdiff_t query_bytes, int32_t n_rows, int32_t, const int_rows &k, int32_t *s) {
  const int16_t *q = static_cast<const int16_t *>(queries);
  const ptrdiff_t q_stride = query_bytes / 2;
  int32_t r = 0;
  for (; r + 2 <= n_rows; r += 2)
    for (int32_t j = 0; j < k.n; j += 2) score_keys<2>(q + r * q_stride, q_stride, k, j, s + r * int_block);
  if (r < n_rows)
    for (int32_t j = 0; j < k.n; j += 2) score_keys<1>(q + r * q_stride, q_stride, k, j, s + r * int_block);
}

inline int32_t greatest(const int32_t *s, int32_t n) {
  int32_t max = s[0];
  for (int32_t j = 1; j < n; j++)
    if (s[j] > max) max = s[j];
  return max;
}

inline int32_t probabilities(int32_t *s, int32_t n, int32_t padded, const distance_rule &rule, int32_t max,
                             uint32_t offset) {
  int16_t *p = reinterpret_cast<int16_t *>(s);
  const distance_rule own = rule;
  int32_t l = 0;
  for (int32_t j = 0; j < n; j++) {
    int32_t score;
    __builtin_memcpy(&score, s + j, sizeof score);  // p is written where s is read
    const int32_t x = int_probability(static_cast<uint32_t>(max) - static_cast<uint32_t>(score), own, offset);
    l += x;
    const int16_t narrow = static_cast<int16_t>(x);
    __builtin_memcpy(p + j, &narrow, sizeof narrow);
  }
  __builtin_memset(p + n, 0, static_cast<size_t>(padded - n) * 2);
  return l;
}

// COLUMNS columns of two rows, or of one.
template <int ROWS, int COLUMNS>
HEED_INLINE void sum_columns(const int16_t *p, const int_rows &v, int32_t column, int32_t *acc, ptrdiff_t acc_stride) {
  const int8_t *x = v.data + column;
  const int16_t *const end = p + v.n;
  int32_t a[COLUMNS] = {}, b[COLUMNS] = {};
  for (; p != end; p++, x += v.stride) {
    const int32_t e = p[0], f = ROWS == 2 ? p[2 * int_block] : 0;
    for (int32_t i = 0; i < COLUMNS; i++) {
      const int32_t y = x[i];
      a[i] += e * y;
      if (ROWS == 2) b[i] += f * y;
    }
  }
  for (int32_t i = 0; i < COLUMNS; i++) {
    acc[column + i] = a[i];
    if (ROWS == 2) acc[acc_stride + column + i] = b[i];
  }
}
template <int ROWS>
HEED_INLINE void sum_rows(const int16_t *p, const int_rows &v, int32_t *acc, ptrdiff_t acc_stride) {
  constexpr int columns = 4;
  int32_t i = 0;
  for (; i + columns <= v.dim; i += columns) sum_columns<ROWS, columns>(p, v, i, acc, acc_stride);
  for (; i < v.dim; i++) sum_columns<ROWS, 1>(p, v, i, acc, acc_stride);
}
inline void sums(int32_t *p, int32_t n_rows, const int_rows &v, int32_t *acc, ptrdiff_t acc_stride) {
  const int16_t *rows = reinterpret_cast<const int16_t *>(p);
  int32_t r = 0;
  for (; r + 2 <= n_rows; r += 2) sum_rows<2>(rows + r * 2 * int_block, v, acc + r * acc_stride, acc_stride);
  if (r < n_rows) sum_rows<1>(rows + r * 2 * int_block, v, acc + r * acc_stride, acc_stride);
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

inline void finish(const int32_t *a, int32_t n, const int_finish &f, int32_t zero_point, bool wide, void *out) {
  const int_finish own = f;
  const int32_t most = wide ? 32767 : 127;
  for (int32_t i = 0; i < n; i++) {
    const int32_t y = int_finished(a[i], own, zero_point, -most - 1, most);
    if (wide)
      static_cast<int16_t *>(out)[i] = static_cast<int16_t>(y);
    else
      static_cast<int8_t *>(out)[i] = static_cast<int8_t>(y);
  }
}

constexpr int_steps make(const char *name) {
  return {name,         always,   2,        INT32_MAX, open_query,    pack_nothing, pack_nothing,
          scores,       greatest, probabilities, sums, add_to_bin, join_bins,    finish};
}

}  // namespace plain_integers
}  // namespace
}  // namespace heed

#endif
