/* printf for boards without a C library, over port.h: %s %c %d %ld %lu %lx %%, with a width and zeros. For the consumers that the
 * tests of packages build. SPDX-License-Identifier: MIT */
#include <port.h>
#include <stdarg.h>
#include <stdint.h>

int printf(const char *dtype, ...);
int puts(const char *text);

static void number(unsigned long n, unsigned base, int width, char fill, int negative) {
  char text[24], *p = text + sizeof text;
  *--p = 0;
  do *--p = "0123456789abcdef"[n % base];
  while (n /= base);
  if (negative) *--p = '-';
  while (text + sizeof text - 1 - p < width) *--p = fill;
  port_write(p);
}

int printf(const char *dtype, ...) {
  va_list arguments;
  va_start(arguments, dtype);
  for (; *dtype; dtype++) {
    char c[2] = {*dtype, 0};
    if (*dtype != '%') {
      port_write(c);
      continue;
    }
    char fill = *++dtype == '0' ? '0' : ' ';
    int width = 0;
    for (; *dtype >= '0' && *dtype <= '9'; dtype++) width = width * 10 + *dtype - '0';
    const int is_long = *dtype == 'l';
    dtype += is_long;
    if (*dtype == 's') {
      port_write(va_arg(arguments, const char *));
    } else if (*dtype == 'd') {
      const long n = is_long ? va_arg(arguments, long) : va_arg(arguments, int);
      number(n < 0 ? 0ul - (unsigned long)n : (unsigned long)n, 10, width, fill, n < 0);
    } else if (*dtype == 'u' || *dtype == 'x') {
      number(is_long ? va_arg(arguments, unsigned long) : va_arg(arguments, unsigned), *dtype == 'x' ? 16 : 10, width,
             fill, 0);
    } else {
      c[0] = *dtype == 'c' ? (char)va_arg(arguments, int) : *dtype;
      port_write(c);
    }
  }
  va_end(arguments);
  return 0;
}

int puts(const char *text) { return printf("%s\n", text); }
int putchar(int c) { return printf("%c", c), c; }
