// 32-bit Arm NEON: 4 floats, 16 registers, in both arithmetics. Always flushes subnormals.
#ifndef HEED_ISA_NEON32_MODEL_HPP
#define HEED_ISA_NEON32_MODEL_HPP

#include "neon_model.hpp"

namespace heed {
namespace {

struct neon32 : neon_model<xsimd::neon> {
  static constexpr int score_keys = 4, score_vecs = 2;
  static constexpr int sum_rows = 4, sum_vecs = 2;

  static HEED_INLINE reg max(reg a, reg b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }  // vmaxq would return the NaN
};

}  // namespace
}  // namespace heed

#endif
