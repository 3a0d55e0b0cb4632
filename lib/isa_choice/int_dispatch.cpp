#include "int_dispatch.hpp"

namespace heed {

#ifndef HEED_SINGLE
#define KERNEL(symbol) extern const int_steps symbol;
HEED_INT_KERNELS
#undef KERNEL

namespace {

// Best first: ports/cmake/isa.cmake makes it of the files that it compiles.
#define KERNEL(symbol) &symbol,
const int_steps *const int_kernels[] = {HEED_INT_KERNELS};
#undef KERNEL

}  // namespace

const int_steps *find_int_kernel(const char *name) {
  for (const int_steps *k : int_kernels) {
    const char *a = k->name, *b = name;
    while (*a && *a == *b) a++, b++;
    if (*a == *b) return k;
  }
  return nullptr;
}

const int_steps *available_int_kernel(int32_t index) {
  for (const int_steps *k : int_kernels)
    if (k->available() && index-- == 0) return k;
  return nullptr;
}
#endif

}  // namespace heed
