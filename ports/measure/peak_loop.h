/* The loops of peak_loop.c, which is compiled once per vector width. SPDX-License-Identifier: MIT */
#ifndef HEED_MEASURE_PEAK_LOOP_H
#define HEED_MEASURE_PEAK_LOOP_H

#include <stddef.h>
#include <stdint.h>

typedef struct heed_peak_loop {
  const char *kernels; /* whose peak it is: names between blanks */
  double flop_per_step;
  void (*multiply_add)(size_t n_steps);
  void (*read)(const void *data, size_t bytes, size_t n_times, size_t prefetch_bytes);
  void (*copy)(void *to, const void *from, size_t bytes, size_t n_times);
} heed_peak_loop;

#endif
