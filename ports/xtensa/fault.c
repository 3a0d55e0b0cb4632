/* Says where the program failed, then ends it. On a product, replace what follows the report by a restart.
 * SPDX-License-Identifier: MIT */
#include "../port.h"

void fault_report(uint32_t cause, uint32_t pc, uint32_t address, uint32_t caller, uint32_t sp);

/* The handler (startup.c) runs on a stack of its own, since an overflow of the other one may be the fault. */
__attribute__((aligned(16))) unsigned char fault_stack[512];

static void show(const char *name, uint32_t value) {
  port_write(name);
  port_write_hex(value);
}

void fault_report(uint32_t cause, uint32_t pc, uint32_t address, uint32_t caller, uint32_t sp) {
  enum { illegal = 0, unaligned = 9 };
  port_write("fault: ");
  port_write(cause == illegal ? "illegal instruction" : cause == unaligned ? "misaligned access" : "load access");
  show(" at pc ", pc);
  show(", a0 ", caller);
  show(", sp ", sp);
  show(", cause ", cause);
  show(", address ", address);
  port_write("\n");
  port_exit(2);
}
