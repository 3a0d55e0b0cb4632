/* heed: a whole transformer layer in integers. Include heed/integers.h.
 *
 * The residual stream is int16, products and attention take int8, and no number is a float. So a whole model runs on a
 * processor without an FPU, with the same bits as on a PC.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEED_INT_LAYERS_H
#define HEED_INT_LAYERS_H

#include "int_attention.h"
#include "int_products.h"
#include "int_rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A projection in integers, as heed_int_linear takes it: y = x w, with the scales x_scale and y_scale. If w has no
 * data, there is no projection. */
typedef struct heed_int_projection {
  heed_weights w;                     /* int8, (n_in, n_out) */
  const int32_t *bias;                /* (n_out) or null; its unit is x_scale * w_scale[o] */
  const heed_multiplier *multipliers; /* (n_out): x_scale * w_scale[o] / y_scale */
} heed_int_projection;

/* The type of a norm in integers: heed_int_layer_norm or heed_int_rms_norm. */
typedef heed_status heed_int_norm_function(heed_int_matrix x, heed_int_norm norm, heed_int_matrix_out y,
                                           const heed_executor *executor);

/* A transformer layer: these calls, one after another. Their results have the bits of heed_int_layer_run. Each number
 * stands for scale * (number - zero point). Capitals are int8 and have the zero point in brackets; small letters are
 * int16 with the zero point 0. Each result has a scale of its own: x_scale, H_scale and so on. You choose the scales;
 * the layer gets them as the multipliers below.
 *
 *   norm_first                                     norm last
 *   H (h_zero) = norm1 of x                        H (h_zero) = heed_int_rescale of x by to_h
 *
 *   Q (q_zero), K (k_zero), V (v_zero) = heed_int_linear of H by wq, wk, wv
 *   with a rope: Q, K = heed_int_rope_run of Q, K; the position of row 0 is 0, or heed_int_cache_length of the cache
 *   C (c_zero) = heed_int_attention_run of Q, K, V by score, value
 *   c = heed_int_linear of C by wo
 *
 *   a = heed_int_add of x by of_x                  s = heed_int_add of x by of_x and c by of_attention
 *       and c by of_attention                      a = norm1 of s
 *   G (g_zero) = norm2 of a                        G (g_zero) = heed_int_rescale of a by to_g
 *
 *   not gated:  P (u_zero) = heed_int_linear of G by w_up
 *               U (u_zero) = heed_int_lookup of P in activation
 *   gated:      P (gate_zero) = heed_int_linear of G by w_gate
 *               A (gate_zero) = heed_int_lookup of P in activation
 *               B (up_zero) = heed_int_linear of G by w_up
 *               U (u_zero) = heed_int_multiply of A, B by gate
 *   u = heed_int_linear of U by w_down
 *
 *   y = heed_int_add of a by of_a                  t = heed_int_add of a by of_a and u by of_hidden
 *       and u by of_hidden                         y = norm2 of t
 *
 * P and the result of the activation have the same zero point z. So heed_int_table takes P_scale, z, 1 / U_scale, z
 * with z = u_zero, and for a gated layer P_scale, z, 1 / A_scale, z with z = gate_zero. */
