/* Input and output through the debugger: QEMU, OpenOCD, J-Link, pyOCD and others understand it. Without a debugger the
 * breakpoint is a fault; a board that runs alone writes to its serial line instead (io.c in the board's folder).
 * Sources: Arm, Semihosting for AArch32 and AArch64; RISC-V International, RISC-V Semihosting. SPDX-License-Identifier: MIT */
#include "../port.h"

enum {
  sys_open = 0x01,
  sys_close = 0x02,
  sys_write0 = 0x04,
  sys_read = 0x06,
  sys_seek = 0x0a,
  sys_flen = 0x0c,
  sys_get_cmdline = 0x15,
  sys_exit_extended = 0x20
};

static intptr_t semihosting(int operation, const void *argument) {
#ifdef __riscv
  register intptr_t a0 __asm("a0") = operation;
  register const void *a1 __asm("a1") = argument;
  __asm volatile(/* aligned while instructions may have 2 bytes: else lld refuses what lies behind an odd number of such */
                 ".balign 16\n\t.option push\n\t.option norvc\n\t" /* three instructions of 4 bytes in one page */
                 "slli zero, zero, 0x1f\n\tebreak\n\tsrai zero, zero, 7\n\t.option pop"
                 : "+r"(a0)
                 : "r"(a1)
                 : "memory");
  return a0;
#else
  register intptr_t r0 __asm("r0") = operation;
  register const void *r1 __asm("r1") = argument;
  __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
#endif
}

static size_t length_of(const char *text) {
  size_t n = 0;
  while (text[n]) n++;
  return n;
}

void port_write(const char *text) { semihosting(sys_write0, text); }

void port_exit(int status) {
  const intptr_t application_exit = 0x20026, arguments[2] = {application_exit, status};
  for (;;) semihosting(sys_exit_extended, arguments);
}

void port_arguments(char *text, size_t capacity) {
  intptr_t arguments[2] = {(intptr_t)text, (intptr_t)capacity};
  if (semihosting(sys_get_cmdline, arguments)) *text = 0;
  const char *p = text;
  while (*p && *p != ' ') p++; /* the program's name */
  while (*p == ' ') p++;
  while ((*text++ = *p++)) continue;
}

static intptr_t open_file(const char *path) {
  const intptr_t binary = 1, open[3] = {(intptr_t)path, binary, (intptr_t)length_of(path)};
  return semihosting(sys_open, open);
}

int32_t port_read_file(const char *path, void *buffer, size_t capacity) {
  const intptr_t file = open_file(path);
  if (file == -1) return -1;
  const intptr_t bytes = semihosting(sys_flen, &file);
  const intptr_t read[3] = {file, (intptr_t)buffer, bytes};
  const int fits = bytes >= 0 && (size_t)bytes <= capacity;
  const intptr_t missing = fits ? semihosting(sys_read, read) : 1;
  semihosting(sys_close, &file);
  return missing ? -1 : (int32_t)bytes;
}

int32_t port_read_part(const char *path, size_t offset, void *buffer, size_t n) {
  const intptr_t file = open_file(path);
  if (file == -1) return -1;
  const intptr_t seek[2] = {file, (intptr_t)offset}, read[3] = {file, (intptr_t)buffer, (intptr_t)n};
  const intptr_t missing = semihosting(sys_seek, seek) == 0 ? semihosting(sys_read, read) : 1;
  semihosting(sys_close, &file);
  return missing ? -1 : 0;
}
