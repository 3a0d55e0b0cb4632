// Architectures without a backend of their own: the generic kernels are compiled for what the build targets.
#include "cpu.hpp"

namespace heed {

bool cpu_has_baseline() { return true; }
bool cpu_has_fma() { return true; }

}  // namespace heed
