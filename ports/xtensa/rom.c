/* Arithmetic that an ESP8266 has in its ROM, and that Debian's libgcc for this core therefore lacks: link it where there is no
 * such ROM. Round to nearest even, with subnormal numbers. A float comes as its bits. SPDX-License-Identifier: MIT */
#include <stdint.h>

enum { bias = 127, top = 31 };
static const uint32_t infinity = 0x7f800000, quiet_nan = 0x7fc00000, sign_bit = 0x80000000;

/* m / 2^30 * 2^(e - 127), rounded; bit 0 of m stands for all below it. */
static uint32_t rounded(uint32_t sign, int32_t e, uint32_t m) {
  if (m == 0) return sign;
  if (m >> top) m = m >> 1 | (m & 1), e++;
  while (!(m >> (top - 1))) m <<= 1, e--;
  if (e >= 255) return sign | infinity;
  uint32_t base = 0;
  if (e <= 0) {
    const int32_t down = 1 - e;
    m = down < 31 ? m >> down | ((m << (32 - down)) != 0) : 1;
  } else {
    base = (uint32_t)(e - 1) << 23; /* the significand's first bit adds one */
  }
  const uint32_t rest = m & 127, q = m >> 7;
  return sign | (base + q + (rest > 64 || (rest == 64 && (q & 1))));
}

static int32_t exponent(uint32_t a) { return (int32_t)(a >> 23 & 255); }
static uint32_t significand(uint32_t a) { return (a & 0x7fffff) | (exponent(a) ? 0x800000 : 0); }
static int is_nan(uint32_t a) { return (a & ~sign_bit) > infinity; }

uint32_t __addsf3(uint32_t a, uint32_t b);
uint32_t __addsf3(uint32_t a, uint32_t b) {
  if (is_nan(a)) return a | 0x400000;
  if (is_nan(b)) return b | 0x400000;
  if ((a & ~sign_bit) < (b & ~sign_bit)) {
    const uint32_t greater = b;
    b = a, a = greater;
  }
  const int differ = (a ^ b) >> top;
  if (exponent(a) == 255) return differ && exponent(b) == 255 ? quiet_nan : a;
  const int32_t ea = exponent(a) ? exponent(a) : 1, down = ea - (exponent(b) ? exponent(b) : 1);
  const uint32_t ma = significand(a) << 6;
  uint32_t mb = significand(b) << 6;
  if (down > 0) mb = down < 31 ? mb >> down | ((mb << (32 - down)) != 0) : mb != 0;
  if (differ && ma == mb) return 0;
  return rounded(a & sign_bit, ea + 1, differ ? ma - mb : ma + mb);
}

uint32_t __subsf3(uint32_t a, uint32_t b);
uint32_t __subsf3(uint32_t a, uint32_t b) { return __addsf3(a, is_nan(b) ? b : b ^ sign_bit); }

uint32_t __mulsf3(uint32_t a, uint32_t b);
uint32_t __mulsf3(uint32_t a, uint32_t b) {
  const uint32_t sign = (a ^ b) & sign_bit;
  if (is_nan(a)) return a | 0x400000;
  if (is_nan(b)) return b | 0x400000;
  uint32_t ma = significand(a), mb = significand(b);
  if (exponent(a) == 255 || exponent(b) == 255) return ma && mb ? sign | infinity : quiet_nan;
  if (!ma || !mb) return sign;
  int32_t e = (exponent(a) ? exponent(a) : 1) + (exponent(b) ? exponent(b) : 1) - bias + 1;
  while (!(ma >> 23)) ma <<= 1, e--;
  while (!(mb >> 23)) mb <<= 1, e--;
  const uint32_t middle = (ma >> 12) * (mb & 0xfff) + (ma & 0xfff) * (mb >> 12); /* 48 bits from halves of 12 */
  const uint32_t low = ((middle & 0xfff) << 12) + (ma & 0xfff) * (mb & 0xfff);
  const uint32_t high = (ma >> 12) * (mb >> 12) + (middle >> 12) + (low >> 24);
  return rounded(sign, e, high << 7 | (low & 0xffffff) >> 17 | ((low & 0x1ffff) != 0));
}

uint32_t __floatunsisf(uint32_t n);
uint32_t __floatunsisf(uint32_t n) { return rounded(0, bias + 30, n); }

uint32_t __floatsisf(int32_t n);
uint32_t __floatsisf(int32_t n) {
  return n < 0 ? rounded(sign_bit, bias + 30, 0u - (uint32_t)n) : rounded(0, bias + 30, (uint32_t)n);
}

static uint32_t divide(uint32_t a, uint32_t b, uint32_t *rest) {
  uint32_t q = 0, r = 0;
  for (int i = top; i >= 0; i--) {
    const uint32_t carry = r >> top;
    r = r << 1 | (a >> i & 1);
    if (carry || r >= b) r -= b, q |= 1u << i;
  }
  *rest = r;
  return q;
}

uint32_t __udivsi3(uint32_t a, uint32_t b);
uint32_t __udivsi3(uint32_t a, uint32_t b) {
  uint32_t rest;
  return divide(a, b, &rest);
}

uint32_t __umodsi3(uint32_t a, uint32_t b);
uint32_t __umodsi3(uint32_t a, uint32_t b) {
  uint32_t rest;
  divide(a, b, &rest);
  return rest;
}

int32_t __divsi3(int32_t a, int32_t b);
int32_t __divsi3(int32_t a, int32_t b) {
  const uint32_t q = __udivsi3(a < 0 ? 0u - (uint32_t)a : (uint32_t)a, b < 0 ? 0u - (uint32_t)b : (uint32_t)b);
  return (int32_t)((a ^ b) < 0 ? 0u - q : q);
}

uint64_t __umulsidi3(uint32_t a, uint32_t b);
uint64_t __umulsidi3(uint32_t a, uint32_t b) {
  const uint32_t a0 = a & 0xffff, a1 = a >> 16, b0 = b & 0xffff, b1 = b >> 16;
  const uint32_t first = a0 * b0, second = a1 * b0 + (first >> 16), third = a0 * b1 + (second & 0xffff);
  return (uint64_t)(a1 * b1 + (second >> 16) + (third >> 16)) << 32 | (third << 16 | (first & 0xffff));
}

uint64_t __muldi3(uint64_t a, uint64_t b);
uint64_t __muldi3(uint64_t a, uint64_t b) {
  const uint32_t al = (uint32_t)a, bl = (uint32_t)b, high = (uint32_t)(a >> 32) * bl + al * (uint32_t)(b >> 32);
  return __umulsidi3(al, bl) + ((uint64_t)high << 32);
}

uint64_t __udivmoddi4(uint64_t a, uint64_t b, uint64_t *rest); /* libgcc has it */

uint64_t __udivdi3(uint64_t a, uint64_t b);
uint64_t __udivdi3(uint64_t a, uint64_t b) { return __udivmoddi4(a, b, 0); }

uint64_t __umoddi3(uint64_t a, uint64_t b);
uint64_t __umoddi3(uint64_t a, uint64_t b) {
  uint64_t rest;
  __udivmoddi4(a, b, &rest);
  return rest;
}

int64_t __divdi3(int64_t a, int64_t b);
int64_t __divdi3(int64_t a, int64_t b) {
  const uint64_t q = __udivdi3(a < 0 ? 0u - (uint64_t)a : (uint64_t)a, b < 0 ? 0u - (uint64_t)b : (uint64_t)b);
  return (int64_t)((a ^ b) < 0 ? 0u - q : q);
}
