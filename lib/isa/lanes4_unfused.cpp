#define HEED_FUSED 0
#include "lanes4_model.hpp"

#include "cpu.hpp"

namespace heed {

HEED_DEFINE_KERNEL(kernel_lanes4_unfused, lanes4, "lanes4-unfused", cpu_has_baseline)

}  // namespace heed
