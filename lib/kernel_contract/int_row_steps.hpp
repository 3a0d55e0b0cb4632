// Rows in integers: what a kernel does for a piece of a row. Numbers in between are int32, at most 2^30 in magnitude.
#ifndef HEED_INT_ROW_STEPS_HPP
#define HEED_INT_ROW_STEPS_HPP

#include "int_row_rules.hpp"

namespace heed {

// y = (((x * times + plus) * m >> 32) + half) >> down. The sum fits 32 bits, if its parts do not.
struct scale_rule {
  uint32_t times, plus;
  int32_t m;
  upper_rule upper;
};
HEED_INLINE bool has_upper_scale(multiplier m) { return m.e <= 14; }  // x of 16 bits goes up by 16 at most
HEED_INLINE scale_rule scale_rule_of(multiplier m) {
  const upper_rule upper = upper_of(31 - m.e);
  return {1u << upper.up, 0, m.m, upper};
}
// I12: n x - sum, at most sqrt(n) * 2^(shift - 10), becomes z.
HEED_INLINE scale_rule scale_rule_of(norm_factor f, int32_t n, int32_t sum) {
  if (f.r >> 31 != 0) f.r >>= 1, f.shift--;  // r is 2^31
  const upper_rule upper = upper_of(f.shift);
  return {static_cast<uint32_t>(n) << upper.up, (0 - static_cast<uint32_t>(sum)) << upper.up, static_cast<int32_t>(f.r),
          upper};
}

// I11 from upper halves: what a and b go up by is part of their rule.
HEED_INLINE bool has_upper_sum(const sum_rule &s) {
  const int32_t up = upper_of(s.shift).up;
  return s.a_up + up <= 16 && s.b_up + up <= 16;
}
HEED_INLINE bool has_upper_product(multiplier m) { return m.e <= -2; }

struct int_moments {
  int32_t sum;
  uint64_t squares;
};

struct int_row_steps {
  // to[i] = x[i] - zero_point.
  void (*widen)(const int8_t *x, int32_t n, int32_t zero_point, int16_t *to);
  // y[i] = clamp(x[i] + zero_point), int8 or int16 (wide).
  void (*narrow)(const int32_t *x, int32_t n, int32_t zero_point, bool wide, void *y);
  // I11, for rules that have_upper.
  void (*add)(const int16_t *a, const int16_t *b, int32_t n, const sum_rule &rule, int32_t *to);
  void (*multiply)(const int16_t *a, const int16_t *b, int32_t n, multiplier m, int32_t *to);
  void (*scale)(const int16_t *x, int32_t n, const scale_rule &rule, int32_t *to);
  // I12: adds to m. Of z, z * weight + bias * 2^20 is taken in place; bias may be null.
  void (*moments)(const int16_t *x, int32_t n, int_moments &m);
  void (*weigh)(int32_t *z, int32_t n, const int32_t *weight, const int32_t *bias, const upper_rule &rule);
  // I13: y may be x.
  void (*lookup)(const int8_t *x, int32_t n, const int8_t *table, int8_t *y);
};

#ifndef HEED_SINGLE
extern const int_row_steps int_plain_rows;
#endif

}  // namespace heed

#endif
