#define HEED_FUSED 1
#include "lanes4_model.hpp"

#include "cpu.hpp"

namespace heed {

HEED_DEFINE_KERNEL(kernel_lanes4_fused, lanes4, "lanes4", cpu_has_fma)

}  // namespace heed
