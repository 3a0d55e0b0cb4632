#define HEED_FUSED 1
#include "../reference.hpp"

#include "cpu.hpp"

namespace heed {

extern const kernel kernel_scalar_fused;
const kernel kernel_scalar_fused = {"scalar", true, cpu_has_fma, 0, 8, 0, attend, merge, finish, softmax, dot, linear};

}  // namespace heed
