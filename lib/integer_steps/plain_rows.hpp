// The steps of rows in integers in plain C++: for processors without vectors, and for what vectors leave over. n is at
// least 1. Each is a function: inlined into their callers, small cores have too few registers for them.
#ifndef HEED_GENERIC_INT_ROWS_HPP
#define HEED_GENERIC_INT_ROWS_HPP

#include "../kernel_contract/int_row_steps.hpp"

namespace heed {
namespace {
namespace plain_rows {

[[maybe_unused]] HEED_NOINLINE void widen(const int8_t *x, int32_t n, int32_t zero_point, int16_t *to) {
  const int8_t *const end = x + n;
  do *to++ = static_cast<int16_t>(*x++ - zero_point);
  while (x != end);
}

template <class T>
HEED_INLINE void narrow_to(const int32_t *x, int32_t n, int32_t zero_point, T *y) {
  const int32_t *const end = x + n;
  do *y++ = static_cast<T>(saturated<T>(*x++ + zero_point));
  while (x != end);
}
[[maybe_unused]] HEED_NOINLINE void narrow(const int32_t *x, int32_t n, int32_t zero_point, bool wide, void *y) {
  wide ? narrow_to(x, n, zero_point, static_cast<int16_t *>(y)) : narrow_to(x, n, zero_point, static_cast<int8_t *>(y));
}

[[maybe_unused]] HEED_NOINLINE void add(const int16_t *a, const int16_t *b, int32_t n, const sum_rule &rule,
                                        int32_t *to) {
  const upper_rule upper = upper_of(rule.shift);
  const int32_t a_times = 1 << (rule.a_up + upper.up), b_times = 1 << (rule.b_up + upper.up);
  const int32_t a_m = rule.a_m, b_m = rule.b_m;
  const int16_t *const end = a + n;
  do {
    const int64_t first = static_cast<int64_t>(*a++ * a_times) * a_m;
    *to++ = shifted_upper(first + static_cast<int64_t>(*b++ * b_times) * b_m, upper);
  } while (a != end);
}

[[maybe_unused]] HEED_NOINLINE void multiply(const int16_t *a, const int16_t *b, int32_t n, multiplier m, int32_t *to) {
  const upper_rule upper = upper_of(31 - m.e);
  const int16_t *const end = a + n;
  do *to++ = shifted_upper(static_cast<int64_t>(*a++ * *b++) * m.m, upper);
  while (a != end);
}

[[maybe_unused]] HEED_NOINLINE void scale(const int16_t *x, int32_t n, const scale_rule &rule, int32_t *to) {
  const scale_rule own = rule;
  const int16_t *const end = x + n;
  do {
    const uint32_t sum = static_cast<uint32_t>(*x++) * own.times + own.plus;
    *to++ = shifted_upper(static_cast<int64_t>(static_cast<int32_t>(sum)) * own.m, own.upper);
  } while (x != end);
}

[[maybe_unused]] HEED_NOINLINE void moments(const int16_t *x, int32_t n, int_moments &m) {
  const int_moments before = m;
  int32_t sum = before.sum;
  uint64_t squares = before.squares;
  const int16_t *const end = x + n;
  do {
    const int32_t number = *x++;
    sum += number;
    squares += static_cast<uint32_t>(number * number);
  } while (x != end);
  m = {sum, squares};
}

[[maybe_unused]] HEED_NOINLINE void weigh(int32_t *z, int32_t n, const int32_t *weight, const int32_t *bias,
                                          const upper_rule &rule) {
  const upper_rule own = rule;
  const int32_t none = 0, *b = bias ? bias : &none;
  const ptrdiff_t step = bias ? 1 : 0;
  int32_t *const end = z + n;
  do {
    const int64_t product = static_cast<int64_t>(*z) * *weight++;
    *z++ = shifted_upper(product + static_cast<int64_t>(*b) * (1 << norm_fraction), own);
    b += step;
  } while (z != end);
}

[[maybe_unused]] HEED_NOINLINE void lookup(const int8_t *x, int32_t n, const int8_t *table, int8_t *y) {
  const int8_t *const end = x + n;
  do *y++ = table[*x++ + 128];
  while (x != end);
}

[[maybe_unused]] constexpr int_row_steps make() {
  return {widen, narrow, add, multiply, scale, moments, weigh, lookup};
}

}  // namespace plain_rows
}  // namespace
}  // namespace heed

#endif
