/* Packed weights of every format, in integers, too, and blocks as they lie in a file, at any address: random projections.
 * SPDX-License-Identifier: MIT */
#include "heed/int_products.h"
#include "pool.h"

enum { n_packed = 144, n_blocks = 64, n_in_integers = 96, n_shifted = 96 };

static const char *const names[6] = {"f32", "f16", "bf16", "int8", "Q8_0", "Q4_0"};

static void project(const char *name, int i, heed_weights w, int32_t n) {
  const float *const x = take_filled(n * w.n_in), *const bias = next() % 2 ? take_filled(w.n_out) : NULL;
  float *const y = take(n * w.n_out);
  MEASURED(of_project, check(heed_linear(heed_matrix_of(x, n, w.n_in), w, bias, heed_matrix_out_of(y, n, w.n_out),
                                         next() % 4 ? NULL : &backwards)));
  add(y, (size_t)(n * w.n_out));
  if (i % 16 == 15) print_digest(name, digest);
}

/* Packed from floats, at the beginning of the pool. */
static void packed(int i) {
  const int32_t dtype = i % 6;
  int32_t n, in, out;
  size_t bytes;
  do {
    n = between(1, 9), in = between(1, 70), out = i % 24 < 6 ? between(1, 4) : between(5, 70);
    bytes = heed_weights_packed_bytes(dtype, in, out);
  } while (n * (in + out) + in * out + out + (int32_t)(bytes / 4) > pool_floats - 16);
  used = (int32_t)(bytes / 4);
  heed_weights w = heed_weights_of(take_filled(in * out), NULL, HEED_F32, i / 6 % 2, in, out);
  MEASURED(of_formats, check(heed_weights_pack(w, dtype, heed_memory_of(pool, bytes))));
  check(heed_weights_open(&w, pool, bytes));
  project(names[dtype], i, w, n);
}

/* Random bytes, whose scales are finite. */
static void in_blocks(int i) {
  const int32_t dtype = HEED_Q8_0 + i % 2, bytes = dtype == HEED_Q8_0 ? 34 : 18;
  const int32_t n = between(1, 9), in = 32 * between(1, 2), out = between(1, 20), row = in / 32 + between(0, 1);
  used = 0;
  unsigned char *const data = (unsigned char *)take(out * row * bytes / 4 + 2) + between(0, 3);
  for (int32_t k = 0; k < out * row * bytes; k++) data[k] = (unsigned char)(next() & (k % bytes == 1 ? 0xbf : 0xff));
  heed_weights w = heed_weights_of_blocks(data, dtype, in, out);
  w.row_stride = 32 * row;
  project(names[dtype], i, w, n);
}

/* Rows of floats that are quantised on their way, up to three pieces of 128 inputs or 17 rows. Some rows are zeros. */
static void in_integers(int i) {
  const int32_t dtype = i / 4 % 4 == 3 ? HEED_UINT8 : HEED_INT8 + i / 4 % 4;
  int32_t n, in, out;
  size_t bytes;
  do {
    n = i % 4 == 1 ? between(4, 17) : between(1, 3); /* tiles of every number of rows */
    in = i % 4 ? between(1, 70) : between(129, 300), out = i % 4 ? between(1, 20) : between(1, 5);
    bytes = heed_weights_packed_bytes(dtype, in, out);
  } while ((int32_t)(bytes / 4) + in * out > pool_floats - 16 ||
           (int32_t)(bytes / 4) + n * (in + out) + out > pool_floats - 16);
  heed_weights w = heed_weights_of(NULL, NULL, HEED_F32, HEED_OUT_IN, in, out);
  const uint8_t zero_point = (uint8_t)between(0, 255);
  const float scale = 0.0078125f;
  const int32_t first = used = (int32_t)(bytes / 4);
  w.data = take_filled(in * out);
  if (dtype == HEED_UINT8) {
    uint8_t *const numbers = (uint8_t *)(pool + first);
    for (int32_t k = 0; k < in * out; k++) numbers[k] = (uint8_t)(next() >> 24);
    w = heed_weights_with_zero_points(heed_weights_of(numbers, &scale, dtype, HEED_OUT_IN, in, out), &zero_point, 1);
  }
  check(heed_weights_pack(w, dtype, heed_memory_of(pool, bytes)));
  check(heed_weights_open(&w, pool, bytes));
  check(heed_weights_in_integers(&w, w));
  used = first;
  float *const x = take_filled(n * in);
  const float *const bias = next() % 2 ? take_filled(out) : NULL;
  if (i % 8 == 5 || i % 32 == 12)
    for (int32_t k = 0; k < in; k++) x[k] = 0.0f;
  float *const y = take(n * out);
  check(heed_linear(heed_matrix_of(x, n, in), w, bias, heed_matrix_out_of(y, n, out), next() % 4 ? NULL : &backwards));
  add(y, (size_t)(n * out));
  if (i % 16 == 15) print_digest("in integers", digest);
}

