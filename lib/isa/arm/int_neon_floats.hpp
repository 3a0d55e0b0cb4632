// Rows of floats times packed integers on AArch64: rows are quantised, and sums scaled, four numbers at a time.
#ifndef HEED_INT_NEON_FLOATS_HPP
#define HEED_INT_NEON_FLOATS_HPP

#include "../../integer_steps/product_floats.hpp"
#include "int_neon.hpp"

namespace heed {
namespace {

template <class M>
struct neon_floats : plain_floats<M> {
  static uint32_t greatest(const float *x, int32_t n) {
    uint32x4_t most = vdupq_n_u32(0);
    const int32_t left = n & 3;
    for (const float *const end = x + (n - left); x != end; x += 4)
      most = vmaxq_u32(most, vbicq_u32(vreinterpretq_u32_f32(vld1q_f32(x)), vdupq_n_u32(0x80000000)));
    const uint32_t of_four = vmaxvq_u32(most), of_rest = plain_floats<M>::greatest(x, left);
    return of_four > of_rest ? of_four : of_rest;
  }

  static int32_t quantise(const float *x, int32_t n, float inverse, int8_t *to) {
    if (inverse == 0.0f) return plain_floats<M>::quantise(x, n, inverse, to);
    int32x4_t sum = vdupq_n_s32(0);
    const auto four = [&](const float *p) HEED_INLINED {
      const float32x4_t rounded = vaddq_f32(vmulq_n_f32(vld1q_f32(p), inverse), vdupq_n_f32(12582912.0f));
      const int32x4_t whole = vsubq_s32(vreinterpretq_s32_f32(rounded), vdupq_n_s32(0x4b400000));
      sum = vaddq_s32(sum, whole);
      return vmovn_s32(whole);
    };
    const int32_t left = n & 7;
    for (const float *const end = x + (n - left); x != end; x += 8, to += 8) {
      const int16x4_t low = four(x), high = four(x + 4);
      vst1_s8(to, vmovn_s16(vcombine_s16(low, high)));
    }
    return vaddvq_s32(sum) + plain_floats<M>::quantise(x, left, inverse, to);
  }

  static void scale(const linear_block &b, const packed_panel &w, const int_row_scale &of, float *y, int32_t first) {
    const auto *scales = reinterpret_cast<const float *>(w.data);
    const auto *zeros = reinterpret_cast<const int32_t *>(w.data) + w.width;  // in the lowest bytes
    const bool has_zeros = w.dtype == stored_uint8;
    for (; first + 4 <= b.n_cols; first += 4) {
      int32x4_t integers = vreinterpretq_s32_f32(vld1q_f32(y + first));
      if (has_zeros)
        integers = vmlsq_n_s32(integers, vshrq_n_s32(vshlq_n_s32(vld1q_s32(zeros + first), 24), 24), of.sum);
      const float32x4_t x = vmulq_f32(vmulq_n_f32(vcvtq_f32_s32(integers), of.scale), vld1q_f32(scales + first));
      vst1q_f32(y + first, vaddq_f32(x, bias_of(b.bias, first)));
    }
    plain_floats<M>::scale(b, w, of, y, first);
  }

  static void add_block(const block_sums &s, int32_t first) {
    for (; first + 4 <= s.n; first += 4) {
      const float32x4_t scales = vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(s.scales + 2 * first)));
      const float32x4_t before = s.is_first ? vdupq_n_f32(0.0f) : vld1q_f32(s.y + first);
      float32x4_t sum = vaddq_f32(before, vmulq_f32(vcvtq_f32_s32(vld1q_s32(s.sums + first)), scales));
      if (s.is_last) sum = vaddq_f32(vmulq_n_f32(sum, s.row_scale), bias_of(s.bias, first));
      vst1q_f32(s.y + first, sum);
    }
    plain_floats<M>::add_block(s, first);
  }

 private:
  static HEED_INLINE float32x4_t bias_of(const float *bias, int32_t first) {
    return bias ? vld1q_f32(bias + first) : vdupq_n_f32(0.0f);
  }
};

}  // namespace
}  // namespace heed

#endif
