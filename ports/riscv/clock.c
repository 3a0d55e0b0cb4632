/* The clock of a RISC-V core:
 *  - "mcycle": processor cycles, from the counter of that name.
 *  - "qemu-icount": instructions, from minstret. Only in builds for a board that board.cmake declares to be emulated
 *    (HEED_QEMU_MHZ); no emulator counts cycles.
 * A chip without these counters (ESP32-C3) needs a clock.c of its own. SPDX-License-Identifier: MIT */
#include "../clock.h"

#ifdef HEED_QEMU_MHZ
#define COUNTER "minstret"
#else
#define COUNTER "mcycle"
#endif
#define READ(name, value) \
  __asm volatile(".option push\n\t.option arch, +zicsr\n\tcsrr %0, " name "\n\t.option pop" : "=r"(value)::"memory")

static uint64_t count(void) {
#if __riscv_xlen == 64
  uint64_t all;
  READ(COUNTER, all);
  return all;
#else
  uint32_t high, low, again;
  do {
    READ(COUNTER "h", high);
    READ(COUNTER, low);
    READ(COUNTER "h", again);
  } while (high != again);
  return (uint64_t)high << 32 | low;
#endif
}

heed_clock heed_clock_start(void) {
#ifdef HEED_QEMU_MHZ
  const heed_clock clock = {"qemu-icount", "instructions", 1, count};
#else
  const heed_clock clock = {"mcycle", "cycles", 0, count};
#endif
  return clock;
}
