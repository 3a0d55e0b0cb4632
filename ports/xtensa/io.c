/* Input and output through the simulator's calls (SIMCALL), which QEMU and Cadence's simulator understand. A board writes to
 * its serial line instead (io.c in the board's folder). SPDX-License-Identifier: MIT */
#include "../port.h"

enum {
  sys_exit = 1,
  sys_read = 3,
  sys_write = 4,
  sys_open = 5,
  sys_close = 6,
  sys_argc = 1000,
  sys_argv_size = 1001,
  sys_argv = 1002
};

static int32_t call(int32_t number, uint32_t a, uint32_t b, uint32_t c) {
  register int32_t a2 __asm("a2") = number;
  register uint32_t a3 __asm("a3") = a;
  register uint32_t a4 __asm("a4") = b;
  register uint32_t a5 __asm("a5") = c;
  __asm volatile("simcall" : "+r"(a2), "+r"(a3) : "r"(a4), "r"(a5) : "memory");
  return a2;
}

void port_write(const char *text) {
  uint32_t n = 0;
  while (text[n]) n++;
  const uint32_t standard_output = 1;
  call(sys_write, standard_output, (uint32_t)text, n);
}

void port_exit(int status) {
  for (;;) call(sys_exit, (uint32_t)status, 0, 0);
}

void port_arguments(char *text, size_t capacity) {
  static char *words[64]; /* addresses, and behind them what they point to */
  const int32_t n = call(sys_argc, 0, 0, 0);
  size_t used = 0;
  if ((uint32_t)call(sys_argv_size, 0, 0, 0) <= sizeof words) {
    call(sys_argv, (uint32_t)words, 0, 0);
    for (int32_t i = 1; i < n; i++) {
      for (const char *p = words[i]; *p && used + 2 < capacity; p++) text[used++] = *p;
      if (i + 1 < n) text[used++] = ' ';
    }
  }
  text[used] = 0;
}

int32_t port_read_file(const char *path, void *buffer, size_t capacity) {
  const int32_t file = call(sys_open, (uint32_t)path, 0, 0);
  if (file < 0) return -1;
  size_t bytes = 0;
  int32_t more = 1;
  char beyond;
  while (more > 0 && bytes < capacity) {
    more = call(sys_read, (uint32_t)file, (uint32_t)buffer + bytes, capacity - bytes);
    if (more > 0) bytes += (size_t)more;
  }
  if (more > 0) more = call(sys_read, (uint32_t)file, (uint32_t)&beyond, 1);
  call(sys_close, (uint32_t)file, 0, 0);
  return more == 0 ? (int32_t)bytes : -1;
}
