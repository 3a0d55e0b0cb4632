/* Fails as its argument says, to show what the fault handler tells: undefined, wild, misaligned or overflow. Prints
 * first where it is going to fail. SPDX-License-Identifier: MIT */
#include "port.h"

extern const char undefined_here[], load_here[];

/* Where none of the emulated boards has memory. */
#if defined(__ARM_ARCH_6M__)
static const uint32_t nowhere = 0xa5a5a5a4;
#else
static const uint32_t nowhere = 0xf5a5a5a4;
#endif

#ifdef __arm__
enum { thumb = 1 };
#else
enum { thumb = 0 };
#endif

static void announce(const char *place) {
  port_write("at pc ");
  port_write_hex((uint32_t)(uintptr_t)place & ~(uint32_t)thumb);
  port_write("\n");
}
__attribute__((noinline)) static void undefined(void) {
#ifdef __riscv
  __asm volatile(".global undefined_here\nundefined_here: unimp");
#elif defined(__xtensa__)
  __asm volatile(".global undefined_here\nundefined_here: ill");
#else
  __asm volatile(".global undefined_here\nundefined_here: udf #0");
#endif
}
__attribute__((noinline)) static void load(uint32_t address) {
#ifdef __riscv
  __asm volatile(".global load_here\nload_here: lw t0, 0(%0)" ::"r"((uintptr_t)address) : "t0", "memory");
#elif defined(__xtensa__)
  __asm volatile(".global load_here\nload_here: l32i a8, %0, 0" ::"r"(address) : "a8", "memory");
#else
  __asm volatile(".global load_here\nload_here: ldm %0!, {r2, r3}" : "+l"(address)::"r2", "r3", "memory");
#endif
}
__attribute__((noinline)) static int overflow(volatile int *depth) {
  volatile int below = *depth + 1;
  return below ? overflow(&below) + below : 0;
}

int main(void) {
  char how[64];
  volatile int depth = 0;
  port_arguments(how, sizeof how);
  if (how[0] == 'u') {
    announce(undefined_here);
    undefined();
  } else if (how[0] == 'w') {
    announce(load_here);
    load(nowhere);
  } else if (how[0] == 'm') { /* two words at no multiple of 4: a fault on every core */
    announce(load_here);
    load((uint32_t)(uintptr_t)&depth + 2);
  } else if (how[0] == 'o') {
    port_write("stack overflow\n");
    overflow(&depth);
  }
  return 0;
}
