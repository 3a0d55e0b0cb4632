/* Units that count subnormal numbers as zero, as audio programs and RTOSes set them. C99. SPDX-License-Identifier: MIT */
#ifndef HEED_TESTS_SUPPORT_FLUSHING_H
#define HEED_TESTS_SUPPORT_FLUSHING_H

#include <stdint.h>

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

/* The register that controls this thread's floating point, and its bits for flushing; 0: there is no such mode. */
#if defined(__SSE2__)
enum { flush_bits = 0x8040 }; /* of results and of inputs */
static inline uint32_t float_control(void) { return _mm_getcsr(); }
static inline void set_float_control(uint32_t bits) { _mm_setcsr(bits); }
#elif defined(__aarch64__)
enum { flush_bits = 1 << 24 };
static inline uint32_t float_control(void) {
  uint64_t bits;
  __asm__ volatile("mrs %0, fpcr" : "=r"(bits));
  return (uint32_t)bits;
}
static inline void set_float_control(uint32_t bits) {
  __asm__ volatile("msr fpcr, %0" ::"r"((uint64_t)bits) : "memory");
}
#elif defined(__arm__) && defined(__ARM_FP)
enum { flush_bits = 1 << 24 }; /* of scalars: vectors always flush */
static inline uint32_t float_control(void) {
  uint32_t bits;
  __asm__ volatile("vmrs %0, fpscr" : "=r"(bits));
  return bits;
}
static inline void set_float_control(uint32_t bits) { __asm__ volatile("vmsr fpscr, %0" ::"r"(bits) : "memory"); }
#else
enum { flush_bits = 0 };
static inline uint32_t float_control(void) { return 0; }
static inline void set_float_control(uint32_t bits) { (void)bits; }
#endif

/* Does the unit, or its emulator, do as it is told? */
static inline int flushing_works(void) {
  volatile float least = 1.17549435e-38f, product, quotient;
  const uint32_t before = float_control();
  quotient = least * 0.5f;
  set_float_control(before | flush_bits);
  product = least * 0.5f;
  set_float_control(before);
  return product == 0.0f && quotient != 0.0f;
}

#endif
