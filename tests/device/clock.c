/* Does the clock of an emulated board count instructions? Reads it around loops of known length, until the hardware's
 * counter of 24 bits has wrapped. Prints "clock ok". SPDX-License-Identifier: MIT */
#include "clock.h"

#include "port.h"

/* A tick of the boards' clocks is up to 100 instructions, a reading takes less than 400 on every core. */
enum { n_rounds = 100000, least = 3 * n_rounds - 100, most = 3 * n_rounds + 400 + 100 };
static const uint64_t wrap = (uint64_t)63 << 24;

int main(void) {
  const heed_clock clock = heed_clock_start();
  uint64_t now = clock.read();
  for (const uint64_t end = now + wrap + wrap / 16; now < end;) {
    uint32_t rounds = n_rounds;
#ifdef __riscv
    __asm volatile("1:\taddi %0, %0, -1\n\tnop\n\tbnez %0, 1b" : "+r"(rounds));
#elif defined(__xtensa__)
    __asm volatile("1:\taddi %0, %0, -1\n\tnop.n\n\tbnez %0, 1b" : "+r"(rounds));
#else
    __asm volatile(".syntax unified\n1:\tsubs %0, %0, #1\n\tcmp %0, #0\n\tbne 1b" : "+l"(rounds)::"cc");
#endif
    const uint64_t before = now, passed = (now = clock.read()) - before;
    if (passed >= least && passed <= most && clock.emulated) continue;
    port_write(clock.name), port_write(": "), port_write_count(passed, 1), port_write(" "), port_write(clock.unit);
    port_write(" for a loop of 300000\n");
    return 1;
  }
  port_write("clock ok\n");
  return 0;
}
