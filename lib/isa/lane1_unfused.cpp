#define HEED_FUSED 0
#include "lane1_model.hpp"

#include "cpu.hpp"

namespace heed {

HEED_DEFINE_KERNEL(kernel_lane1_unfused, lane1, "lane1-unfused", cpu_has_baseline)

}  // namespace heed
