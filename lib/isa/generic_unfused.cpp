#define HEED_FUSED 0
#include "lane1_model.hpp"
#include "lanes4_model.hpp"

#include "cpu.hpp"

namespace heed {

extern const kernel kernel_lanes4_unfused, kernel_lane1_unfused;
const kernel kernel_lanes4_unfused = make_kernel<lanes4>("lanes4-unfused", false, cpu_has_baseline);
const kernel kernel_lane1_unfused = make_kernel<lane1>("lane1-unfused", false, cpu_has_baseline);

}  // namespace heed
