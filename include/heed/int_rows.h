/* heed: the rest of a layer in integers: sums, products, norms, activations and rotary embedding of rows. Include
 * heed/integers.h.
 *
 * No number is a float. Every result is what its rule states (lib/arithmetic.hpp, I11 to I14), so it has the same bits
 * on every processor. Rows are int8, which products take, or int16, which suits a residual stream. An int16 matrix that
 * is read has the zero point 0, as in TensorFlow Lite.
 *
 * In place: y may be an input, if data, dtype and row_stride are the same. Otherwise y is disjoint from all inputs.
 * Threads: with an executor, rows are shared out. Workspace: none.
 * Status of all functions: OUT_OF_RANGE for a matrix (a zero point), MULTIPLIERS (m outside [2^30, 2^31), or e
 * outside the stated range).
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEED_INT_ROWS_H
#define HEED_INT_ROWS_H

#include "int_types.h"
#include "rope.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A residual connection: y = a * of_a + b * of_b, each (n, dim). of_a is a_scale / y_scale, of_b is b_scale / y_scale.
 * Both e lie from -31 to 30, at most 14 apart.
 * Error: one rounding, half a unit of y, then the range of y.
 * Status: OUT_OF_RANGE for MULTIPLIERS also if the two e are further apart. */
HEED_API heed_status heed_int_add(heed_int_matrix a, heed_multiplier of_a, heed_int_matrix b, heed_multiplier of_b,
                                  heed_int_matrix_out y, const heed_executor *executor);

/* The products of gated layers: y = a * b * factor, each (n, dim). factor is a_scale * b_scale / y_scale; e from -31 to
 * 30.
 * Error: one rounding, half a unit of y, then the range of y. */
HEED_API heed_status heed_int_multiply(heed_int_matrix a, heed_int_matrix b, heed_multiplier factor,
                                       heed_int_matrix_out y, const heed_executor *executor);

/* Changes the scale, dtype or zero point: y = x * factor. factor is x_scale / y_scale; e from -31 to 30.
 * Error: one rounding, half a unit of y, then the range of y. */
HEED_API heed_status heed_int_rescale(heed_int_matrix x, heed_multiplier factor, heed_int_matrix_out y,
                                      const heed_executor *executor);

/* The largest dim of a norm. */
#define HEED_INT_MAX_NORM_DIM 16384

/* Weights of a norm, in integers: weight / y_scale * 2^shift and bias / y_scale * 2^shift, rounded. A shift of 16 to 20
 * suits most models. */
typedef struct heed_int_norm {
  const int32_t *weight; /* (dim) */
  const int32_t *bias;   /* (dim) or null */
  int32_t shift;         /* 0 to 30 */
  uint32_t eps;          /* eps / x_scale^2 * 2^16, rounded */
} heed_int_norm;

/* Layer norm: y = (x - mean) / sqrt(variance + eps) * weight + bias. RMS norm: y = x / sqrt(mean of squares + eps) *
 * weight + bias. x and y are (n, dim), dim at most HEED_INT_MAX_NORM_DIM. Sums are exact; a normalised number has 20
 * bits of fraction.
 * Error: half a unit of y, and 2^-20 * |weight| / y_scale.
 * If x - mean (in the RMS norm x) is 0 in a whole row, y is the bias.
 * Status: OUT_OF_RANGE for WEIGHT (shift). */
HEED_API heed_status heed_int_layer_norm(heed_int_matrix x, heed_int_norm norm, heed_int_matrix_out y,
                                         const heed_executor *executor);
HEED_API heed_status heed_int_rms_norm(heed_int_matrix x, heed_int_norm norm, heed_int_matrix_out y,
                                       const heed_executor *executor);

/* The activations of heed_int_table: heed_gelu, heed_gelu_tanh, heed_silu and heed_relu of rows.h. */
typedef enum heed_int_activation {
  HEED_INT_GELU = 0,
  HEED_INT_GELU_TANH = 1,
  HEED_INT_SILU = 2,
  HEED_INT_RELU = 3
} heed_int_activation;

/* Fills the table of an activation: table[x + 128] = y_zero_point + f(x_scale * (x - x_zero_point)) / y_scale, rounded.
 * y_units is 1 / y_scale. Both e lie from -30 to 30. The table is computed in integers, so it is the same everywhere.
 * Error: 0.5 + 2^-23 units of y, and 2^-20 / y_scale.
 * Status: OUT_OF_RANGE for X, Y (a zero point); the table is named Y. */
HEED_API heed_status heed_int_table(int32_t activation, heed_multiplier x_scale, int32_t x_zero_point,
                                    heed_multiplier y_units, int32_t y_zero_point, int8_t table[256]);
/* y = table[x + 128]. x and y are int8, (n, dim); their zero points have no effect.
 * Status: the table is named WEIGHT. */
HEED_API heed_status heed_int_lookup(heed_int_matrix x, const int8_t table[256], heed_int_matrix_out y,
                                     const heed_executor *executor);

/* Rotary embedding in integers: a table of cosines and sines, which is computed on a PC, for example by
 * calibrate::layer (ports/calibrate). It is constant data, which a firmware keeps in its flash, and all layers of a
 * model share it. */
typedef struct heed_int_rope {
  const int16_t *table; /* (n_positions, rotary_dim): rotary_dim / 2 cosines, then as many sines, in units of 2^-14 */
  int32_t n_positions;  /* positions 0 to n_positions - 1 have a row: 1 to HEED_MAX_COUNT */
  int32_t rotary_dim;   /* even: the first rotary_dim numbers of a head are rotated, the others stay */
  int32_t style;        /* heed_rope_style (rope.h) */
} heed_int_rope;

/* Rotates the heads of x, in place. x is int8, (n, n_heads * head_dim). Row t has the position first_position + t. With
 * cosine c and sine s of pair i, and both elements less the zero point, (a, b) becomes the zero point plus
 * ((a c - b s) / 2^14, (a s + b c) / 2^14), rounded to nearest, ties up, and clamped to int8. The scale stays. A cosine
 * of 2^14 and a sine of 0, which position 0 has, change nothing. A table may hold a factor (YaRN) below 2.
 * Error: half a unit, then the range of int8. A table that is rounded to nearest adds up to 2^-15 (|a| + |b|) units,
 * which is less than 0.016.
 * Status: BAD_DTYPE for X (int8 only); SHAPE_MISMATCH for N_HEADS (must divide dim), ROTARY_DIM (odd, or more than
 * head_dim); OUT_OF_RANGE for POSITIONS (n_positions), POSITION (negative, or rows beyond n_positions); the table is
 * named FREQUENCIES. */
HEED_API heed_status heed_int_rope_run(const heed_int_rope *rope, heed_int_matrix_out x, int32_t n_heads,
                                       int64_t first_position, const heed_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
