// AArch64 NEON: 4 floats, 32 registers, in both arithmetics.
#ifndef HEED_ISA_NEON64_MODEL_HPP
#define HEED_ISA_NEON64_MODEL_HPP

#include "neon_model.hpp"

namespace heed {
namespace {

struct neon : neon_model<xsimd::neon64> {
  static constexpr int score_keys = 8, score_vecs = 2;  // 16 dots + 2 queries + 8 keys' factors
  static constexpr int sum_rows = 8, sum_vecs = 2;      // 16 sums + 2 columns + up to 8 rows' factors

  // The instruction names one of four factors, so that none is spread over a register of its own.
  static constexpr int factors_at_once = 4;
  template <int I>
  static HEED_INLINE reg fma_factor(reg x, reg b, reg c) {
    if constexpr (has_fma) return vfmaq_laneq_f32(c, b, x, I);
    return vaddq_f32(vmulq_laneq_f32(b, x, I), c);
  }

  using neon_model::load;
  static HEED_INLINE reg load(const f16 *p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(reinterpret_cast<const uint16_t *>(p))));
  }
  static HEED_INLINE reg load(const bf16 *p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(reinterpret_cast<const uint16_t *>(p)), 16));
  }

  static HEED_INLINE reg max(reg a, reg b) { return vmaxnmq_f32(a, b); }  // vmaxq would return the NaN
};

}  // namespace
}  // namespace heed

#endif
