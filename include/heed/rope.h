/* heed: rotary position embedding (RoPE). Include heed.h. SPDX-License-Identifier: MIT */
#ifndef HEED_ROPE_H
#define HEED_ROPE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

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
