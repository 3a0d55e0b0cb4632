#define HEED_FMA 0
#include "rvv_model.hpp"

#include "../portable/cpu.hpp"

namespace heed {
HEED_DEFINE_KERNEL(kernel_rvv_no_fma, rvv, "rvv-no-fma", cpu_has_rvv)
}  // namespace heed
