/* Does a product of n rows cost more than one of n + 1 rows, or than n of one row? Counts the instructions of
 * heed_linear for 1 to 9 rows, all formats and layouts, on an emulated board. Do packed weights cost more than the same
 * ones as they lay? Prints instructions a weight. All rows of x are the same, because floating point in software takes
 * steps by the numbers, and so must be all rows of y.
 * SPDX-License-Identifier: MIT */
#include "clock.h"
#include "heed/heed.h"

#include "port.h"

enum {
#ifdef __SOFTFP__ /* hundreds of instructions a weight, and 16 KB of RAM */
  most_in = 40,
  most_out = 20,
#else
  most_in = 64,
  most_out = 172,
#endif
  most_rows = 9,
  allowed = 102,         /* percent */
#ifdef __ARM_FEATURE_MVE /* 64 outputs are no multiple of a tile's 12; 7 instructions and a scale for 4 loads of int8 */
  allowed_packed = 114,
#else
  allowed_packed = 102,
#endif
  more_packed = 100 /* instructions a call, for panels */
};

static float x[most_in], y[most_rows * most_out], floats[most_in * most_out], scales[most_out];
static uint16_t narrow[most_in * most_out];
HEED_MEMORY(packed, HEED_WEIGHTS_PACKED_BYTES(HEED_F32, most_in, most_out));
static int n_in, n_out, n_failed;

static float number(uint32_t *state) { /* in [-1, 1] */
  *state = *state * 1664525 + 1013904223;
  return (float)(int32_t)*state * 0x1p-31f;
}

static void complain(const char *what, int n) {
  port_write(" <"), port_write_int(n), port_write(" rows "), port_write(what), port_write(">");
  n_failed++;
}

static heed_weights plain_weights(int32_t dtype, int32_t layout) {
  const int32_t n_rows = layout == HEED_OUT_IN ? n_out : n_in, dim = n_in * n_out / n_rows;
  const heed_matrix wide = heed_matrix_of(floats, n_rows, dim);
  heed_status status = HEED_OK;
  if (dtype == HEED_INT8)
    status = heed_weights_quantize(wide, layout, (int8_t *)narrow, scales);
  else if (dtype != HEED_F32)
    status = heed_convert_from_f32(wide, heed_typed_matrix_out_of(narrow, NULL, dtype, n_rows, dim));
  if (status != HEED_OK) complain("of weights cannot be made", n_rows);
  return heed_weights_of(dtype == HEED_F32 ? (const void *)floats : narrow, scales, dtype, layout, n_in, n_out);
}

/* The bytes of int8, with a zero point for each output. */
static heed_weights weights_with_zero_points(int32_t layout) {
  static uint8_t zeros[most_out];
  heed_weights w = plain_weights(HEED_INT8, layout);
  for (int32_t i = 0; i < n_out; i++) zeros[i] = (uint8_t)(7 * i);
  w.dtype = HEED_UINT8;
  return heed_weights_with_zero_points(w, zeros, n_out);
}

static heed_weights packed_weights(heed_weights w, int32_t dtype) {
  heed_status status = heed_weights_pack(w, dtype, packed);
  if (status == HEED_OK) status = heed_weights_open(&w, packed.data, packed.bytes);
  if (status != HEED_OK) complain("of weights cannot be packed", w.n_in);
  return w;
}

static heed_weights weights_in_blocks(int32_t dtype) { /* as they lie in a file */
  const int32_t bytes = dtype == HEED_Q8_0 ? 34 : 18, n_blocks = n_in / 32 * n_out;
  uint8_t *const to = (uint8_t *)narrow;
  uint32_t state = 2;
  for (int32_t i = 0; i < n_blocks * bytes; i++) {
    const int32_t k = i % bytes;
    to[i] = (uint8_t)(k == 0 ? 0 : k == 1 ? 0x2c : (int32_t)(number(&state) * 127));
  }
  return heed_weights_of_blocks(to, dtype, n_in / 32 * 32, n_out);
}

/* Instructions for each number of rows, of which none may cost more than one more, or than so many of one. */
static void count_rows(const heed_clock *clock, heed_weights w, const char *layout, uint64_t counts[most_rows + 1]) {
  static const char *const names[8] = {"f32", "f16", "bf16", "int8", "Q8_0", "Q4_0", "", "zero points"};
  const heed_matrix row = heed_matrix_of(x, 1, w.n_in);
  const uint64_t n_weights = (uint64_t)(w.n_in * n_out);
  port_write(names[w.dtype]), port_write(layout);
  for (int n = 1; n <= most_rows; n++) {
    heed_matrix rows = row;
    rows.n_rows = n;
    rows.row_stride = 0; /* the same again */
    const uint64_t start = clock->read();
    const heed_status status = heed_linear(rows, w, NULL, heed_matrix_out_of(y, n, n_out), NULL);
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

static void count_format(const heed_clock *clock, int32_t dtype) {
  const heed_weights wide = heed_weights_of(floats, NULL, HEED_F32, HEED_IN_OUT, n_in, n_out);
  const int in_blocks = dtype == HEED_Q8_0 || dtype == HEED_Q4_0, shifted = dtype == HEED_UINT8;
  uint64_t plain[most_rows + 1], counts[most_rows + 1];
  if (!in_blocks)
    count_rows(clock, shifted ? weights_with_zero_points(HEED_OUT_IN) : plain_weights(dtype, HEED_OUT_IN),
               ", OUT_IN:", counts);
  const heed_weights w = in_blocks ? weights_in_blocks(dtype)
                         : shifted ? weights_with_zero_points(HEED_IN_OUT)
                                   : plain_weights(dtype, HEED_IN_OUT);
  count_rows(clock, w, in_blocks ? ", blocks:" : ", IN_OUT:", plain);
  count_rows(clock, packed_weights(w, dtype), ", packed:", counts);
  for (int n = 1; n <= most_rows; n++)
    if ((counts[n] - more_packed) * 100 > plain[n] * (shifted && allowed_packed < 104 ? 104 : allowed_packed))
      complain("cost more packed", n);
  if (w.n_in < n_in) count_rows(clock, packed_weights(wide, dtype), ", packed, all inputs:", counts);
}

static void count(const heed_clock *clock, int in, int out) {
  n_in = in, n_out = out;
  port_write_int(in), port_write(" -> "), port_write_int(out), port_write(", "), port_write(clock->unit);
  port_write(" a weight for 1 to 9 rows, "), port_write(heed_isa_current()), port_write("\n");
  for (int32_t dtype = HEED_F32; dtype <= HEED_Q4_0; dtype++) count_format(clock, dtype);
  count_format(clock, HEED_UINT8);
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
