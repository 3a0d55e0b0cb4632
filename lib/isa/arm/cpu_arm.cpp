#include "../portable/cpu.hpp"

#include "../../os/os.hpp"

namespace heed {
namespace {

#if defined(__aarch64__)
constexpr unsigned long hwcap_dotprod = 1ul << 20, hwcap_sve = 1ul << 22;
#else
constexpr unsigned long hwcap_neon = 1ul << 12, hwcap_vfpv4 = 1ul << 16;
#endif

}  // namespace

bool cpu_has_baseline() { return true; }

#if defined(__aarch64__)
bool cpu_has_fma() { return true; }
bool cpu_has_neon() { return true; }
bool cpu_has_dotprod() { return (os_hwcap() & hwcap_dotprod) != 0; }

bool cpu_has_sve(int bits) {
  if ((os_hwcap() & hwcap_sve) == 0) return false;
  unsigned long bytes;
  asm volatile(".arch_extension sve\n\trdvl %0, #1" : "=r"(bytes));
  return bytes * 8 == static_cast<unsigned long>(bits);
}
#else
bool cpu_has_fma() { return (os_hwcap() & hwcap_vfpv4) != 0; }
bool cpu_has_neon() { return (os_hwcap() & hwcap_neon) != 0; }
bool cpu_has_neon_fma() { return cpu_has_neon() && cpu_has_fma(); }
#endif

}  // namespace heed
