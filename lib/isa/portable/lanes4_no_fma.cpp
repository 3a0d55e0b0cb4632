#define HEED_FMA 0
#include "lanes4_model.hpp"

#include "cpu.hpp"

namespace heed {

HEED_DEFINE_KERNEL(kernel_lanes4_no_fma, lanes4, "lanes4-no-fma", cpu_has_baseline)

}  // namespace heed
