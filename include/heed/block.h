/* heed: the rest of a transformer block: norms, activations, rotary embedding, sums of rows. Include heed.h.
 *
 * Every function follows the arithmetic contract: the same bits on every kernel and for any number of threads. All work
 * row by row; y may be x itself (same data and row_stride), or is disjoint from all inputs. No workspace. A program
 * links the functions that it names, and no other.
 *
 * Errors are greatest ones, in u = 2^-24, of both profiles unless it says otherwise; every result that is subnormal or
 * made of subnormal products may be 2^-149 further off. SPDX-License-Identifier: MIT */
#ifndef HEED_BLOCK_H
#define HEED_BLOCK_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------------------------------------------------- norms */

/* A norm of each row of x (n, dim) into y (n, dim); layers take one of the two below by this type.
 * weight and bias: (dim) or null. eps: finite, not negative.
 * Status: as heed_softmax for X, Y, EXECUTOR; MISALIGNED, OVERFLOW for WEIGHT, BIAS; NOT_FINITE, OUT_OF_RANGE for EPS.
 */
typedef heed_status heed_norm(heed_matrix x, const float *weight, const float *bias, float eps, heed_matrix_out y,
                              const heed_executor *executor);

/* y = x / sqrt(mean(x^2) + eps) * weight + bias. Source: Zhang and Sennrich 2019.
 * Range: mean(x^2) + eps is at least 2^-100, the sum of the squares below 2^128. Where the root is 0 (zeros and no
 * eps) or the sum infinite, y is bias, or zeros.
 * Error: |y - exact| <= u ((dim / 128 + 10) |y - bias| + |bias|), dim to HEED_MAX_DIM.
 * NaN in a row: the whole row is NaN. Infinity in a row: its own element is NaN, the others are bias, or zeros.
 */
HEED_API heed_status heed_rms_norm(heed_matrix x, const float *weight, const float *bias, float eps, heed_matrix_out y,
                                   const heed_executor *executor);

/* y = (x - mean) / sqrt(mean((x - mean)^2) + eps) * weight + bias. Source: Ba et al. 2016. Squares are those of
 * differences, so that a large mean costs no more than its own rounding.
 * Range: as heed_rms_norm, for the differences. Where all are 0, as in a row of one element, y is bias, or zeros.
 * Error: |y - exact| <= u ((dim / 128 + 12) |y - bias| + |bias|) + E |weight| + E^2 |y - bias|, dim to HEED_MAX_DIM,
 * where E = u (dim / 64 + 8) mean |x| / sqrt(mean((x - mean)^2) + eps) is what the mean's own error comes to.
 * NaN or infinity in a row: the whole row is NaN. */
HEED_API heed_status heed_layer_norm(heed_matrix x, const float *weight, const float *bias, float eps,
                                     heed_matrix_out y, const heed_executor *executor);

/* ----------------------------------------------------------------------------------------------------- activations */

/* y = f(x), or f(x) * up where up.data is not null: the gated forms (GEGLU, SwiGLU; Shazeer 2020). Shapes: all (n,
 * dim). y may be x or up. Layers take one of the functions below by this type.
 * Error: below, for f; checked for every float. f(x) * up is rounded once more: 1 u. Where f is made +0 because it is
 * tiny, f(x) * up is 0.
 * NaN stays NaN; f(+infinity) is +infinity, f(-infinity) is +0; zeros keep their sign. Products with up are those of
 * IEEE 754: 0 times infinity is NaN. Status: as heed_softmax for X, UP, Y, EXECUTOR. */
typedef heed_status heed_activation(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor);

/* x * (1 + erf(x / sqrt 2)) / 2: "gelu" of PyTorch and of Hugging Face, thus of BERT, MiniLM and ViT there. Source:
 * Hendrycks and Gimpel 2016.
 * Error: 8 u |y|, unfused 10; +0 below -12.9, where |y| is less than 2^-121. */
