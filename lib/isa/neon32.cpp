// 32-bit Arm NEON with VFPv4 (fused multiply-add): 4 floats, 16 registers. Always flushes subnormals.
#include "xsimd_model.hpp"

#include "cpu.hpp"

namespace heed {
namespace {

struct neon32 : xsimd_model<xsimd::neon> {
  static constexpr int score_keys = 4, score_vecs = 2;
  static constexpr int sum_rows = 4, sum_vecs = 2;

  static HEED_INLINE reg fma(reg a, reg b, reg c) { return vfmaq_f32(c, a, b); }
  static HEED_INLINE reg max(reg a, reg b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }  // vmaxq would return the NaN
  static HEED_INLINE reg zero_below(reg y, reg x, float limit) {
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(y), vcltq_f32(x, vdupq_n_f32(limit))));
  }
  static HEED_INLINE reg power(reg y, reg t, reg x) {
    const reg result = vmulq_f32(y, vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(t), 23)));
    return zero_below(result, x, exp2_cutoff);
  }
  static HEED_INLINE void pin(reg &r) { asm("" : "+w"(r)); }

  static HEED_INLINE void transpose4(const float *p, ptrdiff_t stride, reg (&out)[4]) {
    const float32x4x2_t low = vtrnq_f32(load(p), load(p + stride));
    const float32x4x2_t high = vtrnq_f32(load(p + 2 * stride), load(p + 3 * stride));
    out[0] = vcombine_f32(vget_low_f32(low.val[0]), vget_low_f32(high.val[0]));
    out[1] = vcombine_f32(vget_low_f32(low.val[1]), vget_low_f32(high.val[1]));
    out[2] = vcombine_f32(vget_high_f32(low.val[0]), vget_high_f32(high.val[0]));
    out[3] = vcombine_f32(vget_high_f32(low.val[1]), vget_high_f32(high.val[1]));
  }
};

}  // namespace

extern const kernel kernel_neon;
const kernel kernel_neon = make_kernel<neon32>("neon", true, cpu_has_neon);

}  // namespace heed
