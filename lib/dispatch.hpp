// Which kernels this build and this processor have, and which is in use.
#ifndef HEED_DISPATCH_HPP
#define HEED_DISPATCH_HPP

#include "kernel.hpp"

namespace heed {

#ifdef HEED_SINGLE
// The kernel of a build that has one, as a type: the compiler sees through it, and calls are direct.
struct fixed_kernel {
  constexpr const kernel *operator->() const { return &kernel_fixed; }
  constexpr const kernel &operator*() const { return kernel_fixed; }
};
constexpr fixed_kernel current_kernel() { return {}; }
constexpr const kernel *address_of(fixed_kernel) { return nullptr; }  // its table would bring all that it names
#else
const kernel *current_kernel();
#endif
constexpr const kernel *address_of(const kernel *k) { return k; }
const kernel *reference_kernel(bool fused);
const kernel *available_kernel(int32_t index);  // best first; null past the last

}  // namespace heed

#endif
