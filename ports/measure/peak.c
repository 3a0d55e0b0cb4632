/* See peak.h. SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "peak.h"
#include "peak_loop.h"

#include <string.h>
#include <time.h>

enum { n_samples = 5 };
static const double sample_seconds = 2e-4;

/* Every loop that the build made: it lists them in HEED_PEAK_LOOPS. */
#define LOOP(name) extern const heed_peak_loop name;
HEED_PEAK_LOOPS
#undef LOOP
#define LOOP(name) &name,
static const heed_peak_loop *const loops[] = {HEED_PEAK_LOOPS};
#undef LOOP

/* The loop whose list of kernels, each between blanks, has this one. */
static const heed_peak_loop *loop_of(const char *kernel) {
  const size_t n = strlen(kernel);
  for (size_t i = 0; i < sizeof loops / sizeof loops[0]; ++i)
    for (const char *k = loops[i]->kernels; (k = strstr(k, kernel)); k += n)
      if (k[-1] == ' ' && k[n] == ' ') return loops[i];
  return NULL;
}

double heed_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double heed_median(double *x, int32_t n) {
  for (int32_t i = 1; i < n; ++i) {
    const double xi = x[i];
    int32_t j = i;
    for (; j > 0 && x[j - 1] > xi; --j) x[j] = x[j - 1];
    x[j] = xi;
  }
  return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

double heed_peak_flops(const char *kernel) {
  const heed_peak_loop *loop = loop_of(kernel);
  if (!loop) return 0;
  size_t n_steps = 1000;
  double seconds = 0, rate[n_samples];
  while (seconds < sample_seconds) { /* how many steps fill a sample */
    n_steps *= 2;
    const double start = heed_seconds();
    loop->multiply_add(n_steps);
    seconds = heed_seconds() - start;
  }
  for (int32_t i = 0; i < n_samples; ++i) {
    const double start = heed_seconds();
    loop->multiply_add(n_steps);
    rate[i] = (double)n_steps * loop->flop_per_step / (heed_seconds() - start);
  }
  return heed_median(rate, n_samples);
}

static double read_rate(const heed_peak_loop *loop, const void *data, size_t bytes, size_t prefetch_bytes) {
  const size_t n_times = 1 + ((size_t)4 << 20) / bytes; /* a sample reads 4 MB, 0.1 ms or so */
  double rate[n_samples];
  loop->read(data, bytes, 1, prefetch_bytes);
  for (int32_t i = 0; i < n_samples; ++i) {
    const double start = heed_seconds();
    loop->read(data, bytes, n_times, prefetch_bytes);
    rate[i] = (double)n_times * (double)bytes / (heed_seconds() - start);
  }
  return heed_median(rate, n_samples);
}

double heed_peak_read(const char *kernel, const void *data, size_t bytes) {
  const heed_peak_loop *loop = loop_of(kernel);
  double best = 0;
  for (size_t prefetch_bytes = 0; loop && prefetch_bytes <= 16384; prefetch_bytes += prefetch_bytes ? 12288 : 4096) {
    const double rate = read_rate(loop, data, bytes, prefetch_bytes);
    if (rate > best) best = rate;
  }
  return best;
}

double heed_peak_copy(const char *kernel, void *data, size_t bytes) {
  const heed_peak_loop *loop = loop_of(kernel);
  if (!loop) return 0;
  const size_t half = bytes / 2, n_times = 1 + ((size_t)4 << 20) / half;
  double rate[n_samples];
  loop->copy((char *)data + half, data, half, 1);
  for (int32_t i = 0; i < n_samples; ++i) {
    const double start = heed_seconds();
    loop->copy((char *)data + half, data, half, n_times);
    rate[i] = 2 * (double)n_times * (double)half / (heed_seconds() - start);
  }
  return heed_median(rate, n_samples);
}
