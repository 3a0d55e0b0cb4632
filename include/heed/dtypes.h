/* heed: matrices and tensors of numbers in fewer bits, and their conversion. weights.h has weights. Include heed.h.
 *
 * Dtypes other than f32 are for storage: every result has the bits of the f32 call on the converted values. Conversion
 * to f32 is exact for f16 and bf16, also for subnormal f16. An int8 number becomes one product, number * scale,
 * rounded to f32. Narrowing rounds to nearest, ties to even.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEED_DTYPES_H
#define HEED_DTYPES_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The type of the numbers of a matrix, a tensor, a cache or weights. */
typedef enum heed_dtype {
  HEED_F32 = 0,   /* IEEE 754 binary32: float */
  HEED_F16 = 1,   /* IEEE 754 binary16 */
  HEED_BF16 = 2,  /* the upper half of an f32 */
  HEED_INT8 = 3,  /* -127 to 127 times a scale; each row has a scale, in weights each output */
  HEED_Q8_0 = 4,  /* weights only, in blocks of 32 inputs: -127 to 127 times a scale in f16, one for each block */
  HEED_Q4_0 = 5,  /* the same with numbers from -8 to 7, two in a byte */
  HEED_INT16 = 6, /* integers.h only: results of 16 bits */
  HEED_UINT8 = 7  /* weights only: 0 to 255, less a zero point, times a scale (heed_weights_with_zero_points) */
} heed_dtype;
/* Bytes of a number. Blocks have no such size: a block of HEED_Q8_0 takes 34 bytes, one of HEED_Q4_0 takes 18. */
#define HEED_DTYPE_BYTES(dtype) ((dtype) == HEED_F32 ? 4 : (dtype) == HEED_INT8 || (dtype) == HEED_UINT8 ? 1 : 2)

/* ------------------------------------------------------------------------------------------------------------ rows */

/* A matrix that is read, of numbers in any dtype. Element (r, i) is data[r * row_stride + i]. */
typedef struct heed_typed_matrix {
  const void *data;     /* aligned as its numbers are */
  const float *scales;  /* int8 only: (n_rows) */
  int32_t dtype;        /* heed_dtype */
  int32_t n_rows, dim;  /* rows, and numbers of a row */
  ptrdiff_t row_stride; /* in elements; 0 repeats one row */
} heed_typed_matrix;

/* A matrix that is written. Its elements lie as in heed_typed_matrix. */
typedef struct heed_typed_matrix_out {
  void *data;           /* aligned as its numbers are */
  float *scales;        /* int8 only: (n_rows) */
  int32_t dtype;        /* heed_dtype */
  int32_t n_rows, dim;  /* rows, and numbers of a row */
  ptrdiff_t row_stride; /* in elements; at least dim, unless n_rows is 1 */
} heed_typed_matrix_out;

/* A contiguous matrix: row_stride is dim. */
static inline heed_typed_matrix heed_typed_matrix_of(const void *data, const float *scales, int32_t dtype,
                                                     int32_t n_rows, int32_t dim) {
  heed_typed_matrix m = {data, scales, dtype, n_rows, dim, dim};
  return m;
}
static inline heed_typed_matrix_out heed_typed_matrix_out_of(void *data, float *scales, int32_t dtype, int32_t n_rows,
                                                             int32_t dim) {
  heed_typed_matrix_out m = {data, scales, dtype, n_rows, dim, dim};
  return m;
}

/* Writes the rows of x (n, dim) to y (n, dim) in the dtype of y. f16 and bf16: numbers beyond the range become
 * infinity, and NaN stays NaN. int8: scales[r] = max |x[r]| / 127, rounded down where 127 * scale would be infinite,
 * and y is x / scale, rounded. A row of zeros has the scale 0. A row with NaN or infinity has no scale.
 * Error: |y - x| is at most 2^-11 |x| + 2^-25 in f16 (up to 65504), 2^-8 |x| in bf16, and scale * (0.5 + 2^-16) in int8
 * if the scale is not subnormal.
 * Aliasing: y and its scales are disjoint from x and from each other.
 * Status: NOT_FINITE for X if HEED_INT8 has no scale for a row. */
HEED_API heed_status heed_convert_from_f32(heed_matrix x, heed_typed_matrix_out y);

/* Writes the rows of x (n, dim), in any dtype, to y (n, dim) as floats.
 * Error: none; in int8 one rounding.
 * Aliasing: y is disjoint from x and its scales. */
HEED_API heed_status heed_convert_to_f32(heed_typed_matrix x, heed_matrix_out y);

/* --------------------------------------------------------------------------------------- queries, keys, values, out */

/* A tensor that is read, of numbers in any dtype. Element (b, h, t, i) is data[b * batch_stride + h * head_stride +
 * t * row_stride + i]. In int8, the scale of row (b, h, t) is scales.data[b * scales.batch_stride +
 * h * scales.head_stride + t * scales.row_stride]. */
