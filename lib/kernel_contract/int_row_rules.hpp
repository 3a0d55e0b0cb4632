// The rules of rows in integers (I11 and I12 of arithmetic.hpp), for one number or one row.
#ifndef HEED_INT_ROW_RULES_HPP
#define HEED_INT_ROW_RULES_HPP

#include "integers.hpp"

namespace heed {

// x * 2^-shift to nearest, halves up; shift 1 to 62.
HEED_INLINE int64_t shifted(int64_t x, int32_t shift) {
  return (x + (static_cast<int64_t>(1) << (shift - 1))) >> shift;
}

// The same from the upper half of x alone: from a shift of 33 on, half a unit is no part of the lower one. Where the
// shift is smaller, a factor of x goes `up` first, as far as it has room for that.
struct upper_rule {
  int32_t up, half, down;
};
HEED_INLINE upper_rule upper_of(int32_t shift) {
  const int32_t up = shift < 33 ? 33 - shift : 0, down = shift + up - 32;
  return {up, 1 << (down - 1), down};
}
HEED_INLINE int32_t shifted_upper(int64_t x, const upper_rule &rule) {
  return (static_cast<int32_t>(x >> 32) + rule.half) >> rule.down;
}

// I11. Both factors on the smaller of their exponents.
struct sum_rule {
  int32_t a_m, a_up, b_m, b_up, shift;
};
HEED_INLINE sum_rule sum_rule_of(multiplier a, multiplier b) {
  const int32_t e = smaller_of(a.e, b.e);
  return {a.m, a.e - e, b.m, b.e - e, 31 - e};
}
HEED_INLINE int64_t int_sum(const sum_rule &rule, int32_t a, int32_t b) {
  return shifted(
      static_cast<int64_t>(a) * rule.a_m * (1 << rule.a_up) + static_cast<int64_t>(b) * rule.b_m * (1 << rule.b_up),
      rule.shift);
}

// The root of x, rounded down.
inline uint32_t int_root(uint64_t x) {
  uint64_t root = 0;
  for (uint64_t bit = static_cast<uint64_t>(1) << 62; bit != 0; bit >>= 2) {
    const bool fits = x >= root + bit;
    if (fits) x -= root + bit;
    root = (root >> 1) + (fits ? bit : 0);
  }
  return static_cast<uint32_t>(root);
}

// I12: a row's n x - sum (or n x) becomes z = that * r * 2^-shift, with 20 bits of fraction.
constexpr int32_t norm_fraction = 20;
struct norm_factor {
  uint32_t r;  // at most 2^31
  int32_t shift;
};
// v: n^2 times the variance, or the mean of squares, with eps; not 0, below 2^62.
inline norm_factor norm_factor_of(uint64_t v) {
  const int32_t a = (64 - bit_length(v)) / 2;
  return {static_cast<uint32_t>((static_cast<uint64_t>(1) << 62) / int_root(v << (2 * a))), 62 - norm_fraction - a};
}
}  // namespace heed

#endif
