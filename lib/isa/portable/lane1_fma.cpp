#define HEED_FMA 1
#include "lane1_model.hpp"

#include "cpu.hpp"

namespace heed {

HEED_DEFINE_KERNEL(kernel_lane1_fma, lane1, "lane1", cpu_has_fma)

}  // namespace heed
