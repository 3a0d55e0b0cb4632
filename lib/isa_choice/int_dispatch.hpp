// Which kernels of integers this build and this processor have. All give the same bits, so it never matters when one
// asks.
#ifndef HEED_INT_DISPATCH_HPP
#define HEED_INT_DISPATCH_HPP

#include "../kernel_contract/integers.hpp"

namespace heed {

#ifdef HEED_SINGLE
// The kernel of a build that has one, as a type: the compiler sees through it, and calls are direct.
struct int_kernel {
  constexpr const int_steps *operator->() const { return &int_fixed; }
};
#else
using int_kernel = const int_steps *;
const int_steps *available_int_kernel(int32_t index);  // best first; null past the last
// That of this name, whether it can run here or not, or null.
const int_steps *find_int_kernel(const char *name);
#endif

}  // namespace heed

#endif
