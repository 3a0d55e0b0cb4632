// SVE with registers of 256 bits: 8 floats, 32 registers, in both arithmetics. Needs an xsimd that has SVE (8.1 silently makes
// NEON of it).
#ifndef HEED_ISA_SVE256_MODEL_HPP
#define HEED_ISA_SVE256_MODEL_HPP

#include "../portable/xsimd_model.hpp"

#include "../portable/cpu.hpp"

namespace heed {
namespace {

struct sve256 : xsimd_model<xsimd::sve> {
  static constexpr int score_keys = 8, score_vecs = 3;  // 24 dots + 3 queries + 1 key
  static constexpr int sum_rows = 6, sum_vecs = 4;      // 24 sums + 4 columns + 1 factor

  using xsimd_model::load;
  static HEED_INLINE svuint32_t load_words(const void *p) {
    return svld1uh_u32(svptrue_b32(), static_cast<const uint16_t *>(p));
  }
  static HEED_INLINE reg load(const f16 *p) {
    return svcvt_f32_f16_x(svptrue_b32(), svreinterpret_f16_u32(load_words(p)));
  }
  static HEED_INLINE reg load(const bf16 *p) {
    return svreinterpret_f32_u32(svlsl_n_u32_x(svptrue_b32(), load_words(p), 16));
  }
  static HEED_INLINE reg load(const int8_t *p) { return svcvt_f32_s32_x(svptrue_b32(), svld1sb_s32(svptrue_b32(), p)); }
  static HEED_INLINE reg load(const weight_byte *p) {
    return svreinterpret_f32_u32(svld1ub_u32(svptrue_b32(), &p->bits));
  }

  static HEED_INLINE reg masked(reg x, uint32_t mask, uint32_t flip) {
    const svuint32_t bits = svand_n_u32_x(svptrue_b32(), svreinterpret_u32_f32(x), mask);
    return svreinterpret_f32_u32(sveor_n_u32_x(svptrue_b32(), bits, flip));
  }
  template <int BITS>
  static HEED_INLINE reg shift_down(reg x) {
    return svreinterpret_f32_u32(svlsr_n_u32_x(svptrue_b32(), svreinterpret_u32_f32(x), BITS));
  }
  static HEED_INLINE reg fma(reg a, reg b, reg c) {
    if constexpr (has_fma) return svmla_f32_x(svptrue_b32(), c, a, b);
    return svadd_f32_x(svptrue_b32(), svmul_f32_x(svptrue_b32(), a, b), c);
  }
  static HEED_INLINE reg max(reg a, reg b) { return svmaxnm_f32_x(svptrue_b32(), a, b); }
  static HEED_INLINE reg zero_below(reg y, reg x, float limit) {
    return svsel_f32(svcmplt_n_f32(svptrue_b32(), x, limit), svdup_n_f32(0.0f), y);
  }
  static HEED_INLINE reg times_power(reg y, reg t) {
    const svuint32_t bits = svlsl_n_u32_x(svptrue_b32(), svreinterpret_u32_f32(t), 23);
    return svmul_f32_x(svptrue_b32(), y, svreinterpret_f32_u32(bits));
  }
  static HEED_INLINE reg power(reg y, reg t, reg x) { return zero_below(times_power(y, t), x, exp2_cutoff); }
  static HEED_INLINE reg inverse_guess(reg d) {
    return svreinterpret_f32_u32(svsub_u32_x(svptrue_b32(), svdup_n_u32(inverse_bits), svreinterpret_u32_f32(d)));
  }
  static HEED_INLINE reg if_negative(reg x, reg a, reg b) {
    return svsel_f32(svcmplt_n_f32(svptrue_b32(), x, 0.0f), a, b);
  }
  static HEED_INLINE float tree(reg r) { return tree_of_lanes<sve256>(r); }
  static HEED_INLINE reg swap_pairs(reg r) {
    return svreinterpret_f32_u64(svrevw_u64_x(svptrue_b64(), svreinterpret_u64_f32(r)));
  }
  static HEED_INLINE reg hide(reg x, reg flags, uint32_t bits) {
    const svuint32_t some = svand_n_u32_x(svptrue_b32(), svreinterpret_u32_f32(flags), bits);
    return svsel_f32(svcmpne_n_u32(svptrue_b32(), some, 0), x, svdup_n_f32(negative_infinity));
  }
  template <class T, class F>
  static HEED_INLINE void columns(const T *p, ptrdiff_t stride, F f) {
    if constexpr (sizeof(T) == 4)
      columns_of_floats<sve256>(p, stride, f);
    else
      columns_each<sve256>(p, stride, f);
  }
  static HEED_INLINE void pin(reg &) {}

  // Rows l and l + 4 share a register, one to each half; then two 4 x 4 transposes at once.
  static HEED_INLINE svfloat32_t two_rows(const float *p, ptrdiff_t stride) {
    const svbool_t half = svptrue_pat_b32(SV_VL4);
    return svsplice_f32(half, svld1_f32(half, p), svld1_f32(half, p + 4 * stride));
  }
  static HEED_INLINE void transpose4(const float *p, ptrdiff_t stride, reg (&out)[4]) {
    const svfloat32_t a = two_rows(p, stride), b = two_rows(p + stride, stride);
    const svfloat32_t c = two_rows(p + 2 * stride, stride), d = two_rows(p + 3 * stride, stride);
    const svfloat64_t ab_even = svreinterpret_f64_f32(svtrn1_f32(a, b)),
                      ab_odd = svreinterpret_f64_f32(svtrn2_f32(a, b));
    const svfloat64_t cd_even = svreinterpret_f64_f32(svtrn1_f32(c, d)),
                      cd_odd = svreinterpret_f64_f32(svtrn2_f32(c, d));
    out[0] = svreinterpret_f32_f64(svtrn1_f64(ab_even, cd_even));
    out[1] = svreinterpret_f32_f64(svtrn1_f64(ab_odd, cd_odd));
    out[2] = svreinterpret_f32_f64(svtrn2_f64(ab_even, cd_even));
    out[3] = svreinterpret_f32_f64(svtrn2_f64(ab_odd, cd_odd));
  }
};

bool has_sve256() { return cpu_has_sve(256); }

}  // namespace
}  // namespace heed

#endif
