#define HEED_FUSED 1
#include "lane1_model.hpp"

#include "cpu.hpp"

namespace heed {

HEED_DEFINE_KERNEL(kernel_lane1_fused, lane1, "lane1", cpu_has_fma)

}  // namespace heed
