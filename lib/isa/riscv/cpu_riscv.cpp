#include "../portable/cpu.hpp"

#include "../../os/os.hpp"

namespace heed {

bool cpu_has_baseline() { return true; }
bool cpu_has_fma() { return true; }

// Linux names vectors by the letter V, on some chips with a draft of them, too. There "e32, m1, ta, ma" is no type, and
// the length that it gives is 0.
bool cpu_has_rvv() {
  if ((os_hwcap() & 1ul << ('V' - 'A')) == 0) return false;
  unsigned long length;
  asm volatile(".option push\n\t.option arch, +v\n\tvsetivli %0, 4, e32, m1, ta, ma\n\t.option pop" : "=r"(length));
  return length == 4;
}

}  // namespace heed
