#define HEED_FUSED 0
#include "../reference.hpp"

#include "cpu.hpp"

namespace heed {

extern const kernel kernel_scalar_unfused;
const kernel kernel_scalar_unfused = {"scalar-unfused", false, cpu_has_baseline, 0,       8,   0,
                                      attend,           merge, finish,           softmax, dot, linear};

}  // namespace heed
