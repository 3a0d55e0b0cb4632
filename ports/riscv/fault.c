/* Says where the program failed, then ends it. On a product, replace what follows the report by a restart.
 * SPDX-License-Identifier: MIT */
#include "../port.h"

void fault_entry(void);
void fault_report(uintptr_t cause, uintptr_t pc, uintptr_t value, uintptr_t caller, uintptr_t sp);

/* The handler runs on a stack of its own, since an overflow of the other one may be the fault. */
__attribute__((aligned(16))) unsigned char fault_stack[512];

__attribute__((naked, aligned(4))) void fault_entry(void) {
  __asm volatile(
      ".option push\n\t.option arch, +zicsr\n\t"
      "csrr a0, mcause\n\tcsrr a1, mepc\n\tcsrr a2, mtval\n\tmv a3, ra\n\tmv a4, sp\n\t"
      "la sp, fault_stack + 512\n\ttail fault_report\n\t.option pop");
}

static void show(const char *name, uintptr_t value) {
  port_write(name);
  port_write_hex((uint32_t)value);
}

void fault_report(uintptr_t cause, uintptr_t pc, uintptr_t value, uintptr_t caller, uintptr_t sp) {
  static const char *const names[] = {
      "misaligned instruction", "instruction access", "illegal instruction", "breakpoint",
      "misaligned load",        "load access",        "misaligned store",    "store access"};
  port_write("fault: ");
  port_write(cause < 8 ? names[cause] : "unexpected trap");
  show(" at pc ", pc);
  show(", ra ", caller);
  show(", sp ", sp);
  show(", value ", value);
  port_write("\n");
  port_exit(2);
}
