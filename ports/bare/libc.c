/* All that heed and compilers ask of a C library. SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);

typedef uint32_t __attribute__((may_alias)) word;

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
  unsigned char *t = to;
  const unsigned char *f = from;
  if ((((uintptr_t)t | (uintptr_t)f) & 3) == 0)
    for (; n >= 4; n -= 4, t += 4, f += 4) *(word *)t = *(const word *)f;
  for (; n; n--) *t++ = *f++;
  return to;
}

void *memmove(void *to, const void *from, size_t n) {
  unsigned char *t = to;
  const unsigned char *f = from;
  if (t <= f) {
    for (; n; n--) *t++ = *f++;
  } else {
    for (; n; n--) t[n - 1] = f[n - 1];
  }
  return to;
}

void *memset(void *to, int byte, size_t n) {
  unsigned char *t = to;
  const uint32_t four = (unsigned char)byte * 0x01010101u;
  if (((uintptr_t)t & 3) == 0) {
    for (; n >= 16; n -= 16, t += 16) { /* heed's calls are of many floats */
      word *w = (word *)t;
      w[0] = four, w[1] = four, w[2] = four, w[3] = four;
    }
    for (; n >= 4; n -= 4, t += 4) *(word *)t = four;
  }
  for (; n; n--) *t++ = (unsigned char)byte;
  return to;
}
