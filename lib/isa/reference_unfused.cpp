#define HEED_FUSED 0
#include "../block_reference.hpp"

#include "cpu.hpp"

namespace heed {

extern const kernel kernel_scalar_unfused;
const kernel kernel_scalar_unfused =
    scalar::make_kernel("scalar-unfused", false, cpu_has_baseline, &scalar::steps, &scalar::block, scalar::project);

}  // namespace heed
