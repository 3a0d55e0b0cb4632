#define HEED_FUSED 0
#include "../kernel/row_reference.hpp"

#include "cpu.hpp"

namespace heed {

HEED_DEFINE_REFERENCE(kernel_scalar_unfused, "scalar-unfused", false, cpu_has_baseline)

}  // namespace heed
