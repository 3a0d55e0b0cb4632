/* Random inputs that are the same everywhere, and one number for the bits of many results. C99 and no library, so that
 * it serves on any target. SPDX-License-Identifier: MIT */
#ifndef HEED_TESTS_SUPPORT_DIGEST_H
#define HEED_TESTS_SUPPORT_DIGEST_H

#include <stddef.h>
#include <stdint.h>

static uint64_t digest, digest_state;

static inline void digest_begin(void) {
  digest = 14695981039346656037u;
  digest_state = 1;
}

/* One draw to a statement: compilers differ in the order in which they evaluate arguments. */
static inline uint32_t next(void) {
  digest_state = digest_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(((digest_state ^ (digest_state >> 33)) * 0xff51afd7ed558ccdu) >> 32);
}
static inline int32_t between(int32_t low, int32_t high) {
  return low + (int32_t)(next() % (uint32_t)(high - low + 1));
}

static inline float float_of(uint32_t bits) {
  union {
    uint32_t bits;
    float number;
  } u = {bits};
  return u.number;
}
static inline uint32_t bits_of(float number) {
  union {
    float number;
    uint32_t bits;
  } u = {number};
  return u.bits;
}

/* Multiples of 2^-20 in [-1, 1), now and then a zero of either sign. No product of these is ever subnormal: vector
 * units of 32-bit Arm would flush it. */
static inline void fill(float *x, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    const uint32_t bits = next();
    x[i] = (float)((int32_t)(bits >> 11) - (1 << 20)) * 0x1p-20f;
    if (bits % 64 == 0) x[i] = bits & 64 ? 0.0f : -0.0f;
  }
}

/* FNV-1a over the bits; all NaN count as one, since their payloads are outside the contract. */
static inline void add(const float *x, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint32_t bits = bits_of(x[i]);
    if ((bits & 0x7fffffff) > 0x7f800000) bits = 0x7fc00000;
    for (int byte = 0; byte < 4; byte++) digest = (digest ^ (bits >> 8 * byte & 255)) * 1099511628211u;
  }
}

#endif
