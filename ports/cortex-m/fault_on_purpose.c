/* Fails as its argument says, to show what the fault handler tells: undefined, wild, unaligned or overflow.
 * SPDX-License-Identifier: MIT */
#include "port.h"

static uint32_t first_letter(void) {
  char argument[64];
  port_arguments(argument, sizeof argument);
  return (uint32_t)argument[0];
}

/* Where the instruction lies that fails. */
extern const char undefined_here[], load_here[];

static void report(const char *place) {
  port_write("expected pc ");
  port_write_hex((uint32_t)(uintptr_t)place & ~1u);
  port_write("\n");
}
__attribute__((noinline)) static void undefined(void) { __asm volatile(".global undefined_here\nundefined_here: udf #0"); }
__attribute__((noinline)) static void load(uint32_t address) {
  __asm volatile(".global load_here\nload_here: ldm %0!, {r2, r3}" : "+l"(address)::"r2", "r3", "memory");
}
__attribute__((noinline)) static int overflow(volatile int *depth) {
  volatile int below = *depth + 1;
  return overflow(&below) + below;
}

int main(void) {
  volatile int depth = 0;
  switch (first_letter()) {
    case 'u':
      report(undefined_here);
      undefined();
      break;
    case 'w':
      report(load_here);
      load(0xa5a5a5a4);
      break;
    case 'm': /* words that lie on no multiple of 4: every core faults */
      report(load_here);
      load((uint32_t)(uintptr_t)&depth + 2);
      break;
    case 'o': overflow(&depth); break;
    default: port_write("no argument\n");
  }
  return 0;
}
