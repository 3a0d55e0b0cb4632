#define HEED_FMA 0
#include "lane1_model.hpp"

#include "cpu.hpp"

namespace heed {

HEED_DEFINE_KERNEL(kernel_lane1_no_fma, lane1, "lane1-no-fma", cpu_has_baseline)

}  // namespace heed
