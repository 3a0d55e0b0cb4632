/* heed: a layer of a transformer as one call: attention and feed-forward, with norms and residuals. Include heed.h.
 *
 * One struct is an encoder layer (BERT, ViT, KWT: all rows at once), or a decoder layer (GPT, Llama: causal, rotary
 * embedding, a cache). The result is that of the public functions called one after another, to the bit:
 *
 *   norm_first (Llama, GPT-2)                          norm last (the paper, BERT, KWT)
 *   h = norm1(x)                                       h = x
 *   q, k, v = h wq + bq, h wk + bk, h wv + bv; q and k turned by rope; k and v appended to the cache
 *   a = x + attention(q, k, v) wo + bo                 a = norm1(x + attention(q, k, v) wo + bo)
 *   g = norm2(a)                                       g = a
 *   f = activation(g w_up + b_up) w_down + b_down; gated: activation(g w_gate + b_gate) * (g w_up + b_up)
 *   y = a + f                                          y = norm2(a + f)
 *
 * Source: Vaswani et al. 2017; Xiong et al. 2020 (norms first); Shazeer 2020 (gated). SPDX-License-Identifier: MIT */
#ifndef HEED_TRANSFORMER_H
#define HEED_TRANSFORMER_H

#include "block.h"
#include "cache.h"
#include "formats.h"
#include "options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero what is not wanted: struct heed_block b = {0}; b.struct_size = sizeof b; ... */
typedef struct heed_block {
  uint32_t struct_size; /* sizeof(heed_block) */
  int32_t model_dim, n_heads, n_kv_heads, head_dim, v_dim, hidden_dim;
  int32_t causal;                                                     /* 0 or 1; with a cache 1 */
  int32_t norm_first;                                                 /* 0 or 1 */
  float scale;                                                        /* of attention; 0: 1/sqrt(head_dim) */
  float eps;                                                          /* of both norms */
  heed_norm *norm;                                                    /* heed_rms_norm, heed_layer_norm */
  const float *norm1_weight, *norm1_bias, *norm2_weight, *norm2_bias; /* (model_dim) or null */
  heed_weights wq, wk, wv, wo;                                        /* any format, either layout */
  const float *bq, *bk, *bv, *bo;                                     /* or null */
  heed_activation *activation;                                        /* heed_silu, heed_gelu, ... */
  heed_weights w_up, w_gate, w_down;   /* (model_dim, hidden_dim) twice, (hidden_dim, model_dim); w_gate.data null: not
                                          gated */
  const float *b_up, *b_gate, *b_down; /* or null */
  const heed_rope *rope;               /* or null; any rotary_dim, with a cache, too */
  heed_cache *cache;                   /* or null; of one sequence, to which k and v are appended */
  const heed_options *options;         /* of attention, or null: no partial, no cache here */
} heed_block;

/* Floats of activations for n rows: norms, q, k, v and context, then the hidden rows in their place. gated: 0 or 1. */
#define HEED_BLOCK_ACTIVATIONS(n, model_dim, n_heads, n_kv_heads, head_dim, v_dim, hidden_dim, gated)             \
  (HEED_SIZE(n) * (HEED_SIZE(model_dim) +                                                                         \
                   ((HEED_SIZE(n_heads) + HEED_SIZE(n_kv_heads)) * (HEED_SIZE(head_dim) + HEED_SIZE(v_dim)) >     \
                            HEED_SIZE(hidden_dim) * HEED_SIZE((gated) ? 2 : 1)                                    \
                        ? (HEED_SIZE(n_heads) + HEED_SIZE(n_kv_heads)) * (HEED_SIZE(head_dim) + HEED_SIZE(v_dim)) \
                        : HEED_SIZE(hidden_dim) * HEED_SIZE((gated) ? 2 : 1))))

/* x (n, model_dim) to y (n, model_dim). Rows are one sequence: with a cache they are its next n tokens, at positions
 * from its length on, else positions 0 to n - 1. Several sentences are several calls: a loop over them without
 * padding took 30.5 ms where the same functions on a padded batch took 35.4. y may be x (same data and row_stride), or
 * is disjoint from all. activations: HEED_BLOCK_ACTIVATIONS floats; workspace: as heed_attention_run; both disjoint
 * from all. executor: may be null.
 * Status: NULL_POINTER, MISALIGNED, UNKNOWN_STRUCT for BLOCK; OUT_OF_RANGE for MODEL_DIM, HIDDEN_DIM, NORM_FIRST and as
 * heed_layer_run; NULL_POINTER for NORM, ACTIVATION; as heed_project, with MISFIT for other sizes, for WQ, WK, WV, WO,
 * W_UP, W_GATE, W_DOWN; MISALIGNED, OVERFLOW for BQ, BK, BV, BO, B_UP, B_GATE, B_DOWN, WEIGHT, BIAS (of norms); MISFIT
 * for B_GATE (without w_gate), CAUSAL (0 with a cache), CACHE (shape, one in options, or a ring that would no longer
 * have all keys that the first row sees: up to spare + 1 rows always fit), PARTIAL; NOT_FINITE, OUT_OF_RANGE for EPS;
 * as heed_cache_append for CACHE and ROPE; as heed_layer_run for X, Y, ACTIVATIONS, WORKSPACE, EXECUTOR, options. NaN
 * or infinity that an int8 cache cannot hold (NOT_FINITE for K, V) is found after activations have been written; y and
 * the cache are as they were. norm and activation may be functions of your own, which get an executor of heed's: what
 * they call with it runs on the layer's kernel. If one returns a status, the layer ends and returns it; y may then be
 * written in part, and the cache may hold the new tokens. */
HEED_API heed_status heed_block_run(const heed_block *block, heed_matrix x, heed_matrix_out y, float *activations,
                                    size_t n_activations, void *workspace, size_t workspace_bytes,
                                    const heed_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
