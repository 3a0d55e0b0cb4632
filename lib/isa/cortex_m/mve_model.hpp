// Helium (MVE, Cortex-M55 and M85): 4 floats, 8 registers. A multiply-add takes one factor from a general register, so
// nothing is broadcast. Always flushes subnormals. Included where HEED_FMA is defined.
#ifndef HEED_ISA_MVE_MODEL_HPP
#define HEED_ISA_MVE_MODEL_HPP

#include "../../vector/make_kernel.hpp"
#include "../../vector/widen.hpp"

#include <arm_mve.h>

namespace heed {
namespace {

struct mve {
  using reg = float32x4_t;
  static constexpr int lanes = 4;
  static constexpr bool has_fma = HEED_FMA;
  static constexpr bool compact = true, copies_panels = false, loads_narrow = true, transposes_words = false;
  static constexpr int factors_at_once = 1;
  static constexpr int score_keys = 2, score_vecs = 3;  // 6 dots + 1 of 3 queries
  static constexpr int sum_rows = 2, sum_vecs = 3;      // 6 sums + 1 of 3 columns

  static HEED_INLINE reg load(const float *p) { return vld1q_f32(p); }
  static HEED_INLINE reg load(const f16 *p) { return widen_f16(vldrhq_u32(&p->bits)); }
  static HEED_INLINE reg load(const bf16 *p) { return widen_bf16(vldrhq_u32(&p->bits)); }
  static HEED_INLINE reg load(const int8_t *p) { return vcvtq_f32_s32(vldrbq_s32(p)); }
  static HEED_INLINE reg load(const weight_byte *p) { return vreinterpretq_f32_u32(vldrbq_u32(&p->bits)); }
  static HEED_INLINE reg widen_bf16(uint32x4_t x) { return vreinterpretq_f32_u32(vshlq_n_u32(x, 16)); }
  static HEED_INLINE reg widen_f16(uint32x4_t x) {
#ifdef __clang__
    return vcvtbq_f32_f16(vreinterpretq_f16_u32(x));
#else
    reg y;  // vcvtb.f32.f16 %q0, %q1: Debian's assembler 2.40 encodes it, and vcvtt, wrongly
    asm(".irp n, 0, 1, 2, 3, 4, 5, 6, 7\n .set .Lheed_q\\n, \\n\n .endr\n"
        ".inst.w 0xfe3f0e01 + (.Lheed_%q0 << 13) + (.Lheed_%q1 << 1)"
        : "=w"(y)
        : "w"(x));
    return y;
#endif
  }
  static HEED_INLINE uint32x4_t rows(ptrdiff_t stride) {
    return vmulq_n_u32(vidupq_n_u32(0, 1), static_cast<uint32_t>(stride));
  }
  static HEED_INLINE reg column(const float *p, uint32x4_t rows) { return vldrwq_gather_shifted_offset_f32(p, rows); }
  static HEED_INLINE reg column(const f16 *p, uint32x4_t rows) {
    return widen_f16(vldrhq_gather_shifted_offset_u32(&p->bits, rows));
  }
  static HEED_INLINE reg column(const bf16 *p, uint32x4_t rows) {
    return widen_bf16(vldrhq_gather_shifted_offset_u32(&p->bits, rows));
  }
  static HEED_INLINE reg column(const int8_t *p, uint32x4_t rows) {
    return vcvtq_f32_s32(vldrbq_gather_offset_s32(p, rows));
  }
  static HEED_INLINE reg column(const weight_byte *p, uint32x4_t rows) {
    return vreinterpretq_f32_u32(vldrbq_gather_offset_u32(&p->bits, rows));
  }
  template <class T, class F>
  static HEED_INLINE void columns(const T *p, ptrdiff_t stride, F f) {
    const uint32x4_t of_rows = rows(stride);
    for_each_constant<columns_of<mve, T>>([&](auto i) { f(i, column(p + decltype(i)::value, of_rows)); });
  }
  // Words of four int8: f(constant<j>(), number j of each), j ascending.
  template <class F>
  static HEED_INLINE void each_byte(const unsigned char *p, F f) {
    const int8x16_t words = vreinterpretq_s8_u8(vld1q_u8(p));
    each_half(vmovlbq_s8(words), vmovltq_s8(words), f);
  }
  // The same less a zero point, which lies twice in each word of `zeros`.
  template <class F>
  static HEED_INLINE void each_byte_less(const unsigned char *p, const unsigned char *zeros, F f) {
    const int8x16_t words = vreinterpretq_s8_u8(vld1q_u8(p));
    const int16x8_t zero = vreinterpretq_s16_u8(vld1q_u8(zeros));
    int16x8_t even = vsubq_s16(vmovlbq_s8(words), zero), odd = vsubq_s16(vmovltq_s8(words), zero);
    asm("" : "+w"(even), "+w"(odd));  // else clang widens first and subtracts twice as often
    each_half(even, odd, f);
  }
  template <class F>
  static HEED_INLINE void each_half(int16x8_t even, int16x8_t odd, F f) {
    f(constant<0>(), vcvtq_f32_s32(vmovlbq_s16(even)));
    f(constant<1>(), vcvtq_f32_s32(vmovlbq_s16(odd)));
    f(constant<2>(), vcvtq_f32_s32(vmovltq_s16(even)));
    f(constant<3>(), vcvtq_f32_s32(vmovltq_s16(odd)));
  }
  // What is read from p waits for r.
  template <class T>
  static HEED_INLINE void in_turn(reg &r, const T *&p) {
    asm("" : "+w"(r), "+r"(p));
  }
  // The low halves of bytes, less 8.
  static HEED_INLINE reg bytes_of_nibbles(reg words) {
    const uint8x16_t low = vandq_u8(vreinterpretq_u8_f32(words), vdupq_n_u8(15));
    return vreinterpretq_f32_u8(vsubq_n_u8(low, 8));
  }
  static HEED_INLINE void store(float *p, reg r) { vst1q_f32(p, r); }
  static HEED_INLINE reg load_n(const float *p, int32_t n) { return vld1q_z_f32(p, vctp32q(static_cast<uint32_t>(n))); }
  static HEED_INLINE void store_n(float *p, reg r, int32_t n) { vst1q_p_f32(p, r, vctp32q(static_cast<uint32_t>(n))); }
  static HEED_INLINE reg set(float x) { return vdupq_n_f32(x); }
  static HEED_INLINE float factor(float x) { return x; }
  static HEED_INLINE reg add(reg a, reg b) { return vaddq_f32(a, b); }
  static HEED_INLINE reg sub(reg a, reg b) { return vsubq_f32(a, b); }
  static HEED_INLINE reg mul(reg a, reg b) { return vmulq_f32(a, b); }
  static HEED_INLINE reg fma(reg a, reg b, reg c) { return HEED_FMA ? vfmaq_f32(c, a, b) : add(mul(a, b), c); }
  static HEED_INLINE reg fma(float a, reg b, reg c) {
    return HEED_FMA ? vfmaq_n_f32(c, b, a) : add(vmulq_n_f32(b, a), c);
  }
  static HEED_INLINE reg masked(reg x, uint32_t mask, uint32_t flip) {
    return vreinterpretq_f32_u32(veorq_u32(vandq_u32(vreinterpretq_u32_f32(x), vdupq_n_u32(mask)), vdupq_n_u32(flip)));
  }
  template <int BITS>
  static HEED_INLINE reg shift_down(reg x) {
    return vreinterpretq_f32_u32(vshrq_n_u32(vreinterpretq_u32_f32(x), BITS));
  }
  static HEED_INLINE reg max(reg a, reg b) { return vmaxnmq_f32(a, b); }
  // By the bits, from the first below limit to -infinity: "less than" of Helium holds for NaN, and clang 19 makes one
  // of "limit is greater", too.
  static HEED_INLINE reg zero_below(reg y, reg x, float limit) {
    union {
      float number;
      uint32_t bits;
    } u = {limit};
    const uint32_t first = u.bits + 1, last = 0xff800000;
    const mve_pred16_t outside = vcmphiq_n_u32(vsubq_n_u32(vreinterpretq_u32_f32(x), first), last - first);
    return vpselq_f32(y, vdupq_n_f32(0.0f), outside);
  }
  static HEED_INLINE reg hide(reg x, reg flags, uint32_t bits) {
    uint32x4_t some = vandq_u32(vreinterpretq_u32_f32(flags), vdupq_n_u32(bits));
    asm("" : "+w"(some));  // GCC 12.2 stops where it sees through
    return vpselq_f32(x, vdupq_n_f32(negative_infinity), vcmpneq_n_u32(some, 0));
  }
  static HEED_INLINE reg rounded(reg x, reg &t) {
    t = vaddq_n_f32(x, exp2_magic);
    return vsubq_n_f32(t, exp2_magic);
  }
  static HEED_INLINE reg times_power(reg y, reg t) {
    return vmulq_f32(y, vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(t), 23)));
  }
  static HEED_INLINE reg power(reg y, reg t, reg x) { return zero_below(times_power(y, t), x, exp2_cutoff); }
  static HEED_INLINE reg inverse_guess(reg d) {
    return vreinterpretq_f32_u32(vsubq_u32(vdupq_n_u32(inverse_bits), vreinterpretq_u32_f32(d)));
  }
  static HEED_INLINE reg if_negative(reg x, reg a, reg b) {
    return vpselq_f32(a, b, vcmpltq_n_s32(vreinterpretq_s32_f32(x), 0));
  }
  static HEED_INLINE float tree(reg r) { return tree_of_lanes<mve>(r); }
  static HEED_INLINE reg swap_pairs(reg r) { return vrev64q_f32(r); }
  template <class T>
  static HEED_INLINE void pin(T &) {}

  static HEED_INLINE void transpose4(const float *p, ptrdiff_t stride, reg (&out)[4]) {
    const uint32x4_t of_rows = rows(stride);
    HEED_UNROLL for (int i = 0; i < 4; i++) out[i] = column(p + i, of_rows);
  }
};

}  // namespace
}  // namespace heed

#endif
