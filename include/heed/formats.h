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
  HEED_INT8 = 3  /* -127 to 127 times a scale: one for each row, or, of weights, for each output */
} heed_format;
#define HEED_FORMAT_BYTES(format) ((format) == HEED_F32 ? 4 : (format) == HEED_INT8 ? 1 : 2)

/* ------------------------------------------------------------------------------------------------------------ rows */

/* Rows of numbers of any format: element (r, i) is data[r * row_stride + i], strides in elements. scales: (n_rows),
 * int8 only. */
typedef struct heed_narrow_matrix {
  const void *data; /* aligned as its numbers are */
  const float *scales;
  int32_t format; /* heed_format */
  int32_t n_rows, dim;
  ptrdiff_t row_stride; /* 0: one row, repeated */
} heed_narrow_matrix;
/* The same, written. */
typedef struct heed_narrow_matrix_out {
  void *data;
  float *scales;
  int32_t format;
  int32_t n_rows, dim;
  ptrdiff_t row_stride;
} heed_narrow_matrix_out;

static inline heed_narrow_matrix heed_narrow_matrix_of(const void *data, const float *scales, int32_t format,
                                                       int32_t n_rows, int32_t dim) {
  heed_narrow_matrix m = {data, scales, format, n_rows, dim, dim};
  return m;
}
static inline heed_narrow_matrix_out heed_narrow_matrix_out_of(void *data, float *scales, int32_t format,
                                                               int32_t n_rows, int32_t dim) {
  heed_narrow_matrix_out m = {data, scales, format, n_rows, dim, dim};
  return m;
}

/* Rows of x (n, dim) become rows of y (n, dim).
 * f16, bf16: numbers beyond the range become infinity; NaN stays NaN. int8: scales[r] = max |x[r]| / 127 (rounded down
 * where 127 * scale would be infinite), y = x / scale, rounded; a row of zeros has scale 0. A row with NaN or infinity
 * has no scale: NOT_FINITE for X.
 * Error: f16 |y - x| <= 2^-11 |x| + 2^-25 (up to 65504), bf16 2^-8 |x|, int8 scale * (0.5 + 2^-16), where the scale is
 * not subnormal. Aliasing: y and its scales are disjoint from x and from each other.
 * Status: NULL_POINTER, MISALIGNED, OUT_OF_RANGE, BAD_STRIDE, OVERFLOW for X; BAD_FORMAT, NULL_POINTER, MISALIGNED,
 * BAD_STRIDE, OVERFLOW, OVERLAP, MISFIT (another shape) for Y; int8 only: BAD_SCALES (null, misaligned), OVERFLOW,
 * OVERLAP for Y, NOT_FINITE for X. */
HEED_API heed_status heed_narrow(heed_matrix x, heed_narrow_matrix_out y);
/* And back: rows of x of any format become floats.
 * Error: none; int8 one rounding. Aliasing: y is disjoint from x and its scales.
 * Status: as heed_narrow, with X and Y exchanged. */
HEED_API heed_status heed_widen(heed_narrow_matrix x, heed_matrix_out y);

/* --------------------------------------------------------------------------------------- queries, keys, values, out */

/* Rows of numbers of any format: element (b, h, t, i) is data[b * batch_stride + h * head_stride + t * row_stride + i],
 * strides in elements. int8 only: its scale is scales.data[b * scales.batch_stride + h * scales.head_stride +
 * t * scales.row_stride]. data null: the call's own tensor. */
typedef struct heed_narrow_tensor {
  const void *data; /* aligned as its numbers are */
  heed_tensor scales;
  int32_t format; /* heed_format */
  ptrdiff_t batch_stride, head_stride, row_stride;
} heed_narrow_tensor;
/* The same, written, without HEED_INT8. */
typedef struct heed_narrow_tensor_out {
  void *data;
  int32_t format;
  ptrdiff_t batch_stride, head_stride, row_stride;
} heed_narrow_tensor_out;

/* Tensors of a call of attention in any format (heed_options.narrow); the call's own of that name then has data null.
 *
 *   heed_narrow_tensors narrow;
 *   heed_narrow_tensors_init(&narrow);
 *   narrow.k = heed_narrow_head_major(k, NULL, HEED_F16, n_kv, n_kv_heads, head_dim);
 *   options.narrow = &narrow;
 *
 * Shapes: as heed_attention's. All options go with it; a cache goes only with q and out. With a partial out is not
 * written: its data is null here, too.
 * Error: the result is that of the call on the widened q, k and v, to the bit; out is what heed_narrow makes of it.
 * Aliasing: out is disjoint from all else; q, k, v and scales may share memory.
 * Workspace: as without; narrow queries and out take some of it from the rows that are computed together. With a
 * workspace that has no room for one row of widened queries (near the minimum, where head_dim > 264 + 2 * v_dim) scores
 * are computed number by number, slowly. Keys and values are widened on their way. On processors whose vector
 * instructions do that, decoding takes about the time of f32 (f16 up to a seventh more from near caches), and less
 * where memory limits it. A Cortex-M4F widens one number at a time: a call took there 3.0 times what heed_widen
 * and the f32 call took, 22.8 KB of code against 7.8 and 2.4 KB of stack against 0.7. Widen first there, if the floats
 * have room.
 * Status of a call: GIVEN_TWICE for Q, K, V, OUT (K, V also with a cache; OUT with a partial); BAD_FORMAT, MISALIGNED,
 * BAD_STRIDE, OVERFLOW, BAD_SCALES for Q, K, V, OUT; OVERLAP for OUT. In layers and sequences: NOT_HERE for NARROW. */
