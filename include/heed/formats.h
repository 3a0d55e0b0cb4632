/* heed: numbers in fewer bits, for caches, tensors and weights. Include heed.h.
 *
 * Narrow numbers are storage: every result is that of the f32 call on the widened values, to the bit. Widening is exact
 * for f16 and bf16 (subnormal f16 too); an int8 widens to one product, number * scale, rounded to f32. Narrowing rounds
 * to nearest, ties to even. SPDX-License-Identifier: MIT */
#ifndef HEED_FORMATS_H
#define HEED_FORMATS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum heed_format {
  HEED_F32 = 0,
  HEED_F16 = 1,  /* IEEE 754 binary16 */
  HEED_BF16 = 2, /* the upper half of an f32 */
  HEED_INT8 = 3  /* -127 to 127 times a scale: one of a row, or, for weights, of an output */
} heed_format;
#define HEED_FORMAT_BYTES(format) ((format) == HEED_F32 ? 4 : (format) == HEED_INT8 ? 1 : 2)

/* Rows of x (n, dim) become narrow rows y, y_stride elements apart.
 * f16, bf16: beyond the range infinity; NaN stays NaN. int8: scales[r] = max |x[r]| / 127, y = x / scale, rounded; a
 * row of zeros has scale 0. A row with NaN or infinity has no scale: NOT_FINITE for X.
 * Error: f16 |y - x| <= 2^-11 |x| + 2^-25 (up to 65504), bf16 2^-8 |x|, int8 scale * (0.5 + 2^-16), where the scale is
 * not subnormal. Alignment: y as its numbers. Aliasing: y and scales are disjoint from x and each other. Status:
 * NULL_POINTER, MISALIGNED, OUT_OF_RANGE, BAD_STRIDE, OVERFLOW for X; OUT_OF_RANGE for FORMAT; NULL_POINTER,
 * MISALIGNED, BAD_STRIDE, OVERFLOW, OVERLAP for Y; int8 only: NULL_POINTER, MISALIGNED, OVERFLOW, OVERLAP for SCALES,
 * NOT_FINITE for X. */
HEED_API heed_status heed_narrow(heed_matrix x, int32_t format, void *y, ptrdiff_t y_stride, float *scales);
/* And back: y (n, dim) from narrow rows x, x_stride elements apart (0: one row, repeated). scales: (n), int8 only.
 * Error: none; int8 one rounding. Aliasing: y is disjoint from x and scales. Status: OUT_OF_RANGE for FORMAT; as
 * heed_narrow, with X and Y exchanged, for X, Y, SCALES. */
HEED_API heed_status heed_widen(const void *x, ptrdiff_t x_stride, const float *scales, int32_t format,
                                heed_matrix_out y);

/* ---------------------------------------------------------------------------------------------------------- weights */

/* Weights of a projection from n_in to n_out numbers, as they lie in a file or in flash.
 * HEED_IN_OUT: element (i, o) at data[i * row_stride + o], as heed_linear's w. HEED_OUT_IN: at data[o * row_stride +
 * i], as PyTorch and llama2.c store them. scales: (n_out), int8 only. */
typedef enum heed_weights_layout { HEED_IN_OUT = 0, HEED_OUT_IN = 1 } heed_weights_layout;
typedef struct heed_weights {
  const void *data;    /* aligned as its numbers are */
  const float *scales; /* int8: widened weight = number * scales[o] */
  int32_t format, layout;
  int32_t n_in, n_out;
  ptrdiff_t row_stride; /* in elements */
} heed_weights;

static inline heed_weights heed_weights_of(const void *data, int32_t format, int32_t layout, int32_t n_in,
                                           int32_t n_out, const float *scales) {
  heed_weights w = {data, scales, format, layout, n_in, n_out, layout == HEED_IN_OUT ? n_out : n_in};
  return w;
}

/* y (n, n_out) = bias + x (n, n_in) w: heed_linear with any weights. The bits are heed_linear's with the widened
 * weights, in any layout. One row runs at the bandwidth of the narrow bytes where memory is the limit; on vector units
 * HEED_IN_OUT is then up to twice as fast as HEED_OUT_IN, which is transposed on the way.
 * Error: as heed_linear, with the widened weights. Aliasing: y is disjoint from all else, w's struct included. No
 * workspace. Status: as heed_softmax for X, Y, EXECUTOR, as heed_linear for BIAS; NULL_POINTER, MISALIGNED,
 * OUT_OF_RANGE, BAD_STRIDE, OVERFLOW, MISFIT (n_in) for W, its struct and its data; OUT_OF_RANGE for FORMAT, LAYOUT;
 * int8 only: NULL_POINTER, MISALIGNED, OVERFLOW for SCALES. */
HEED_API heed_status heed_project(heed_matrix x, const heed_weights *w, const float *bias, heed_matrix_out y,
                                  const heed_executor *executor);

/* w (n_in, n_out), or (n_out, n_in) for HEED_OUT_IN, to int8 with a scale for each output, as heed_narrow's for a row:
 * scales (n_out), q contiguous. Error, aliasing: as heed_narrow. Status: as heed_narrow for W, Y (q), SCALES;
 * OUT_OF_RANGE for LAYOUT. */
HEED_API heed_status heed_quantize_weights(heed_matrix w, int32_t layout, int8_t *q, float *scales);

#ifdef __cplusplus
}
#endif

#endif
