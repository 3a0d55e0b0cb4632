// AArch64 NEON: 4 floats, 32 registers.
#include "neon_model.hpp"

#include "cpu.hpp"

namespace heed {
namespace {

struct neon : neon_model<xsimd::neon64> {
  static constexpr int score_keys = 8, score_vecs = 3;  // 24 dots + 3 queries + 1 key
  static constexpr int sum_rows = 6, sum_vecs = 4;      // 24 sums + 4 columns + 1 factor

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

extern const kernel kernel_neon;
const kernel kernel_neon = make_kernel<neon>("neon", true, cpu_has_neon);

}  // namespace heed
