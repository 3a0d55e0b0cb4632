/* Numbers as text, for every port. SPDX-License-Identifier: MIT */
#include "port.h"

void port_write_int(int32_t number) {
  char text[12], *p = text + sizeof text;
  uint32_t rest = number < 0 ? 0u - (uint32_t)number : (uint32_t)number;
  *--p = 0;
  do *--p = (char)('0' + rest % 10);
  while (rest /= 10);
  if (number < 0) *--p = '-';
  port_write(p);
}

void port_write_count(uint64_t number, int32_t n_digits) {
  char text[21], *p = text + sizeof text;
  *--p = 0;
  for (; number != 0 || n_digits > 0; number /= 10, n_digits--) *--p = (char)('0' + number % 10);
  port_write(p);
}

void port_write_hex(uint32_t number) {
  char text[9];
  for (int i = 0; i < 8; i++) text[i] = "0123456789abcdef"[number >> (28 - 4 * i) & 15];
  text[8] = 0;
  port_write(text);
}
