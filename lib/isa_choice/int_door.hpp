// The kernel of integers in use.
#ifndef HEED_INT_DOOR_HPP
#define HEED_INT_DOOR_HPP

#include "int_dispatch.hpp"

namespace heed {

#ifdef HEED_SINGLE
constexpr int_kernel int_kernel_in_use() { return {}; }
#else
int_kernel int_kernel_in_use();
#endif

}  // namespace heed

#endif
