#define HEED_FUSED 1
#include "../block_reference.hpp"

#include "cpu.hpp"

namespace heed {

extern const kernel kernel_scalar_fused;
const kernel kernel_scalar_fused =
    scalar::make_kernel("scalar", true, cpu_has_fma, &scalar::steps, &scalar::block, scalar::project);

}  // namespace heed
