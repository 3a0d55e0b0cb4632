/* A program of ESP-IDF on RISC-V without ESP-IDF: Linux's calls, which qemu-riscv32 answers. SPDX-License-Identifier: MIT */
#include <port.h>

void app_main(void);

static void call(long number, long a, long b, long c) {
  register long a7 __asm("a7") = number, a0 __asm("a0") = a, a1 __asm("a1") = b, a2 __asm("a2") = c;
  __asm volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
}

void port_write(const char *text) {
  long n = 0;
  while (text[n]) n++;
  call(64, 1, (long)text, n);
}

void port_exit(int status) {
  for (;;) call(93, status, 0, 0);
}

void _start(void);
void _start(void) {
  app_main();
  port_exit(0);
}
