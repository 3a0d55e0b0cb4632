#define HEED_FMA 1
#include "avx2_model.hpp"

#include "../portable/cpu.hpp"

namespace heed {
HEED_DEFINE_KERNEL(kernel_avx2, avx2, "avx2", cpu_has_avx2)
}  // namespace heed
