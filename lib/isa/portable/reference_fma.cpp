#define HEED_FMA 1
#include "../../reference/row_reference.hpp"

#include "cpu.hpp"

namespace heed {

HEED_DEFINE_REFERENCE(kernel_scalar_fma, "scalar", true, cpu_has_fma)

}  // namespace heed
