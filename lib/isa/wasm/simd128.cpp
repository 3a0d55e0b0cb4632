// WebAssembly's vectors (SIMD128): 4 floats, no fused multiply-add. A module cannot ask what it runs on: one that was
// compiled with -msimd128 has this kernel, one without has the generic ones.
#define HEED_FMA 0
#include "simd128_model.hpp"

#include "../portable/cpu.hpp"

namespace heed {

HEED_DEFINE_KERNEL(kernel_simd128, simd128, "simd128", cpu_has_baseline)

}  // namespace heed