/* Random bytes with zero points, as they lie or packed; the same numbers as floats give the same bits. */
static void shifted(int i) {
  const int32_t layout = i % 2, is_packed = i / 4 % 3 == 0, dtype = next() % 2 ? HEED_UINT8 : HEED_INT8;
  int32_t n, in, out, padding;
  size_t bytes;
  do {
    n = between(1, 9), in = between(1, 40), out = i % 8 < 2 ? between(1, 4) : between(5, 40), padding = between(0, 3);
    bytes = heed_weights_packed_bytes(HEED_UINT8, in, out);
  } while (n * (in + 2 * out) + in * out + (in + padding) * (out + padding) / 4 + 2 * out + (int32_t)(bytes / 4) >
           pool_floats - 50);
  const int32_t n_rows = layout == HEED_OUT_IN ? out : in, stride = (layout == HEED_OUT_IN ? in : out) + padding;
  const int32_t n_scales = i / 2 % 3 ? out : 1;
  used = is_packed ? (int32_t)(bytes / 4) : 0;
  unsigned char *const data = (unsigned char *)take(n_rows * stride / 4 + 2) + between(0, 3);
  for (int32_t k = 0; k < n_rows * stride; k++) data[k] = (unsigned char)next();
  unsigned char *const zeros = (unsigned char *)take(n_scales / 4 + 2) + between(0, 3);
  for (int32_t k = 0; k < n_scales; k++) zeros[k] = (unsigned char)next();
  const float *const scales = take_filled(n_scales), *const x = take_filled(n * in);
  float *const wide = take(in * out), *const y = take(n * out), *const expected = take(n * out);
  for (int32_t a = 0; a < in; a++)
    for (int32_t o = 0; o < out; o++) {
      const int32_t k = n_scales == 1 ? 0 : o;
      const unsigned char q = data[layout == HEED_OUT_IN ? o * stride + a : a * stride + o];
      const int32_t difference = dtype == HEED_UINT8 ? q - zeros[k] : (int8_t)q - (int8_t)zeros[k];
      wide[a * out + o] = (float)difference * scales[k];
    }
  heed_weights w = heed_weights_of(data, scales, dtype, layout, in, out);
  w.row_stride = stride;
  w = heed_weights_with_zero_points(w, zeros, n_scales);
  if (is_packed) {
    MEASURED(of_formats, check(heed_weights_pack(w, HEED_UINT8, heed_memory_of(pool, bytes))));
    check(heed_weights_open(&w, pool, bytes));
  }
  MEASURED(of_project, check(heed_linear(heed_matrix_of(x, n, in), w, NULL, heed_matrix_out_of(y, n, out),
                                         next() % 4 ? NULL : &backwards)));
  check(heed_linear(heed_matrix_of(x, n, in), heed_weights_of_matrix(heed_matrix_of(wide, in, out)), NULL,
                    heed_matrix_out_of(expected, n, out), NULL));
  for (int32_t a = 0; a < n * out; a++) n_refused += bits_of(y[a]) != bits_of(expected[a]);
  add(y, (size_t)(n * out));
  if (i % 16 == 15) print_digest("zero points", digest);
}

int packed_weights(void) {
  n_refused = 0;
  digest_begin();
  for (int i = 0; i < n_packed; i++) packed(i);
  for (int i = 0; i < n_blocks; i++) in_blocks(i);
  for (int i = 0; i < n_in_integers; i++) in_integers(i);
  for (int i = 0; i < n_shifted; i++) shifted(i);
  return n_refused;
}
