// The two facts that only an operating system knows; lib/os is the one place that may call a C library.
#ifndef HEED_OS_OS_HPP
#define HEED_OS_OS_HPP

namespace heed {

const char *os_requested_kernel();      // the environment variable HEED_ISA, or null
const char *os_requested_int_kernel();  // HEED_INT_ISA
unsigned long os_hwcap();               // the processor's features as Linux gives them on Arm and RISC-V, or 0

}  // namespace heed

#endif
