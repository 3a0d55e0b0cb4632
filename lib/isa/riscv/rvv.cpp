#define HEED_FMA 1
#include "rvv_model.hpp"

#include "../portable/cpu.hpp"

namespace heed {
HEED_DEFINE_KERNEL(kernel_rvv, rvv, "rvv", cpu_has_rvv)
}  // namespace heed
