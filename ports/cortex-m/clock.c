/* The clock of a Cortex-M, the first of these that there is:
 *  - "dwt": processor cycles from the debug unit. No emulator counts them: QEMU reads 0 there.
 *  - "qemu-icount": instructions. Only in builds for a board that board.cmake declares to be emulated (HEED_QEMU_MHZ,
 * the frequency that its SysTick has there), run by qemu.sh: -icount shift=0 makes an instruction take 1 ns of its
 * time, so that a tick is 1000 / MHz instructions.
 *  - "systick": processor cycles from SysTick, for cores without that debug unit.
 * SPDX-License-Identifier: MIT */
#include "../clock.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define SYST_CSR REGISTER(0xe000e010u)
#define SYST_RVR REGISTER(0xe000e014u)
#define SYST_CVR REGISTER(0xe000e018u)
#define DEMCR REGISTER(0xe000edfcu)
#define DWT_CTRL REGISTER(0xe0001000u)
#define DWT_CYCCNT REGISTER(0xe0001004u)
#define DWT_LAR REGISTER(0xe0001fb0u)

enum { systick_bits = 24, systick_run = 7 /* from the processor's clock, with interrupt */ };

static volatile uint32_t systick_wraps;

/* SysTick counts downwards, and interrupts when it comes to 0, every 2^24 ticks. */
void systick_entry(void);
void systick_entry(void) { ++systick_wraps; }

static uint64_t systick(void) {
  uint32_t wraps, left;
  do {
    wraps = systick_wraps;
    left = SYST_CVR;
    __asm volatile("isb" ::: "memory"); /* a wrap that left has seen is counted from here on */
  } while (wraps != systick_wraps);
  return ((uint64_t)wraps << systick_bits) + ((0 - left) & ((1u << systick_bits) - 1));
}

#ifdef HEED_QEMU_MHZ
static uint64_t instructions(void) { return systick() * 1000 / HEED_QEMU_MHZ; }
#endif

/* SysTick, which wraps sooner, tells how often the 32 bits of the cycle counter have wrapped. Both run from 0 on. */
#if __ARM_ARCH_ISA_THUMB >= 2
static uint64_t cycles(void) {
  const uint64_t about = systick();
  return about + (uint64_t)(int64_t)(int32_t)(DWT_CYCCNT - (uint32_t)about);
}

static int start_cycles(void) {
  DEMCR |= 1u << 24;    /* TRCENA */
  DWT_LAR = 0xc5acce55; /* locked on a Cortex-M7 */
  DWT_CYCCNT = 0;
  DWT_CTRL |= 1; /* CYCCNTENA */
  const uint32_t start = DWT_CYCCNT;
  for (volatile int i = 0; i < 16; i++) continue;
  return DWT_CYCCNT != start;
}
#else
static int start_cycles(void) { return 0; }
#define cycles 0
#endif

heed_clock heed_clock_start(void) {
  SYST_RVR = (1u << systick_bits) - 1;
  SYST_CVR = 0;
  SYST_CSR = systick_run;
  const heed_clock dwt = {"dwt", "cycles", 0, cycles};
#ifdef HEED_QEMU_MHZ
  const heed_clock other = {"qemu-icount", "instructions", 1, instructions};
#else
  const heed_clock other = {"systick", "cycles", 0, systick};
#endif
  return start_cycles() ? dwt : other;
}
