#define HEED_FMA 1
#include "avx512_model.hpp"

#include "../portable/cpu.hpp"

namespace heed {
HEED_DEFINE_KERNEL(kernel_avx512, avx512, "avx512", cpu_has_avx512)
}  // namespace heed
