// Which kernels this build and this processor have, and which is in use.
#ifndef HEED_DISPATCH_HPP
#define HEED_DISPATCH_HPP

#include "kernel.hpp"

namespace heed {

const kernel &current_kernel();
const kernel &reference_kernel(bool fused);
const kernel *available_kernel(int32_t index);  // best first; null past the last

}  // namespace heed

#endif
