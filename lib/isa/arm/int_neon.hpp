// What both kernels of integers for AArch64 have in common: what is done to scores and sums, eight or four at a time.
#ifndef HEED_ISA_INT_NEON_HPP
#define HEED_ISA_INT_NEON_HPP

#include "../../integer_steps/plain.hpp"
#include "../../vector/vector.hpp"

#include <arm_neon.h>

namespace heed {
namespace {
namespace neon_common {

// 16 bytes, or the `left` that there are, and zeros.
HEED_INLINE int8x16_t load_bytes(const int8_t *p, int32_t left) {
  if (left >= 16) return vld1q_s8(p);
  int8_t bytes[16] = {};
  __builtin_memcpy(bytes, p, static_cast<size_t>(left));
  return vld1q_s8(bytes);
}

inline int32_t greatest(const int32_t *s, int32_t n) {
  if (n < 4) return plain_integers::greatest(s, n);
  int32x4_t max = vld1q_s32(s + n - 4);
  for (int32_t j = n >> 2; j > 0; j--, s += 4) max = vmaxq_s32(max, vld1q_s32(s));
  return vmaxvq_s32(max);
}

inline int32_t probabilities(int32_t *s, int32_t n, int32_t padded, const distance_rule &rule, int32_t max,
                             uint32_t offset) {
  const int32x4_t h = vdupq_n_s32(-rule.h), m = vdupq_n_s32(max);
  const uint16x4_t m16 = vdup_n_u16(static_cast<uint16_t>(rule.m16));
  const uint16x8_t limit = vdupq_n_u16(static_cast<uint16_t>(rule.limit)),
                   from = vdupq_n_u16(static_cast<uint16_t>(offset));
  const int16x8_t g = vdupq_n_s16(static_cast<int16_t>(rule.g));
  const uint16x8_t lanes = {0, 1, 2, 3, 4, 5, 6, 7};
  int16_t *p = reinterpret_cast<int16_t *>(s);
  int32x4_t l = vdupq_n_s32(0);
  for (int32_t left = n; left > 0; left -= 8, s += 8, p += 8) {
    const uint32x4_t a = vshlq_u32(vreinterpretq_u32_s32(vsubq_s32(m, vld1q_s32(s))), h),
                     b = vshlq_u32(vreinterpretq_u32_s32(vsubq_s32(m, vld1q_s32(s + 4))), h);
    const uint16x8_t d = vshlq_u16(vminq_u16(vqmovn_high_u32(vqmovn_u32(a), b), limit), g);
    const uint32x4_t low = vmull_u16(vget_low_u16(d), m16), high = vmull_high_u16(d, vcombine_u16(m16, m16));
    const uint16x8_t u = vqaddq_u16(vuzp2q_u16(vreinterpretq_u16_u32(low), vreinterpretq_u16_u32(high)), from);
    const int16x8_t t = vreinterpretq_s16_u16(veorq_u16(vshlq_n_u16(u, 16 - int_fraction), vdupq_n_u16(0x8000)));
    int16x8_t y = vaddq_s16(vqrdmulhq_s16(t, vdupq_n_s16(int_exp[3])), vdupq_n_s16(int_exp[2]));
    y = vaddq_s16(vqrdmulhq_s16(y, t), vdupq_n_s16(int_exp[1]));
    y = vaddq_s16(vqrdmulhq_s16(y, t), vdupq_n_s16(int_exp[0]));
    y = vrshlq_s16(y, vnegq_s16(vreinterpretq_s16_u16(vshrq_n_u16(u, int_fraction))));
    if (left < 8) y = vandq_s16(y, vreinterpretq_s16_u16(vcltq_u16(lanes, vdupq_n_u16(static_cast<uint16_t>(left)))));
    vst1q_s16(p, y);
    l = vpadalq_s16(l, y);
  }
  for (int32_t j = (n + 7) & ~7; j < padded; j += 8, p += 8) vst1q_s16(p, vdupq_n_s16(0));
  return vaddvq_s32(l);
}

inline void add_to_bin(int64_t *bin, const int32_t *a, int32_t n, int32_t shift) {
  const int64x2_t up = vdupq_n_s64(shift);
  for (; n >= 4; n -= 4, bin += 4, a += 4) {
    const int32x4_t x = vld1q_s32(a);
    vst1q_s64(bin, vaddq_s64(vld1q_s64(bin), vshlq_s64(vmovl_s32(vget_low_s32(x)), up)));
    vst1q_s64(bin + 2, vaddq_s64(vld1q_s64(bin + 2), vshlq_s64(vmovl_high_s32(x), up)));
  }
  plain_integers::add_to_bin(bin, a, n, shift);
}

inline void join_bins(const int64_t *top, const int64_t *low, int32_t n, int32_t down, int32_t *a) {
  const int64x2_t shift = vdupq_n_s64(-down);
  const auto two = [&](int32_t i) HEED_INLINED {
    return vmovn_s64(vshlq_s64(vsraq_n_s64(vld1q_s64(top + i), vld1q_s64(low + i), int_bin), shift));
  };
  int32_t i = 0;
  for (; i + 4 <= n; i += 4) vst1q_s32(a + i, vcombine_s32(two(i), two(i + 2)));
  plain_integers::join_bins(top + i, low + i, n - i, down, a + i);
}

template <bool WIDE>
HEED_INLINE void finish_as(const int32_t *a, int32_t n, const int_finish &f, int32_t zero_point, void *out) {
  const int32x4_t up = vdupq_n_s32(f.up), down = vdupq_n_s32(32 - f.t), zero = vdupq_n_s32(zero_point),
                  q = vdupq_n_s32(f.q);
  const int64x2_t bias = vdupq_n_s64(static_cast<int64_t>(f.bias));
  int16_t *wide = static_cast<int16_t *>(out);
  int8_t *narrow = static_cast<int8_t *>(out);
  const auto eight = [&](const int32_t *from) HEED_INLINED {
    const auto four = [&](const int32_t *p) HEED_INLINED {
      const int32x4_t x = vshlq_s32(vld1q_s32(p), up);
      const int64x2_t y = vmlal_s32(bias, vget_low_s32(x), vget_low_s32(q)), z = vmlal_high_s32(bias, x, q);
      const int32x4_t high = vuzp2q_s32(vreinterpretq_s32_s64(y), vreinterpretq_s32_s64(z));
      return vqmovn_s32(vqaddq_s32(vshlq_s32(high, down), zero));
    };
    return vcombine_s16(four(from), four(from + 4));
  };
  int32_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const int16x8_t y = eight(a + i);
    WIDE ? vst1q_s16(wide + i, y) : vst1_s8(narrow + i, vqmovn_s16(y));
  }
  if (i == n) return;
  int32_t rest[8] = {};
  for (int32_t j = i; j < n; j++) rest[j - i] = a[j];
  const int16x8_t y = eight(rest);
  int16_t ends[8];
  const int16x8_t written = WIDE ? y : vmovl_s8(vqmovn_s16(y));
  vst1q_s16(ends, written);
  for (int32_t j = i; j < n; j++) WIDE ? wide[j] = ends[j - i] : narrow[j] = static_cast<int8_t>(ends[j - i]);
}
inline void finish(const int32_t *a, int32_t n, const int_finish &f, int32_t zero_point, bool wide, void *out) {
  wide ? finish_as<true>(a, n, f, zero_point, out) : finish_as<false>(a, n, f, zero_point, out);
}

// f(constant<ROWS>, first row) for rows four by four.
template <class F>
HEED_INLINE void four_rows(int32_t n_rows, F f) {
  for (int32_t r = 0; r < n_rows; r += 4) {
    if (n_rows - r >= 4)
      f(constant<4>(), r);
    else if (n_rows - r == 3)
      f(constant<3>(), r);
    else if (n_rows - r == 2)
      f(constant<2>(), r);
    else
      f(constant<1>(), r);
  }
}

}  // namespace neon_common
}  // namespace
}  // namespace heed

#endif
