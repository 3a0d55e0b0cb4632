/* Narrow numbers: conversions of all halves, and random projections of every format and layout, at addresses that are
 * multiples of nothing but their numbers' size; heed_linear with the widened weights must give the same bits. Calls
 * that are refused. SPDX-License-Identifier: MIT */
#include "pool.h"

enum { n_projections = 160 };

static int n_wrong;

static void conversions(int32_t dtype) {
  uint16_t *const halves = (uint16_t *)(void *)pool, *const again = halves + 256;
  float *const wide = pool + 256;
  digest_begin();
  for (int32_t begin = 0; begin < 65536; begin += 256) {
    for (int32_t i = 0; i < 256; i++) halves[i] = (uint16_t)(begin + i);
    check(heed_convert_to_f32(heed_typed_matrix_of(halves, NULL, dtype, 1, 256), heed_matrix_out_of(wide, 1, 256)));
    check(heed_convert_from_f32(heed_matrix_of(wide, 1, 256), heed_typed_matrix_out_of(again, NULL, dtype, 1, 256)));
    for (int32_t i = 0; i < 256; i++) n_wrong += wide[i] == wide[i] && halves[i] != again[i];
    add(wide, 256);
  }
  print_digest(dtype == HEED_F16 ? "f16" : "bf16", digest);
}

static void project(int i) {
  static const char *const names[4] = {"f32", "f16", "bf16", "int8"};
  const int32_t dtype = i / 2 % 4, layout = i % 2;
  int32_t n, in, out, padding;
  do n = i % 8 < 6 ? between(1, 3) : between(4, 12), in = between(1, 40), out = between(1, 40), padding = between(0, 3);
  while (n * (in + 2 * out) + 3 * (in + padding) * (out + padding) + 2 * out > pool_floats - 40);
  const int32_t n_rows = layout == HEED_OUT_IN ? out : in, dim = layout == HEED_OUT_IN ? in : out,
                stride = dim + padding;
  used = 0;
  const float *const x = take_filled(n * in), *const bias = next() % 2 ? take_filled(out) : NULL;
  const float *const w = take_filled(n_rows * stride);
  float *const scales = take(n_rows > out ? n_rows : out), *const wide = take(in * out), *const y = take(n * out);
  float *const expected = take(n * out), *const memory = take(n_rows * stride + 1);
  const int32_t bytes = (int32_t)HEED_DTYPE_BYTES(dtype);
  unsigned char *const stored = (unsigned char *)memory + (bytes < 4 ? between(0, 4 / bytes - 1) * bytes : 0);
  const heed_typed_matrix_out to = {stored, scales, dtype, n_rows, dim, stride};
  MEASURED(of_formats, check(heed_convert_from_f32((heed_matrix){w, n_rows, dim, stride}, to)));
  /* The rows' scales are not what weights want: any number will do for an output. */
  fill(scales, out);
  for (int32_t a = 0; a < in; a++)
    for (int32_t o = 0; o < out; o++)
      check(heed_convert_to_f32(
          heed_typed_matrix_of(stored + (layout == HEED_OUT_IN ? o * stride + a : a * stride + o) * bytes, scales + o,
                               dtype, 1, 1),
          heed_matrix_out_of(wide + a * out + o, 1, 1)));
  heed_weights weights = heed_weights_of(stored, scales, dtype, layout, in, out);
  weights.row_stride = stride;
  MEASURED(of_project, check(heed_linear(heed_matrix_of(x, n, in), weights, bias, heed_matrix_out_of(y, n, out),
                                         next() % 4 ? NULL : &backwards)));
  check(heed_linear(heed_matrix_of(x, n, in), heed_weights_of_matrix(heed_matrix_of(wide, in, out)), bias,
                    heed_matrix_out_of(expected, n, out), NULL));
  for (int32_t a = 0; a < n * out; a++) n_wrong += bits_of(y[a]) != bits_of(expected[a]);
  add(y, (size_t)(n * out));
  if (i % 32 == 31) print_digest(names[dtype], digest);
}

static void quantize(void) {
  used = 0;
  float *const w = take_filled(20 * 7), *const scales = take(20);
  int8_t *const q = (int8_t *)(void *)take(40);
  digest_begin();
  for (int32_t layout = 0; layout < 2; layout++) {
    MEASURED(of_formats, check(heed_weights_quantize(heed_matrix_of(w, 7, 20), layout, q, scales)));
    add(scales, layout ? 7 : 20);
    for (int i = 0; i < 140; i++) {
      const float number = (float)q[i];
      add(&number, 1);
    }
  }
  print_digest("quantized", digest);
}

static heed_status refused(int i) {
  const heed_matrix x = heed_matrix_of(pool, 3, 4);
  const heed_matrix_out y = heed_matrix_out_of(pool + 100, 3, 5);
  heed_weights w = heed_weights_of(pool + 50, pool + 90, HEED_INT8, i % 2, 4, 5);
  heed_typed_matrix_out to = heed_typed_matrix_out_of(pool + 100, NULL, HEED_INT8, 3, 4);
  switch (i) {
    case 0:
      w.scales = (const float *)((uintptr_t)pool + 2);
      break;
    case 1:
      w.dtype = 6;
      break;
    case 2:
      w.layout = -1;
      break;
    case 3:
      w.scales = NULL;
      break;
    case 4:
      w.n_in = 5;
      break;
    case 5:
      w.n_out = 6;
      break;
    case 6:
      w.data = NULL;
      break;
    case 7:
      w.row_stride = -1;
      break;
    case 8:
      w.scales = pool + 101;
      break;
    case 9:
      return heed_convert_from_f32(x, to);
    case 10:
      to.dtype = HEED_F16, to.row_stride = 3;
      return heed_convert_from_f32(x, to);
    case 11:
      return heed_convert_to_f32(heed_typed_matrix_of(pool, NULL, HEED_BF16, 2, 4), heed_matrix_out_of(pool, 2, 4));
    case 12:
      return heed_convert_to_f32(heed_typed_matrix_of((unsigned char *)pool + 1, NULL, HEED_BF16, 3, 5), y);
    case 13:
      to.dtype = 4;
      return heed_convert_from_f32(x, to);
    case 14:
      to.dtype = HEED_F16, to.dim = 5;
      return heed_convert_from_f32(x, to);
    case 15:
      return heed_weights_quantize(x, 2, (int8_t *)(void *)(pool + 100), pool + 90);
    default:
      return HEED_OK;
  }
  return heed_linear(x, w, NULL, y, NULL);
}

int narrow_numbers(void) {
  int accepted = 0;
  n_refused = n_wrong = 0;
  conversions(HEED_F16);
  conversions(HEED_BF16);
  digest_begin();
  for (int i = 0; i < n_projections; i++) project(i);
  print_digest("projections", digest);
  quantize();
  for (int i = 0; i < 16; i++) {
    const heed_status status = refused(i);
    print_status("formats", i, status);
    accepted += status == HEED_OK;
  }
  if (n_wrong) port_write("a narrow number is not what it should be\n");
  return n_refused + n_wrong + accepted;
}
