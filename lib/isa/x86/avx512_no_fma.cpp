#define HEED_FMA 0
#include "avx512_model.hpp"

#include "../portable/cpu.hpp"

namespace heed {
HEED_DEFINE_KERNEL(kernel_avx512_no_fma, avx512, "avx512-no-fma", cpu_has_avx512)
}  // namespace heed
