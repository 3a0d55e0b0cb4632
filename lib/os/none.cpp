// No operating system: no environment, and no features beyond what the build was told.
#include "os.hpp"

namespace heed {

const char *os_requested_kernel() { return nullptr; }
const char *os_requested_int_kernel() { return nullptr; }
unsigned long os_hwcap() { return 0; }

}  // namespace heed
