/* How much stack a call takes: what is free is painted before it, and the paint that is gone is counted afterwards.
 * Each family has port_paint_stack() in its startup.c: it has no frame of its own, and jumps to paint_below(). SPDX-License-Identifier: MIT */
#include "../port.h"

extern uint32_t stack_bottom[]; /* from link.ld */

enum { paint = 0x5aa55aa5 };
static uint32_t *painted_from;

static inline uint32_t *stack_pointer(void) {
  uint32_t *sp;
#ifdef __riscv
  __asm volatile("mv %0, sp" : "=r"(sp));
#else
  __asm volatile("mov %0, sp" : "=r"(sp));
#endif
  return sp;
}

void paint_below(uint32_t *caller); /* assembly names it */
void paint_below(uint32_t *caller) {
  painted_from = caller;
  /* The stack pointer is read for each word: a compiler may push registers of this function after one reading before the loop, as GCC
   * does at -O2 for a Cortex-M55. */
  for (volatile uint32_t *p = stack_bottom; p < stack_pointer(); p++) *p = paint;
}

size_t port_painted_stack_used(void) {
  const volatile uint32_t *p = stack_bottom;
  while (p < painted_from && *p == paint) p++;
  return (size_t)(painted_from - p) * sizeof *p;
}
