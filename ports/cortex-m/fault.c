/* Says where the program failed, then ends it. On a product, replace what follows the report by a restart.
 * SPDX-License-Identifier: MIT */
#include "../port.h"

extern uint32_t stack_bottom[], stack_top[];

/* A stack of its own: an overflow of the other one may be the fault. */
uint32_t fault_stack[96];
void fault_entry(void);
void fault_report(const uint32_t *frame);

__attribute__((naked)) void fault_entry(void) {
  __asm volatile(
      "mov r1, lr\n\t" /* EXC_RETURN, bit 2: which stack the processor saved its registers on */
      "movs r2, #4\n\t"
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
  uint32_t exception;
  __asm volatile("mrs %0, ipsr" : "=r"(exception));
  static const char *const names[] = {"NMI", "HardFault", "MemManage", "BusFault", "UsageFault", "SecureFault"};
  port_write("fault: ");
  port_write(exception >= 2 && exception <= 7 ? names[exception - 2] : "unexpected interrupt");
  if (frame >= stack_bottom && frame + 8 <= stack_top) {
    show(" at pc ", frame[6]);
    show(" lr ", frame[5]);
  } else {
    show(": stack overflow, sp ", (uint32_t)(uintptr_t)frame);
  }
#if !defined(__ARM_ARCH_6M__)
  show(" cfsr ", *(volatile uint32_t *)0xe000ed28);
  show(" address ", *(volatile uint32_t *)0xe000ed38);
#endif
  port_write("\n");
  port_exit(2);
}
