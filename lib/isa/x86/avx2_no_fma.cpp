#define HEED_FMA 0
#include "avx2_model.hpp"

#include "../portable/cpu.hpp"

namespace heed {
HEED_DEFINE_KERNEL(kernel_avx2_no_fma, avx2, "avx2-no-fma", cpu_has_avx2)
}  // namespace heed
