// Rows in integers with Helium: four numbers at a time, tables sixteen. What is left over is done without vectors.
#ifndef HEED_ISA_INT_MVE_ROWS_HPP
#define HEED_ISA_INT_MVE_ROWS_HPP

#include "../../integer_steps/plain_rows.hpp"

#include <arm_mve.h>

namespace heed {
namespace {
namespace mve_rows {

// The upper halves of a * b + c * d.
HEED_INLINE int32x4_t upper_of_sum(int32x4_t high_a, uint32x4_t low_a, int32x4_t high_b, uint32x4_t low_b) {
  const uint32x4_t half = vhaddq_u32(low_a, low_b);  // bit 31: the carry
  return vaddq_s32(vaddq_s32(high_a, high_b), vreinterpretq_s32_u32(vshrq_n_u32(half, 31)));
}
HEED_INLINE uint32x4_t low_product(int32x4_t a, int32x4_t b) { return vreinterpretq_u32_s32(vmulq_s32(a, b)); }

template <class T>
HEED_INLINE void narrow_to(const int32_t *x, int32_t n, int32_t zero_point, T *y) {
  for (int32_t i = n >> 2; i > 0; i--, x += 4, y += 4) {
    const int16x8_t wide = vqmovnbq_s32(vdupq_n_s16(0), vaddq_n_s32(vld1q_s32(x), zero_point));
    if constexpr (sizeof(T) == 2)
      vstrhq_s32(y, vreinterpretq_s32_s16(wide));
    else
      vstrbq_s32(y, vreinterpretq_s32_s8(vqmovnbq_s16(vdupq_n_s8(0), wide)));
  }
  if (n & 3) plain_rows::narrow(x, n & 3, zero_point, sizeof(T) == 2, y);
}
void narrow(const int32_t *x, int32_t n, int32_t zero_point, bool wide, void *y) {
  wide ? narrow_to(x, n, zero_point, static_cast<int16_t *>(y)) : narrow_to(x, n, zero_point, static_cast<int8_t *>(y));
}

void add(const int16_t *a, const int16_t *b, int32_t n, const sum_rule &rule, int32_t *to) {
  const upper_rule upper = upper_of(rule.shift);
  const int32_t a_up = rule.a_up + upper.up, b_up = rule.b_up + upper.up;
  const int32x4_t a_m = vdupq_n_s32(rule.a_m), b_m = vdupq_n_s32(rule.b_m), down = vdupq_n_s32(-upper.down);
  for (int32_t i = n >> 2; i > 0; i--, a += 4, b += 4, to += 4) {
    const int32x4_t x = vshlq_r_s32(vldrhq_s32(a), a_up), y = vshlq_r_s32(vldrhq_s32(b), b_up);
    const int32x4_t high =
        upper_of_sum(vmulhq_s32(x, a_m), low_product(x, a_m), vmulhq_s32(y, b_m), low_product(y, b_m));
    vst1q_s32(to, vrshlq_s32(high, down));
  }
  if (n & 3) plain_rows::add(a, b, n & 3, rule, to);
}

void scale(const int16_t *x, int32_t n, const scale_rule &rule, int32_t *to) {
  const int32_t times = static_cast<int32_t>(rule.times), plus = static_cast<int32_t>(rule.plus);
  const int32x4_t m = vdupq_n_s32(rule.m), down = vdupq_n_s32(-rule.upper.down);
  for (int32_t i = n >> 2; i > 0; i--, x += 4, to += 4) {
    const int32x4_t sum = vaddq_n_s32(vmulq_n_s32(vldrhq_s32(x), times), plus);
    vst1q_s32(to, vrshlq_s32(vmulhq_s32(sum, m), down));
  }
  if (n & 3) plain_rows::scale(x, n & 3, rule, to);
}

void moments(const int16_t *x, int32_t n, int_moments &m) {
  int64_t squares = static_cast<int64_t>(m.squares);
  int32_t sum = m.sum;
  for (int32_t i = n >> 3; i > 0; i--, x += 8) {
    const int16x8_t numbers = vld1q_s16(x);
    squares = vmlaldavaq_s16(squares, numbers, numbers);
    sum = vaddvaq_s16(sum, numbers);
  }
  m = {sum, static_cast<uint64_t>(squares)};
  if (n & 7) plain_rows::moments(x, n & 7, m);
}

template <bool BIASED>
HEED_INLINE void weigh_as(int32_t *z, int32_t n, const int32_t *weight, const int32_t *bias, const upper_rule &rule) {
  const int32x4_t down = vdupq_n_s32(-rule.down);
  for (int32_t i = n >> 2; i > 0; i--, z += 4, weight += 4) {
    const int32x4_t x = vld1q_s32(z), w = vld1q_s32(weight);
    int32x4_t high = vmulhq_s32(x, w);
    if (BIASED) {
      const int32x4_t b = vld1q_s32(bias);
      bias += 4;
      high = upper_of_sum(high, low_product(x, w), vshrq_n_s32(b, 32 - norm_fraction),
                          vreinterpretq_u32_s32(vshlq_n_s32(b, norm_fraction)));
    }
    vst1q_s32(z, vrshlq_s32(high, down));
  }
  if (n & 3) plain_rows::weigh(z, n & 3, weight, bias, rule);
}
void weigh(int32_t *z, int32_t n, const int32_t *weight, const int32_t *bias, const upper_rule &rule) {
  bias ? weigh_as<true>(z, n, weight, bias, rule) : weigh_as<false>(z, n, weight, nullptr, rule);
}

void lookup(const int8_t *x, int32_t n, const int8_t *table, int8_t *y) {
  for (int32_t i = n >> 4; i > 0; i--, x += 16, y += 16)
    vst1q_s8(y, vldrbq_gather_offset_s8(table, veorq_u8(vreinterpretq_u8_s8(vld1q_s8(x)), vdupq_n_u8(128))));
  if (n & 15) plain_rows::lookup(x, n & 15, table, y);
}

constexpr int_row_steps make() {
  return {plain_rows::widen, narrow, add, plain_rows::multiply, scale, moments, weigh, lookup};
}

}  // namespace mve_rows
}  // namespace
}  // namespace heed

#endif
