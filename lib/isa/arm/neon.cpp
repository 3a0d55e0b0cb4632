#define HEED_FMA 1
#include "neon64_model.hpp"

#include "../portable/cpu.hpp"

namespace heed {
HEED_DEFINE_KERNEL(kernel_neon, neon, "neon", cpu_has_neon)
}  // namespace heed
