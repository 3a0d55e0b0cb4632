// Also for processors that have no VFPv4: Cortex-A8 and A9.
#define HEED_FMA 0
#include "neon32_model.hpp"

#include "../portable/cpu.hpp"

namespace heed {
HEED_DEFINE_KERNEL(kernel_neon_no_fma, neon32, "neon-no-fma", cpu_has_neon)
}  // namespace heed
