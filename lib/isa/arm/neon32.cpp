// 32-bit Arm NEON with VFPv4 (fused multiply-add): 4 floats, 16 registers. Always flushes subnormals.
#include "neon_model.hpp"

#include "../portable/cpu.hpp"

namespace heed {
namespace {

struct neon32 : neon_model<xsimd::neon> {
  static constexpr int score_keys = 4, score_vecs = 2;
  static constexpr int sum_rows = 4, sum_vecs = 2;

  static HEED_INLINE reg max(reg a, reg b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }  // vmaxq would return the NaN
};

}  // namespace

HEED_DEFINE_KERNEL(kernel_neon, neon32, "neon", cpu_has_neon)

}  // namespace heed