typedef struct heed_int_layer {
  uint32_t struct_size;                  /* sizeof(heed_int_layer) */
  int32_t model_dim, ffn_dim;            /* numbers of a row, and of a hidden row */
  int32_t n_heads, n_kv_heads, head_dim; /* as heed_int_attention; v_dim is head_dim */
  int32_t norm_first, causal;            /* 0 or 1 */
  heed_int_projection wq;       /* H to Q: (model_dim, n_heads * head_dim), multipliers H_scale * w_scale / Q_scale */
  heed_int_projection wk, wv;   /* H to K, H to V: (model_dim, n_kv_heads * head_dim), likewise */
  heed_int_projection wo;       /* C to c, int16: (n_heads * head_dim, model_dim) */
  heed_int_projection w_up;     /* G to P, in a gated layer to B: (model_dim, ffn_dim) */
  heed_int_projection w_gate;   /* gated: G to P, (model_dim, ffn_dim); without data: not gated */
  heed_int_projection w_down;   /* U to u, int16: (ffn_dim, model_dim) */
  heed_int_norm_function *norm; /* heed_int_layer_norm or heed_int_rms_norm, for both norms */
  heed_int_norm norm1, norm2;   /* (model_dim) each, eps in units of what they take, weights and biases in units of what
                                 * they give: norm_first: norm1 x to H, norm2 a to G; norm last: norm1 s to a,
                                 * norm2 t to y */
  const int8_t *activation;     /* (256), of heed_int_table: P to U, in a gated layer P to A */
  int32_t h_zero, q_zero, k_zero, v_zero, c_zero; /* zero points of H, Q, K, V, C: -128 to 127 */
  int32_t g_zero, u_zero;                         /* of G; of U, and of P if the layer is not gated */
  int32_t up_zero, gate_zero;                     /* gated only: of B; of P and A */
  heed_multiplier score, value;                   /* Q_scale * K_scale * log2(e) / sqrt(head_dim), V_scale / C_scale */
  heed_multiplier to_h, to_g;                     /* norm last only: x_scale / H_scale, a_scale / G_scale */
  heed_multiplier of_x, of_attention; /* x_scale / a_scale, c_scale / a_scale; norm last: to s instead of a */
  heed_multiplier of_a, of_hidden;    /* a_scale / y_scale, u_scale / y_scale; norm last: to t instead of y */
  heed_multiplier gate;               /* gated only: A_scale * B_scale / U_scale */
  struct heed_int_cache *cache; /* a cache of one sequence (int_cache.h), to which K and V are appended; or null */
  int32_t out_rows;             /* rows of y: 0: all; k: the first k of x; -k: the last k */
  const heed_int_rope *rope;    /* rotary embedding of Q and K, before attention and before a cache; or null */
} heed_int_layer;

/* A layer with heads of model_dim / n_heads, norms last, zero points of 0, and nothing else set. */
static inline heed_int_layer heed_int_layer_default(int32_t model_dim, int32_t n_heads, int32_t ffn_dim,
                                                    heed_int_norm_function *norm) {
  const heed_int_projection none = {
      {HEED_NULL, HEED_NULL, HEED_INT8, HEED_OUT_IN, 0, 0, 0, HEED_NULL, HEED_NULL, 0}, HEED_NULL, HEED_NULL};
  const heed_int_norm no_norm = {HEED_NULL, HEED_NULL, 0, 0};
  const heed_multiplier unset = {0, 0};
  heed_int_layer l;
  l.struct_size = sizeof l;
  l.model_dim = model_dim;
  l.ffn_dim = ffn_dim;
  l.n_heads = l.n_kv_heads = n_heads;
  l.head_dim = n_heads > 0 ? model_dim / n_heads : 0;
  l.norm_first = l.causal = 0;
  l.wq = l.wk = l.wv = l.wo = l.w_up = l.w_gate = l.w_down = none;
  l.norm = norm;
  l.norm1 = l.norm2 = no_norm;
  l.activation = HEED_NULL;
  l.h_zero = l.q_zero = l.k_zero = l.v_zero = l.c_zero = l.g_zero = l.u_zero = l.up_zero = l.gate_zero = 0;
  l.score = l.value = l.to_h = l.to_g = l.of_x = l.of_attention = l.of_a = l.of_hidden = l.gate = unset;
  l.cache = HEED_NULL;
  l.out_rows = 0;
  l.rope = HEED_NULL;
  return l;
}

/* Bytes of workspace for n rows, as constant expressions: keys and values of all rows; then, for each worker, some rows
 * and a workspace of attention. HEED_INT_LAYER_BYTES is for one worker; for each further one add
 * HEED_INT_LAYER_SIZE_OF_WORKER. With a cache, keys and values lie in the cache: n is 0 in these macros. Any size from
 * HEED_INT_LAYER_MIN_BYTES up gives the same bits. */
#define HEED_INT_LAYER_ROUND(bytes) (((bytes) + 63) / 64 * 64)
#define HEED_INT_LAYER_GREATER(a, b) ((a) > (b) ? (a) : (b))
#define HEED_INT_LAYER_SIZE_OF_KEYS(n, n_kv_heads, head_dim) \
  (2 * HEED_INT_LAYER_ROUND(HEED_SIZE_64(n) * HEED_SIZE_64(n_kv_heads) * HEED_SIZE_64(head_dim)))
