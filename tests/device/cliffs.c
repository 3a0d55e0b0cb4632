/* Does a product of n rows cost more than one of n + 1 rows, or than n of one row? Counts the instructions of
 * heed_project for 1 to 9 rows, all formats and both layouts, on an emulated board. Prints instructions a weight. All
 * rows of x are the same, because floating point in software takes steps by the numbers, and so must be all rows of y.
 * SPDX-License-Identifier: MIT */
#include "clock.h"
#include "heed/heed.h"

#include "port.h"

enum {
  most_in = 64,
#ifdef __SOFTFP__ /* hundreds of instructions a weight, and 16 KB of RAM */
  most_out = 20,
#else
  most_out = 172,
#endif
  most_rows = 9,
  allowed = 102 /* percent */
};

static float x[most_in], y[most_rows * most_out], floats[most_in * most_out], scales[most_out];
static uint16_t narrow[most_in * most_out];
static int n_in, n_out, n_failed;

static float number(uint32_t *state) { /* in [-1, 1] */
  *state = *state * 1664525 + 1013904223;
  return (float)(int32_t)*state * 0x1p-31f;
}

static void complain(const char *what, int n) {
  port_write(" <"), port_write_int(n), port_write(" rows "), port_write(what), port_write(">");
  n_failed++;
}

static heed_weights weights(int32_t format, int32_t layout) {
  const int32_t n_rows = layout == HEED_OUT_IN ? n_out : n_in, dim = n_in * n_out / n_rows;
  const heed_matrix wide = heed_matrix_of(floats, n_rows, dim);
  heed_status status = HEED_OK;
  if (format == HEED_INT8)
    status = heed_weights_quantize(wide, layout, (int8_t *)narrow, scales);
  else if (format != HEED_F32)
    status = heed_narrow(wide, heed_narrow_matrix_out_of(narrow, NULL, format, n_rows, dim));
  if (status != HEED_OK) complain("of weights cannot be made", n_rows);
  return heed_weights_of(format == HEED_F32 ? (const void *)floats : narrow, scales, format, layout, n_in, n_out);
}

static void count_rows(const heed_clock *clock, int32_t format, int32_t layout) {
  static const char *const names[4] = {"f32", "f16", "bf16", "int8"};
  const heed_weights w = weights(format, layout);
  const heed_matrix row = heed_matrix_of(x, 1, n_in);
  const uint64_t n_weights = (uint64_t)(n_in * n_out);
  uint64_t counts[most_rows + 1] = {0};
  port_write(names[format]), port_write(layout == HEED_OUT_IN ? ", OUT_IN:" : ", IN_OUT:");
  for (int n = 1; n <= most_rows; n++) {
    heed_matrix rows = row;
    rows.n_rows = n;
    rows.row_stride = 0; /* the same again */
    const uint64_t start = clock->read();
    const heed_status status = heed_project(rows, w, NULL, heed_matrix_out_of(y, n, n_out), NULL);
    counts[n] = clock->read() - start;
    port_write(" "), port_write_count(counts[n] / n_weights, 1), port_write(".");
    port_write_count(counts[n] * 100 / n_weights % 100, 2);
    if (status != HEED_OK) complain("are refused", n);
    for (int i = n_out; i < n * n_out; i++)
      if (y[i] != y[i - n_out]) complain("differ", n), i = n * n_out;
    if (n > 1 && counts[n] * 100 > counts[1] * (uint64_t)n * allowed) complain("cost more than so many of one row", n);
    if (n > 1 && counts[n - 1] * 100 > counts[n] * allowed) complain("cost more than one more", n - 1);
  }
  port_write("\n");
}

static void count(const heed_clock *clock, int in, int out) {
  n_in = in, n_out = out;
  port_write_int(in), port_write(" -> "), port_write_int(out), port_write(", "), port_write(clock->unit);
  port_write(" a weight for 1 to 9 rows, "), port_write(heed_kernel_current()), port_write("\n");
  for (int32_t format = HEED_F32; format <= HEED_INT8; format++)
    for (int32_t layout = HEED_IN_OUT; layout <= HEED_OUT_IN; layout++) count_rows(clock, format, layout);
}

int main(void) {
  const heed_clock clock = heed_clock_start();
  uint32_t state = 1;
  for (int i = 0; i < most_in; i++) x[i] = number(&state);
  for (int i = 0; i < most_in * most_out; i++) floats[i] = number(&state);
  count(&clock, most_in, most_out);
  count(&clock, 37, 10);
  if (!clock.emulated) complain("were counted by no emulator", most_rows);
  port_write(n_failed ? "cliffs: FAILED\n" : "no cliffs\n");
  return n_failed != 0;
}