typedef struct heed_typed_tensor {
  const void *data;                                /* aligned as its numbers are; null: the call's own tensor is read */
  heed_tensor scales;                              /* int8 only */
  int32_t dtype;                                   /* heed_dtype */
  ptrdiff_t batch_stride, head_stride, row_stride; /* in elements */
} heed_typed_tensor;

/* A tensor that is written. Its elements lie as in heed_typed_tensor. HEED_INT8 is not possible here. */
typedef struct heed_typed_tensor_out {
  void *data;    /* aligned as its numbers are; null: the call's own tensor is written */
  int32_t dtype; /* heed_dtype */
  ptrdiff_t batch_stride, head_stride, row_stride; /* in elements */
} heed_typed_tensor_out;

/* Tensors of a call of attention in any dtype, for heed_options.typed. The call's own tensor of the same name then has
 * data null.
 *
 *   heed_typed_tensors typed;
 *   heed_typed_tensors_init(&typed);
 *   typed.k = heed_typed_head_major(k, NULL, HEED_F16, n_kv, n_kv_heads, head_dim);
 *   options.typed = &typed;
 *
 * Shapes: as in heed_attention. All options combine with typed tensors. A cache combines only with typed q and out.
 * With a partial, out is not written: its data must be null here, too.
 * Error: The result has the bits of the call on q, k and v as f32. out is what heed_convert_from_f32 makes of
 * this result.
 * Aliasing: out is disjoint from everything else. q, k, v and scales may share memory.
 * Workspace: as without typed tensors. Queries and out in fewer bits take part of it, so fewer rows are computed
 * together. If the workspace has no room for one row of queries in f32 (near the minimum, if head_dim > 264 +
 * 2 * v_dim), scores are computed number by number, which is slow.
 * Speed: Keys and values are converted while they are read. If the processor has vector instructions for this, decoding
 * takes about the time of f32, and less if memory limits the speed. f16 takes up to a seventh more than f32 if the keys
 * and values come from a processor cache close to the core. A Cortex-M4F converts one number at a time. There a call
 * of many queries takes about twice the instructions of heed_convert_to_f32 and the f32 call together, about twice the
 * code (17 KB) and more stack (2.0 KB instead of 0.8 KB). So convert first there, if there is memory for the floats.
 * Status of a call: CONFLICT for Q, K, V, OUT (K, V also with a cache; OUT with a partial). In layers and sequences:
 * UNSUPPORTED for TYPED. */
typedef struct heed_typed_tensors {
  uint32_t struct_size; /* sizeof(heed_typed_tensors) */
  const heed_code *code;
  heed_typed_tensor q, k, v; /* what the call reads */
  heed_typed_tensor_out out; /* what it writes */
} heed_typed_tensors;

/* Makes an object without typed tensors: all data is null. */
HEED_API heed_status heed_typed_tensors_init(heed_typed_tensors *typed);

/* Contiguous tensors in the layouts of types.h. scales is null, or contiguous in the order of the rows, as
 * heed_convert_from_f32 writes them. */
static inline heed_typed_tensor heed_typed_token_major(const void *data, const float *scales, int32_t dtype,
                                                       int32_t n_rows, int32_t n_heads, int32_t dim) {
  heed_typed_tensor t = {data,  heed_token_major(scales, n_rows, n_heads, 1),
                         dtype, heed_stride_of(n_rows, n_heads, dim),
                         dim,   heed_stride_of(n_heads, dim, 1)};
  return t;
}
static inline heed_typed_tensor heed_typed_head_major(const void *data, const float *scales, int32_t dtype,
                                                      int32_t n_rows, int32_t n_heads, int32_t dim) {
  heed_typed_tensor t = {data,
                         heed_head_major(scales, n_rows, n_heads, 1),
                         dtype,
                         heed_stride_of(n_heads, n_rows, dim),
                         heed_stride_of(n_rows, dim, 1),
                         dim};
  return t;
}
static inline heed_typed_tensor_out heed_typed_token_major_out(void *data, int32_t dtype, int32_t n_rows,
                                                               int32_t n_heads, int32_t dim) {
  heed_typed_tensor_out t = {data, dtype, heed_stride_of(n_rows, n_heads, dim), dim, heed_stride_of(n_heads, dim, 1)};
  return t;
}
static inline heed_typed_tensor_out heed_typed_head_major_out(void *data, int32_t dtype, int32_t n_rows,
                                                              int32_t n_heads, int32_t dim) {
  heed_typed_tensor_out t = {data, dtype, heed_stride_of(n_heads, n_rows, dim), heed_stride_of(n_rows, dim, 1), dim};
  return t;
}

#ifdef __cplusplus
}
#endif

#endif
