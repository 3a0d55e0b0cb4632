#define HEED_FMA 1
#include "lanes4_model.hpp"

#include "cpu.hpp"

namespace heed {

HEED_DEFINE_KERNEL(kernel_lanes4_fma, lanes4, "lanes4", cpu_has_fma)

}  // namespace heed