typedef struct heed_narrow_tensors {
  uint32_t struct_size;
  const heed_code *code;
  heed_narrow_tensor q, k, v;
  heed_narrow_tensor_out out;
} heed_narrow_tensors;
/* None. */
HEED_API heed_status heed_narrow_tensors_init(heed_narrow_tensors *narrow);

/* Layouts as in types.h. scales: null, or contiguous in the order of the rows: as heed_narrow writes them. */
static inline heed_narrow_tensor heed_narrow_token_major(const void *data, const float *scales, int32_t format,
                                                         int32_t n_rows, int32_t n_heads, int32_t dim) {
  heed_narrow_tensor t = {data,   heed_token_major(scales, n_rows, n_heads, 1),
                          format, HEED_CAST(ptrdiff_t, n_rows) * n_heads * dim,
                          dim,    HEED_CAST(ptrdiff_t, n_heads) * dim};
  return t;
}
static inline heed_narrow_tensor heed_narrow_head_major(const void *data, const float *scales, int32_t format,
                                                        int32_t n_rows, int32_t n_heads, int32_t dim) {
  heed_narrow_tensor t = {data,
                          heed_head_major(scales, n_rows, n_heads, 1),
                          format,
                          HEED_CAST(ptrdiff_t, n_heads) * n_rows * dim,
                          HEED_CAST(ptrdiff_t, n_rows) * dim,
                          dim};
  return t;
}
static inline heed_narrow_tensor_out heed_narrow_token_major_out(void *data, int32_t format, int32_t n_rows,
                                                                 int32_t n_heads, int32_t dim) {
  heed_narrow_tensor_out t = {data, format, HEED_CAST(ptrdiff_t, n_rows) * n_heads * dim, dim,
                              HEED_CAST(ptrdiff_t, n_heads) * dim};
  return t;
}
static inline heed_narrow_tensor_out heed_narrow_head_major_out(void *data, int32_t format, int32_t n_rows,
                                                                int32_t n_heads, int32_t dim) {
  heed_narrow_tensor_out t = {data, format, HEED_CAST(ptrdiff_t, n_heads) * n_rows * dim,
                              HEED_CAST(ptrdiff_t, n_rows) * dim, dim};
  return t;
}

/* ---------------------------------------------------------------------------------------------------------- weights */

/* Weights of a projection from n_in to n_out numbers, as they lie in a file or in flash.
 * HEED_IN_OUT: element (i, o) is data[i * row_stride + o], as heed_linear's w. HEED_OUT_IN: it is data[o * row_stride +
 * i], as PyTorch and llama2.c store them. */
typedef enum heed_weights_layout { HEED_IN_OUT = 0, HEED_OUT_IN = 1 } heed_weights_layout;
typedef struct heed_weights {
  const void *data;       /* aligned as its numbers are; null: none, where that is allowed */
  const float *scales;    /* (n_out), int8 only: widened weight = number * scales[o] */
  int32_t format, layout; /* heed_format, heed_weights_layout */
  int32_t n_in, n_out;
  ptrdiff_t row_stride; /* in elements */
} heed_weights;

static inline heed_weights heed_weights_of(const void *data, const float *scales, int32_t format, int32_t layout,
                                           int32_t n_in, int32_t n_out) {
  heed_weights w = {data, scales, format, layout, n_in, n_out, layout == HEED_IN_OUT ? n_out : n_in};
  return w;
}

/* y (n, n_out) = bias + x (n, n_in) w: heed_linear with any weights. The bits are heed_linear's with the widened
 * weights, in any layout. bias: (n_out) or null. One row runs at the bandwidth of the narrow bytes where memory is the
 * limit. On vector units HEED_OUT_IN is transposed on the way: HEED_IN_OUT was measured to be 2 to 15 times as fast.
 * int8 weights take 2.1 times the instructions of f32 on a Cortex-M4F, for a quarter of the bytes.
 * Error: as heed_linear, with the widened weights. Aliasing: y is disjoint from all else. No workspace.
 * Status: as heed_softmax for X, Y, EXECUTOR; as heed_linear for BIAS; NULL_POINTER, MISALIGNED, OUT_OF_RANGE,
 * BAD_STRIDE, OVERFLOW, MISFIT (n_in), BAD_FORMAT, BAD_LAYOUT, BAD_SCALES for W. */
HEED_API heed_status heed_project(heed_matrix x, heed_weights w, const float *bias, heed_matrix_out y,
                                  const heed_executor *executor);

/* w (n_in, n_out), or (n_out, n_in) for HEED_OUT_IN, to int8 with a scale for each output, as heed_narrow's for a row:
 * q is contiguous, scales are (n_out). Error, aliasing: as heed_narrow.
 * Status: as heed_narrow's X for W, as its Y for Y (q and scales); BAD_LAYOUT for LAYOUT. */
HEED_API heed_status heed_weights_quantize(heed_matrix w, int32_t layout, int8_t *q, float *scales);

#ifdef __cplusplus
}
#endif

#endif
