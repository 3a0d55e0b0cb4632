/* From reset to main: stack, traps, FPU, .data, .bss. Machine mode, one hart. Interrupts are yours: heed uses none.
 * SPDX-License-Identifier: MIT */
#include "../port.h"

/* From link.ld. */
extern uint32_t stack_bottom[], stack_top[], data_begin[], data_end[], data_load[], bss_begin[], bss_end[];
extern unsigned char free_begin[], free_end[];

void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int main(void);
void start(void); /* not static: assembly names it */
void fault_entry(void);
void reset(void);

/* The first instruction of the program. Harts but the first one wait for ever. */
__attribute__((naked, used, section(".vectors"))) void reset(void) {
  __asm volatile(
      ".option push\n\t.option norelax\n\t.option arch, +zicsr\n\t"
      "la t0, fault_entry\n\tcsrw mtvec, t0\n\t"
      "csrr t0, mhartid\n1:\tbnez t0, 1b\n\t"
      "la sp, stack_top\n\t"
#ifdef __riscv_flen
      "li t0, 1 << 13\n\tcsrs mstatus, t0\n\t" /* FS: initial */
      "csrw fcsr, zero\n\t"                    /* round to nearest, no flags */
#endif
      "tail start\n\t.option pop");
}

void start(void) {
  memcpy(data_begin, data_load, (size_t)((char *)data_end - (char *)data_begin));
  memset(bss_begin, 0, (size_t)((char *)bss_end - (char *)bss_begin));
  port_exit(main());
}

/* Without a frame of its own, which would be missing in what is measured. */
__attribute__((naked)) void port_paint_stack(void) { __asm volatile("mv a0, sp\n\ttail paint_below"); }

void *port_free_memory(size_t *bytes) {
  *bytes = (size_t)(free_end - free_begin);
  return free_begin;
}
