/* Packed weights of every format, and blocks as they lie in a file, at any address: random projections.
 * SPDX-License-Identifier: MIT */
#include "pool.h"

enum { n_packed = 144, n_blocks = 64 };

static const char *const names[6] = {"f32", "f16", "bf16", "int8", "Q8_0", "Q4_0"};

static void project(const char *name, int i, heed_weights w, int32_t n) {
  const float *const x = take_filled(n * w.n_in), *const bias = next() % 2 ? take_filled(w.n_out) : NULL;
  float *const y = take(n * w.n_out);
  MEASURED(of_project, check(heed_project(heed_matrix_of(x, n, w.n_in), w, bias, heed_matrix_out_of(y, n, w.n_out),
                                          next() % 4 ? NULL : &backwards)));
  add(y, (size_t)(n * w.n_out));
  if (i % 16 == 15) print_digest(name, digest);
}

/* Packed from floats, at the beginning of the pool. */
static void packed(int i) {
  const int32_t format = i % 6;
  int32_t n, in, out;
  size_t bytes;
  do {
    n = between(1, 9), in = between(1, 70), out = i % 24 < 6 ? between(1, 4) : between(5, 70);
    bytes = heed_weights_packed_bytes(format, in, out);
  } while (n * (in + out) + in * out + out + (int32_t)(bytes / 4) > pool_floats - 16);
  used = (int32_t)(bytes / 4);
  heed_weights w = heed_weights_of(take_filled(in * out), NULL, HEED_F32, i / 6 % 2, in, out);
  MEASURED(of_formats, check(heed_weights_pack(w, format, heed_memory_of(pool, bytes))));
  check(heed_weights_open(&w, pool, bytes));
  project(names[format], i, w, n);
}

/* Random bytes, whose scales are finite. */
static void in_blocks(int i) {
  const int32_t format = HEED_Q8_0 + i % 2, bytes = format == HEED_Q8_0 ? 34 : 18;
  const int32_t n = between(1, 9), in = 32 * between(1, 2), out = between(1, 20), row = in / 32 + between(0, 1);
  used = 0;
  unsigned char *const data = (unsigned char *)take(out * row * bytes / 4 + 2) + between(0, 3);
  for (int32_t k = 0; k < out * row * bytes; k++) data[k] = (unsigned char)(next() & (k % bytes == 1 ? 0xbf : 0xff));
  heed_weights w = heed_weights_of_blocks(data, format, in, out);
  w.row_stride = 32 * row;
  project(names[format], i, w, n);
}

int packed_weights(void) {
  n_refused = 0;
  digest_begin();
  for (int i = 0; i < n_packed; i++) packed(i);
  for (int i = 0; i < n_blocks; i++) in_blocks(i);
  return n_refused;
}