#define HEED_INT_LAYER_SIZE_OF_ROW(model_dim, n_heads, head_dim, ffn_dim, gated)            \
  HEED_INT_LAYER_ROUND(3 * HEED_SIZE(model_dim) +                                           \
                       HEED_INT_LAYER_GREATER(2 * HEED_SIZE(n_heads) * HEED_SIZE(head_dim), \
                                              HEED_SIZE(ffn_dim) * HEED_SIZE((gated) ? 2 : 1)))
#define HEED_INT_LAYER_SIZE_OF_WORKER(model_dim, n_heads, head_dim, ffn_dim, gated) \
  (32 * HEED_INT_LAYER_SIZE_OF_ROW(model_dim, n_heads, head_dim, ffn_dim, gated) +  \
   HEED_INT_LAYER_ROUND(HEED_INT_WORKSPACE_BYTES(head_dim, head_dim)))
#define HEED_INT_LAYER_BYTES(n, model_dim, n_heads, n_kv_heads, head_dim, ffn_dim, gated) \
  HEED_SIZE_FIT(HEED_INT_LAYER_SIZE_OF_KEYS(n, n_kv_heads, head_dim) +                    \
                HEED_INT_LAYER_SIZE_OF_WORKER(model_dim, n_heads, head_dim, ffn_dim, gated))
#define HEED_INT_LAYER_MIN_BYTES(n, model_dim, n_heads, n_kv_heads, head_dim, ffn_dim, gated) \
  HEED_SIZE_FIT(HEED_INT_LAYER_SIZE_OF_KEYS(n, n_kv_heads, head_dim) +                        \
                HEED_INT_LAYER_SIZE_OF_ROW(model_dim, n_heads, head_dim, ffn_dim, gated) +    \
                HEED_INT_LAYER_ROUND(HEED_INT_WORKSPACE_MIN_BYTES(head_dim, head_dim)))
/* Both as functions. They return 0 if a number of the layer or n is not valid, or if no memory is so large. */
HEED_API size_t heed_int_layer_bytes(const heed_int_layer *layer, int32_t n);
HEED_API size_t heed_int_layer_min_bytes(const heed_int_layer *layer, int32_t n);

/* Runs the layer on x (n, model_dim), int16, and writes y (n, model_dim), int16. The rows are one sequence. With a
 * cache, they are its next n tokens. With a ring, n is any number: the call takes spare + 1 rows at a time, with the
 * same result.
 * Rows that are wanted: With out_rows = k, only the first k rows of x are computed to the end; with -k, only the last
 *         k. y has k rows, which have the bits of the whole call, and is disjoint from x. Keys and values are those of
 *         all rows. A class token needs row 0 of the last layer, and a prompt its last row.
 * Threads: rows are shared out in pieces, if the workspace has room for all workers. Else one thread does all.
 * Aliasing: y is x (the same data and row_stride), or is disjoint from everything else. workspace is disjoint from
 *         everything else.
 * Status: SHAPE_MISMATCH for N_KV_HEADS (must divide n_heads), X, Y, OUT_ROWS (more than the rows of x), and for
 *         weights of other sizes; OUT_OF_RANGE for SCORE, VALUE, MULTIPLIERS (those above, and those of weights),
 *         LAYER, X, Y (a zero point); BAD_DTYPE for X, Y (int16 only); as heed_int_linear for weights,
 *         heed_int_layer_norm for norms, heed_int_cache_append for CACHE; with a rope as heed_int_rope_run:
 *         OUT_OF_RANGE for POSITION if a row has a position beyond the table, before anything is written; with a
 *         cache SHAPE_MISMATCH for N_SEQUENCES (not 1), N_KV_HEADS, HEAD_DIM, V_DIM, K, V (zero point) when the cache
 *         has others, NOT_CAUSAL for CAUSAL. */
HEED_API heed_status heed_int_layer_run(const heed_int_layer *layer, heed_int_matrix x, heed_int_matrix_out y,
                                        heed_memory workspace, const heed_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
