#include "os.hpp"

#include <stdlib.h>
#if defined(__linux__) && (defined(__arm__) || defined(__aarch64__) || defined(__riscv))
#include <sys/auxv.h>
#endif

namespace heed {

const char *os_requested_kernel() { return getenv("HEED_ISA"); }
const char *os_requested_int_kernel() { return getenv("HEED_INT_ISA"); }

unsigned long os_hwcap() {
#if defined(__linux__) && (defined(__arm__) || defined(__aarch64__) || defined(__riscv))
  return getauxval(AT_HWCAP);
#else
  return 0;
#endif
}

}  // namespace heed