HEED_API heed_status heed_gelu(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor);
/* x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2: the approximation that Hugging Face calls
 * gelu_new and gelu_pytorch_tanh (GPT-2, Gemma), of the same source.
 * Error: 4 u |y|, unfused 5, and for x < 0 another 3 |v| u |y|, v = 2 sqrt(2 / pi) (x + 0.044715 x^3), which is the
 * exponent; +0 below -9.99, where |y| is less than 2^-122. */
HEED_API heed_status heed_gelu_tanh(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor);
/* x / (1 + exp(-x)), also called swish. Source: Elfwing et al. 2018.
 * Error: 4 u |y|, unfused 5; +0 below -87, where |y| is less than 2^-118. */
HEED_API heed_status heed_silu(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor);
/* max(x, 0). Error: none. */
HEED_API heed_status heed_relu(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor);

/* --------------------------------------------------------------------------------------------------- sums of rows */

/* y = a + b, all (n, dim): a residual connection. y may be a or b. Error: one rounding, u |y|. NaN, infinities and
 * zeros as IEEE 754 adds them. Status: as heed_softmax, for A, B, Y, EXECUTOR. */
HEED_API heed_status heed_add(heed_matrix a, heed_matrix b, heed_matrix_out y, const heed_executor *executor);

/* ----------------------------------------------------------------------------------------------- rotary embedding */

/* Pairs of elements of each head are turned by position * frequency: pair i by base^(-2 i / rotary_dim), in radians.
 * Source: Su et al. 2021. */
typedef enum heed_rope_style {
  HEED_ROPE_INTERLEAVED = 0, /* pairs (2 i, 2 i + 1): the paper, Llama's own files */
  HEED_ROPE_HALVES = 1       /* pairs (i, i + rotary_dim / 2): GPT-NeoX, Hugging Face */
} heed_rope_style;

typedef struct heed_rope_code heed_rope_code;
typedef struct heed_rope {
  uint32_t struct_size;
  const heed_rope_code *code;
  int32_t style;
  int32_t rotary_dim;               /* even; the first so many elements of a head are turned, the others stay; 0: all */
  float base;                       /* > 1: 10000 in the paper; larger for long contexts ("NTK" scaling) */
  float scale;                      /* positions are multiplied by it: 1; less for linear scaling (Chen et al. 2023);
                                       -2^16 to 2^16 */
  const float *inverse_frequencies; /* (rotary_dim / 2) or null: instead of base^(...), radians for a position,
                                       -2^16 to 2^16: any other scaling (YaRN, Llama 3) */
} heed_rope;
/* Turns all of a head, base 10000, scale 1. Status: NULL_POINTER, MISALIGNED for ROPE. */
HEED_API heed_status heed_rope_init(heed_rope *rope, int32_t style);

/* x (n, n_heads, head_dim) into y; row t has position positions[t], or position + t where positions is null. Any int32
 * position. Strides as in heed_tensor (its batch_stride does not count); y may be x (same data and strides).
 * Error: sine and cosine 1.41 u, each element of a pair (a, b) 4 u sqrt(a^2 + b^2), besides what the angle is off:
 * 2^-31 radians, and |position| * 2^-57 max(1, |frequency|), |frequency| = |scale| or |scale * inverse_frequency|. A
 * finite pair whose angle is 0 stays as it is, but for the signs of zeros.
 * NaN in a pair: both of its elements are NaN; infinity: infinite or NaN. Other pairs do not see it.
 * Status: NULL_POINTER, MISALIGNED, UNKNOWN_STRUCT, NOT_INITIALIZED for ROPE; OUT_OF_RANGE for STYLE, ROTARY_DIM,
 * HEAD_DIM, N_HEADS, N; MISFIT for ROTARY_DIM (odd, or more than head_dim); NOT_FINITE, OUT_OF_RANGE for BASE, SCALE,
 * FREQUENCIES; MISALIGNED, OVERFLOW for POSITIONS; OUT_OF_RANGE for POSITION (position + n beyond int32); as
 * heed_attention_run for X, Y, as heed_softmax for EXECUTOR. */
HEED_API heed_status heed_rope_apply(const heed_rope *rope, heed_tensor x, int32_t n, int32_t n_heads, int32_t head_dim,
                                     int32_t position, const int32_t *positions, heed_tensor_out y,
                                     const heed_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
