#define HEED_FMA 0
#include "neon64_model.hpp"

#include "../portable/cpu.hpp"

namespace heed {
HEED_DEFINE_KERNEL(kernel_neon_no_fma, neon, "neon-no-fma", cpu_has_neon)
}  // namespace heed
