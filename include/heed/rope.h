/* heed: rotary position embedding (RoPE). Include heed.h. SPDX-License-Identifier: MIT */
#ifndef HEED_ROPE_H
#define HEED_ROPE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which elements of a head form a pair. */
typedef enum heed_rope_style {
  HEED_ROPE_INTERLEAVED = 0, /* elements 2 i and 2 i + 1: the paper, Llama's own files */
  HEED_ROPE_HALVES = 1       /* elements i and i + rotary_dim / 2: GPT-NeoX, Hugging Face */
} heed_rope_style;

/* The code of a heed_rope. heed_rope_init sets it. It is opaque. */
typedef struct heed_rope_code heed_rope_code;

/* The most positions of a token. */
#define HEED_ROPE_MAX_AXES 4

/* How each head is rotated: pair i of its elements turns by the angle position * scale * frequency, in radians. The
 * frequency is base^(-2 i / rotary_dim), or inverse_frequencies[i] if inverse_frequencies is not null. scale is 1, or
 * less for linear scaling (Chen et al. 2023). base is 10000 in the paper, and larger for long contexts ("NTK" scaling).
 * Use inverse_frequencies for any other scaling (YaRN, Llama 3), and factor if that scaling has one.
 *
 * A token of an image or a video has several positions, such as time, row and column: n_axes of them. axes[i] says
 * which of them rotates pair i. M-RoPE with sections of 16, 24 and 24 pairs (Qwen2-VL) has n_axes = 3, and axes of 16
 * zeros, 24 ones and 24 twos. A layer and heed_cache_append count the tokens, and use the number of a token as its
 * position on all axes. If positions is not null, they use positions instead. Attention stays causal by the order of
 * the tokens.
 * Source: Su et al. 2021; Peng et al. 2023 (the factor); Wang et al. 2024 (the axes). */
typedef struct heed_rope {
  uint32_t struct_size; /* sizeof(heed_rope) */
  const heed_rope_code *code;
  int32_t style;      /* heed_rope_style */
  int32_t rotary_dim; /* even: the first rotary_dim elements of a head are rotated, the others stay; 0: all */
  float base;         /* more than 1 */
  float scale;        /* -2^16 to 2^16 */
  const float *inverse_frequencies; /* (rotary_dim / 2) or null: each -2^16 to 2^16, in radians for a position */
  float factor;        /* multiplies sine and cosine, 2^-16 to 2^16: 1, or the attention factor of YaRN and LongRoPE */
  int32_t n_axes;      /* positions of a token, 0 to HEED_ROPE_MAX_AXES; 0 and 1 both mean one */
  const uint8_t *axes; /* (rotary_dim / 2): the axis of each pair, from 0; null if n_axes is 0 or 1 */
  const int32_t *positions; /* (n, n_axes) or null: of the n tokens that a layer or heed_cache_append takes next */
} heed_rope;

/* Makes a rope that rotates all elements of a head, with base 10000, scale 1 and factor 1. */
HEED_API heed_status heed_rope_init(heed_rope *rope, int32_t style);

/* Rotates the rows of x (n, n_heads, head_dim) and writes them to y. Row t has the position positions[t], or
 * position + t if positions is null. With several axes, positions is (n, n_axes). position is any int64, and each of
 * positions any int32. rope->positions is not used here. Strides are as in heed_tensor; batch_stride is ignored. A
 * finite pair whose angle is 0 stays as it is, except for the signs of zeros and the factor.
 * Error: of sine and cosine, 1.41 u; of each element of a pair (a, b), 4 u sqrt(a^2 + b^2); plus the error of the
 * angle. The angle is off by at most 2^-31 radians + |position| * 2^-57 max(1, |frequency|), where |frequency| is
 * |scale| or |scale * inverse_frequency|. u is 2^-24. The angle between two tokens is as exact at large positions: it
 * is off by at most 2^-30 radians + |difference| * 2^-57 max(1, |frequency|). With a factor other than 1, each element
 * has factor times this error, with 5 u for 4 u.
 * NaN: A NaN makes both elements of its pair NaN. An infinity makes them infinite or NaN. Other pairs do not change.
 * Aliasing: y is x (the same data and strides), or is disjoint from all inputs.
 * Status: SHAPE_MISMATCH for ROTARY_DIM (odd, or more than head_dim); NOT_FINITE, OUT_OF_RANGE for FREQUENCIES: one
 * of them; OUT_OF_RANGE for AXES (one of them is not below n_axes), POSITION (position + n beyond int64). */
HEED_API heed_status heed_rope_apply(const heed_rope *rope, heed_tensor x, int32_t n, int32_t n_heads, int32_t head_dim,
                                     int64_t position, const int32_t *positions, heed_tensor_out y,
                                     const heed_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
