/* What programs that count the costs of calls have in common: a line for each call that they make. SPDX-License-Identifier: MIT */
#ifndef HEED_TESTS_COSTS_H
#define HEED_TESTS_COSTS_H

#include "clock.h"
#include "heed/types.h"

#include "port.h"

static heed_clock counter;
static uint64_t start, reading; /* reading: what a reading of the clock takes itself */
static int n_failed;

static void begin(void) { start = counter.read(); }
static uint64_t since_begin(void) {
  const uint64_t passed = counter.read() - start;
  return passed > reading ? passed - reading : 0;
}
static void start_counting(void) {
  counter = heed_clock_start();
  begin();
  reading = since_begin();
}

/* "linear int8 4096 16384 256 64 1: 70000" are the call, its counts, and the instructions since `begin`, without those of `before`. */
static void end_without(uint64_t before, const char *what, const char *kind, const int64_t *counts, int n,
                        heed_status status) {
  const uint64_t all = since_begin(), instructions = all > before ? all - before : 1;
  port_write(what), port_write(kind);
  for (int i = 0; i < n; i++) port_write(" "), port_write_count((uint64_t)counts[i], 1);
  port_write(": "), port_write_count(instructions, 1), port_write("\n");
  if (status != HEED_OK) port_write("FAILED\n"), n_failed++;
}
static inline void end(const char *what, const char *kind, const int64_t *counts, int n, heed_status status) {
  end_without(0, what, kind, counts, n, status);
}

/* About as numbers lie in a model: the sum of four has the middle oftener than the ends. */
static inline float number(uint32_t *state) {
  float sum = 0.0f;
  for (int i = 0; i < 4; i++) {
    *state = *state * 1664525 + 1013904223;
    sum += (float)(int32_t)*state * 0x1p-31f;
  }
  return sum;
}
static inline void fill(float *to, int n, float scale) {
  uint32_t state = 1;
  for (int i = 0; i < n; i++) to[i] = number(&state) * scale;
}

/* "linear1 int8.i": products of one row take other ways than those of several. */
static inline const char *of_rows(const char *call, int rows, char name[16]) {
  int n = 0;
  while (*call) name[n++] = *call++;
  if (rows == 1) name[n++] = '1';
  name[n++] = ' ', name[n] = 0;
  return name;
}

/* The end of main. */
static inline int finish(void) {
  if (!counter.emulated) n_failed++;
  port_write(n_failed ? "costs: FAILED\n" : "costs: good\n");
  return n_failed != 0;
}

#endif
