/* Multiply-add and read loops for one vector width: the build compiles this file several times, with
 *   HEED_PEAK_LOOP     name of the heed_peak_loop that it defines
 *   HEED_PEAK_BYTES    width of a vector
 *   HEED_PEAK_KERNELS  names of kernels, a blank before and after each
 * with flags that do or do not turn a * b + c into one instruction, and never with a vectoriser, which would widen the
 * narrow ones. SPDX-License-Identifier: MIT */
#include "peak_loop.h"

#if HEED_PEAK_BYTES == 4
typedef float vector;
typedef uint32_t word;
#else
typedef float vector __attribute__((vector_size(HEED_PEAK_BYTES)));
typedef uint32_t word __attribute__((vector_size(HEED_PEAK_BYTES)));
#endif

/* 14 chains: a product and a sum of three cycles each fill two units of either kind with 12, a fused one of seven
 * cycles one unit with 7. With b they take 15 of the 16 registers of AVX2 and NEON. i686 has eight registers. */
#ifdef __i386__
#define EACH(step) step(0) step(1) step(2) step(3) step(4) step(5)
enum { n_chains = 6 };
#else
#define EACH(step) \
  step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9) step(10) step(11) step(12) step(13)
enum { n_chains = 14 };
#endif

static volatile float one_half = 0.5f;
static volatile vector vector_sink;
static volatile word word_sink;

static void multiply_add(size_t n_steps) {
  const vector b = (vector){0} + one_half, c = b; /* every chain tends to 1: no subnormal, no overflow */
#define START(i) vector a##i = b + (float)i;
#define STEP(i) a##i = a##i * b + c;
#define KEEP(i) vector_sink = a##i;
  EACH(START)
  for (size_t n = 0; n < n_steps; ++n) {
    EACH(STEP)
  }
  EACH(KEEP)
}

/* Rounds of 1024 bytes: one prefetch per 64, and 4 sums so that exclusive-or never waits. */
static inline word read_once(const char *data, size_t bytes, size_t prefetch_bytes) {
  word x0 = {0}, x1 = x0, x2 = x0, x3 = x0;
  for (const char *p = data; p < data + bytes; p += 1024) {
    if (prefetch_bytes)
      for (int i = 0; i < 1024; i += 64) __builtin_prefetch(p + prefetch_bytes + i);
    const word *w = (const word *)(const void *)p;
    for (size_t i = 0; i < 1024 / sizeof(word); i += 4) {
      x0 ^= w[i];
      x1 ^= w[i + 1];
      x2 ^= w[i + 2];
      x3 ^= w[i + 3];
    }
  }
  return x0 ^ x1 ^ x2 ^ x3;
}

static void read_all(const void *data, size_t bytes, size_t n_times, size_t prefetch_bytes) {
  for (size_t n = 0; n < n_times; ++n) {
    if (prefetch_bytes)
      word_sink = read_once((const char *)data, bytes, prefetch_bytes);
    else
      word_sink = read_once((const char *)data, bytes, 0);
    __asm__ volatile("" ::: "memory"); /* read it again */
  }
}

static void copy_all(void *to, const void *from, size_t bytes, size_t n_times) {
  const word *x = (const word *)from;
  word *y = (word *)to;
  for (size_t n = 0; n < n_times; ++n) {
    for (size_t i = 0; i < bytes / sizeof(word); i += 8) {
      y[i] = x[i];
      y[i + 1] = x[i + 1];
      y[i + 2] = x[i + 2];
      y[i + 3] = x[i + 3];
      y[i + 4] = x[i + 4];
      y[i + 5] = x[i + 5];
      y[i + 6] = x[i + 6];
      y[i + 7] = x[i + 7];
    }
    __asm__ volatile("" ::: "memory"); /* copy it again */
  }
}

const heed_peak_loop HEED_PEAK_LOOP = {HEED_PEAK_KERNELS, n_chains * 2.0 * (HEED_PEAK_BYTES / 4), multiply_add,
                                       read_all, copy_all};
