/* The clock of an Xtensa core: cycles, from CCOUNT, which is read before it can wrap twice. QEMU lets it count its time: in
 * builds for a board that board.cmake declares to be emulated (HEED_QEMU_MHZ, the frequency that CCOUNT has there), run by
 * qemu.sh, that is instructions. SPDX-License-Identifier: MIT */
#include "../clock.h"

static uint64_t cycles(void) {
  static uint32_t last, wraps;
  uint32_t now;
  __asm volatile("rsr %0, ccount" : "=r"(now)::"memory");
  wraps += now < last;
  last = now;
  return (uint64_t)wraps << 32 | now;
}

#ifdef HEED_QEMU_MHZ
static uint64_t instructions(void) { return cycles() * (1000 / HEED_QEMU_MHZ); }
#endif

heed_clock heed_clock_start(void) {
#ifdef HEED_QEMU_MHZ
  const heed_clock clock = {"qemu-icount", "instructions", 1, instructions};
#else
  const heed_clock clock = {"ccount", "cycles", 0, cycles};
#endif
  return clock;
}
