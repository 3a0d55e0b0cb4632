// With VFPv4's fused multiply-add: Cortex-A5, A7, A15 and later.
#define HEED_FMA 1
#include "neon32_model.hpp"

#include "../portable/cpu.hpp"

namespace heed {
HEED_DEFINE_KERNEL(kernel_neon, neon32, "neon", cpu_has_neon_fma)
}  // namespace heed
