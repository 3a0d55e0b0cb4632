/* Says where the program failed, then ends it. On a product, replace what follows the report by a restart.
 * SPDX-License-Identifier: MIT */
#include "../port.h"

extern uint32_t stack_bottom[], stack_top[]; /* from link.ld */
void fault_entry(void);
void fault_report(const uint32_t *frame);

/* The handler runs on a stack of its own, since an overflow of the other one may be the fault. */
__attribute__((aligned(8))) uint32_t fault_stack[96];

__attribute__((naked)) void fault_entry(void) {
  __asm volatile(
      "mov r1, lr\n\t"  /* EXC_RETURN, bit 2: */
      "movs r2, #4\n\t" /* the stack on which the processor saved r0-r3, r12, lr, pc, psr */
      "mrs r0, psp\n\t"
      "tst r1, r2\n\t"
      "bne 1f\n\t"
      "mrs r0, msp\n"
      "1:\tldr r2, 2f\n\t"
      "mov sp, r2\n\t"
      "ldr r2, 3f\n\t"
      "bx r2\n\t"
      ".align 2\n"
      "2:\t.word fault_stack + 384\n"
      "3:\t.word fault_report\n");
}

void systick_entry(void) __attribute__((weak, alias("fault_entry")));

static void show(const char *name, uint32_t value) {
  port_write(name);
  port_write_hex(value);
}

void fault_report(const uint32_t *frame) {
  static const char *const names[] = {"NMI", "HardFault", "MemManage", "BusFault", "UsageFault", "SecureFault"};
  uint32_t exception;
  __asm volatile("mrs %0, ipsr" : "=r"(exception));
#if defined(__ARM_ARCH_6M__)
  const uint32_t cfsr = 0;
#else
  const uint32_t cfsr = *(volatile uint32_t *)0xe000ed28;
#endif
  const uint32_t not_saved = 1u << 20 | 1u << 12 | 1u << 4; /* STKOF, STKERR, MSTKERR */
  port_write("fault: ");
  port_write(exception >= 2 && exception <= 7 ? names[exception - 2] : "unexpected interrupt");
  if (frame < stack_bottom || frame + 8 > stack_top || cfsr & not_saved) {
    show(", stack overflow, sp ", (uint32_t)(uintptr_t)frame);
  } else {
    show(" at pc ", frame[6]);
    show(", lr ", frame[5]);
  }
#if !defined(__ARM_ARCH_6M__)
  show(", cfsr ", cfsr);
  if (cfsr & 1u << 15) show(", bus address ", *(volatile uint32_t *)0xe000ed38);
#endif
  port_write("\n");
  port_exit(2);
}
