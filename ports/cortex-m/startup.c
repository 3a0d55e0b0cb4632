/* From reset to main: vector table, FPU or Helium, .data, .bss. Interrupts are yours: heed uses none.
 * SPDX-License-Identifier: MIT */
#include "../port.h"

/* From link.ld. */
extern uint32_t stack_bottom[], stack_top[], data_begin[], data_end[], data_load[], bss_begin[], bss_end[];
extern unsigned char free_begin[], free_end[];

void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int main(void);
void fault_entry(void);
void systick_entry(void); /* a fault, unless the program defines it */
void reset(void);

__attribute__((section(".vectors"), used)) static const struct {
  uint32_t *stack;
  void (*handlers[15])(void);
} vectors = {
    stack_top,
    {reset, fault_entry, fault_entry, fault_entry, fault_entry, fault_entry, fault_entry, 0, 0, 0, fault_entry,
     fault_entry, 0, fault_entry, systick_entry},
};

void reset(void) {
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20; /* CPACR: coprocessors 10 and 11 */
  __asm volatile("dsb\n\tisb" ::: "memory");
#endif
#if defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)
  __asm volatile("msr msplim, %0" ::"r"(stack_bottom));
#endif
  memcpy(data_begin, data_load, (size_t)((char *)data_end - (char *)data_begin));
  memset(bss_begin, 0, (size_t)((char *)bss_end - (char *)bss_begin));
  port_exit(main());
}

/* Without a frame of its own, which would be missing in what is measured. */
__attribute__((naked)) void port_paint_stack(void) {
  __asm volatile(
      "mov r0, sp\n\t"
      "ldr r1, 1f\n\t"
      "bx r1\n\t"
      ".align 2\n"
      "1:\t.word paint_below\n");
}

void *port_free_memory(size_t *bytes) {
  *bytes = (size_t)(free_end - free_begin);
  return free_begin;
}
