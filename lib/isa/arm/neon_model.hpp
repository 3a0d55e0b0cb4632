// What 32-bit and 64-bit Arm NEON share: 4 floats.
#ifndef HEED_ISA_NEON_MODEL_HPP
#define HEED_ISA_NEON_MODEL_HPP

#include "../portable/xsimd_model.hpp"

namespace heed {

template <class Arch>
struct neon_model : xsimd_model<Arch> {
  using reg = typename xsimd_model<Arch>::reg;

  static HEED_INLINE reg fma(reg a, reg b, reg c) {
#if HEED_FMA
    return vfmaq_f32(c, a, b);
#else
    return vaddq_f32(vmulq_f32(a, b), c);
#endif
  }
  static HEED_INLINE reg zero_below(reg y, reg x, float limit) {
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(y), vcltq_f32(x, vdupq_n_f32(limit))));
  }
  static HEED_INLINE reg times_power(reg y, reg t) {
    return vmulq_f32(y, vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(t), 23)));
  }
  static HEED_INLINE reg power(reg y, reg t, reg x) { return zero_below(times_power(y, t), x, exp2_cutoff); }
  static HEED_INLINE reg inverse_guess(reg d) {
    return vreinterpretq_f32_u32(vsubq_u32(vdupq_n_u32(inverse_bits), vreinterpretq_u32_f32(d)));
  }
  static HEED_INLINE reg if_negative(reg x, reg a, reg b) {
    return vbslq_f32(vreinterpretq_u32_s32(vshrq_n_s32(vreinterpretq_s32_f32(x), 31)), a, b);
  }
  static HEED_INLINE float tree(reg r) {
    const float32x2_t half = vadd_f32(vget_low_f32(r), vget_high_f32(r));
    return vget_lane_f32(vpadd_f32(half, half), 0);
  }
  static HEED_INLINE reg swap_pairs(reg r) { return vrev64q_f32(r); }
  static HEED_INLINE reg hide(reg x, reg flags, uint32_t bits) {
    const uint32x4_t attend = vtstq_u32(vreinterpretq_u32_f32(flags), vdupq_n_u32(bits));
    return vbslq_f32(attend, x, vdupq_n_f32(negative_infinity));
  }
  template <class T, class F>
  static HEED_INLINE void columns(const T *p, ptrdiff_t stride, F f) {
    if constexpr (sizeof(T) == 4)
      columns_of_floats<neon_model>(p, stride, f);
    else
      columns_each4<neon_model>(p, stride, f);
  }
  static HEED_INLINE void pin(reg &r) { asm("" : "+w"(r)); }

  static HEED_INLINE void transpose4(const float *p, ptrdiff_t stride, reg (&out)[4]) {
    const float32x4x2_t low = vtrnq_f32(vld1q_f32(p), vld1q_f32(p + stride));
    const float32x4x2_t high = vtrnq_f32(vld1q_f32(p + 2 * stride), vld1q_f32(p + 3 * stride));
    out[0] = vcombine_f32(vget_low_f32(low.val[0]), vget_low_f32(high.val[0]));
    out[1] = vcombine_f32(vget_low_f32(low.val[1]), vget_low_f32(high.val[1]));
    out[2] = vcombine_f32(vget_high_f32(low.val[0]), vget_high_f32(high.val[0]));
    out[3] = vcombine_f32(vget_high_f32(low.val[1]), vget_high_f32(high.val[1]));
  }
};

}  // namespace heed

#endif
