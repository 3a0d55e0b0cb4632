#define HEED_FMA 1
#include "sve256_model.hpp"

#include "../portable/cpu.hpp"

namespace heed {
HEED_DEFINE_KERNEL(kernel_sve256, sve256, "sve256", has_sve256)
}  // namespace heed
