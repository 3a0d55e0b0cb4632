#define HEED_FMA 0
#include "../../reference/row_reference.hpp"

#include "cpu.hpp"

namespace heed {

HEED_DEFINE_REFERENCE(kernel_scalar_no_fma, "scalar-no-fma", false, cpu_has_baseline)

}  // namespace heed
