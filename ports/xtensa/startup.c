/* From reset to main: stack, exceptions, .data, .bss. Call0 ABI, no interrupts. SPDX-License-Identifier: MIT */
#include "../port.h"

/* From link.ld. */
extern uint32_t stack_bottom[], stack_top[], data_begin[], data_end[], data_load[], bss_begin[], bss_end[];
extern unsigned char free_begin[], free_end[];

void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int main(void);
void start(void); /* not static: assembly names it */

/* The reset vector, then the table of exceptions: from the debugger, NMI, kernel, user, double. */
__asm(
    ".section .vectors, \"ax\"\n"
    ".global reset\n"
    "reset:\n\tj 1f\n\t"
    ".align 4\n\t.literal_position\n"
    "1:\tmovi a2, exceptions\n\twsr a2, vecbase\n\t"
    "movi a2, 0\n\twsr a2, ps\n\trsync\n\t"
    "movi a1, stack_top\n\tmovi a2, start\n\tcallx0 a2\n\t"
    ".balign 256\n"
    "exceptions:\n"
    ".irp offset, 0x10, 0x20, 0x30, 0x50, 0x70\n\t"
    ".org exceptions + \\offset\n\tj fault_entry\n"
    ".endr\n\t"
    ".balign 256\n\t.literal_position\n"
    "fault_entry:\n\trsr a2, exccause\n\trsr a3, epc1\n\trsr a4, excvaddr\n\tmov a5, a0\n\tmov a6, a1\n\t"
    "movi a1, fault_stack + 512\n\tmovi a7, fault_report\n\tjx a7\n"
    ".text\n");

void start(void) {
  memcpy(data_begin, data_load, (size_t)((char *)data_end - (char *)data_begin));
  memset(bss_begin, 0, (size_t)((char *)bss_end - (char *)bss_begin));
  port_exit(main());
}

/* Without a frame of its own, which would be missing in what is measured. */
__asm(
    ".section .text.port_paint_stack, \"ax\"\n"
    ".align 4\n\t.literal_position\n"
    ".global port_paint_stack\n"
    "port_paint_stack:\n\tmov a2, a1\n\tmovi a3, paint_below\n\tjx a3\n"
    ".text\n");

void *port_free_memory(size_t *bytes) {
  *bytes = (size_t)(free_end - free_begin);
  return free_begin;
}
