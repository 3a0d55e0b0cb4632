#define HEED_FMA 0
#include "sve256_model.hpp"

#include "../portable/cpu.hpp"

namespace heed {
HEED_DEFINE_KERNEL(kernel_sve256_no_fma, sve256, "sve256-no-fma", has_sve256)
}  // namespace heed
