#define HEED_FUSED 1
#include "lane1_model.hpp"
#include "lanes4_model.hpp"

#include "cpu.hpp"

namespace heed {

extern const kernel kernel_lanes4_fused, kernel_lane1_fused;
const kernel kernel_lanes4_fused = make_kernel<lanes4>("lanes4", true, cpu_has_fma);
const kernel kernel_lane1_fused = make_kernel<lane1>("lane1", true, cpu_has_fma);

}  // namespace heed
