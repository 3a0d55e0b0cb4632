/* What one core of this machine can do at best, measured now: the yardstick of the benchmarks and of the demo.
 * SPDX-License-Identifier: MIT */
#ifndef HEED_MEASURE_PEAK_H
#define HEED_MEASURE_PEAK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds of a steady clock. */
double heed_seconds(void);

/* Median of n numbers, which it sorts. */
double heed_median(double *x, int32_t n);

/* Multiply-adds of independent accumulators in registers, as FLOP per second (two per multiply-add), at the vector
 * width of a kernel and with its kind of multiply-add. Median of five runs, together about a millisecond. The kernel is
 * one that this processor can run; 0 if its width is unknown. */
double heed_peak_flops(const char *kernel);

/* Bytes per second when reading a buffer of that size again and again, with the kernel's vectors: the best of reading
 * plainly and of prefetching 4 and 16 KB ahead, each the median of five. data is aligned to 64, bytes a multiple of
 * 1024. */
double heed_peak_read(const char *kernel, const void *data, size_t bytes);

/* Bytes read and written per second when copying one half of a buffer to the other again and again. The same units. */
double heed_peak_copy(const char *kernel, void *data, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
