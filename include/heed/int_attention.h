/* heed: attention in integers. Include heed/integers.h. SPDX-License-Identifier: MIT */
#ifndef HEED_INT_ATTENTION_H
#define HEED_INT_ATTENTION_H

#include "int_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest head_dim and v_dim, and the largest number of keys that a row may see, in all partials together. */
#define HEED_INT_MAX_DIM 32768
#define HEED_INT_MAX_KEYS 262144
/* The number of keys in a block. Partials split keys at multiples of it. */
#define HEED_INT_BLOCK 256

/* ----------------------------------------------------------------------------------------------------------- views */

/* A tensor of int8 that is read. Element (b, h, t, i) is data[b * batch_stride + h * head_stride + t * row_stride + i];
 * it stands for scale * (element - zero_point). */
typedef struct heed_int_tensor {
  const int8_t *data;                              /* the first element */
  ptrdiff_t batch_stride, head_stride, row_stride; /* in elements */
  int32_t zero_point;                              /* -128 to 127 */
} heed_int_tensor;

/* A tensor that is written. Its elements lie as in heed_int_tensor. */
typedef struct heed_int_tensor_out {
  void *data;                                      /* int8_t or int16_t */
  int32_t dtype;                                   /* HEED_INT8 or HEED_INT16 */
  ptrdiff_t batch_stride, head_stride, row_stride; /* in elements */
  int32_t zero_point;                              /* within the range of the dtype */
} heed_int_tensor_out;

struct heed_int_cache;

/* A mask of bytes over (batch_size, n_heads, n_q, n_kv): 0 hides a key. A stride of 0 broadcasts. */
typedef struct heed_int_mask {
  const uint8_t *data;                               /* null: no mask */
  ptrdiff_t batch_stride, head_stride, query_stride; /* in elements */
} heed_int_mask;

/* ------------------------------------------------------------------------------------------------------- workspace */

/* Bytes of workspace, as constant expressions: the minimum, and the size with which attention is fastest. They depend
 * on the two dimensions alone. Any size from the minimum up gives the same bits. With an executor, give one such piece
 * for each worker. For a kernel without vectors twice the minimum is as fast. HEED_INT_WORKSPACE_MIN_BYTES(64, 64) is
 * 2648. HEED_INT_WORKSPACE_BYTES(64, 64) is 111872. */
#define HEED_INT_SIZE_ROUND(n) ((HEED_SIZE(n) + 15) / 16 * 16)
/* Its parts: scores, sums and the query of a row; the state of a row; a block of keys and values in the layout of a
 * kernel. */
#define HEED_INT_SIZE_OF_SCORES(head_dim, v_dim) \
  (HEED_SIZE(1024) + 4 * HEED_INT_SIZE_ROUND(v_dim) + 4 * HEED_INT_SIZE_ROUND(head_dim) + 64)
#define HEED_INT_SIZE_OF_BLOCK(head_dim, v_dim) \
  (HEED_SIZE(512) * (HEED_INT_SIZE_ROUND(head_dim) + HEED_INT_SIZE_ROUND(v_dim)))
#define HEED_INT_WORKSPACE_MIN_BYTES(head_dim, v_dim) \
  (HEED_INT_SIZE_OF_SCORES(head_dim, v_dim) + HEED_INT_PARTIAL_ROW_BYTES(v_dim))
#define HEED_INT_WORKSPACE_BYTES(head_dim, v_dim)                                          \
  (8 * HEED_INT_SIZE_OF_SCORES(head_dim, v_dim) + 32 * HEED_INT_PARTIAL_ROW_BYTES(v_dim) + \
   HEED_INT_SIZE_OF_BLOCK(head_dim, v_dim))
/* The same as functions. They return 0 if a dimension is out of range. */
HEED_API size_t heed_int_workspace_min_bytes(int32_t head_dim, int32_t v_dim);
HEED_API size_t heed_int_workspace_bytes(int32_t head_dim, int32_t v_dim);

/* Bytes of the state of one row of a partial: the sums over all keys that the row has seen so far. */
#define HEED_INT_PARTIAL_ROW_BYTES(v_dim) (16 * (HEED_SIZE(v_dim) + 1) + 8)
HEED_API size_t heed_int_partial_row_bytes(int32_t v_dim);

/* ------------------------------------------------------------------------------------------------------- attention */

/* A call of attention in integers: out = softmax(scale * q k^T, masked) v, where an element of q stands for q_scale *
 * (element - zero point), and one of k, v and out likewise. Query head h reads key/value head h / (n_heads /
 * n_kv_heads); all query heads of a group share one pass over its keys. Probabilities have 15 bits, and scores are
 * never rounded to int8. lib/arithmetic.hpp states the rules I1 to I9.
 *
 * Shapes: q (batch_size, n_heads, n_q, head_dim), k (batch_size, n_kv_heads, n_kv, head_dim), v (batch_size,
 *         n_kv_heads, n_kv, v_dim), out (batch_size, n_heads, n_q, v_dim).
 * Scales: q has one scale for the call, or one for each head and row (scores). k and v have one for the call, or one
 *         for each head (scores, values). An additive mask, a softcap, ALiBi and a scale for each key are not possible.
 * Mask: Query i sees key j if all of this holds: j <= position + i, if causal is 1; j <= position + i + right_window,
 *         if that is not -1; j >= position + i - left_window, if that is not -1; j < kv_lengths[b]; the byte of the
 *         mask is not 0. A block of 256 keys that no row of a tile sees is skipped.
 * Empty: A row that sees no key is the zero point of out.
 * Sinks: one more logit for each head, as a base-2 logarithm in units of 2^-11: logit * log2(e) * 2048, rounded.
 * Log-sum-exp: in the same unit: natural logarithm * log2(e) * 2048, a sink included, within 3 units. It is INT32_MIN
 *         for a row that sees no key and has no sink, and is clamped to int32.
 * Partial: With partial.data, the call adds what each row sees to the state of that row. States lie in the order (b, h,
 *         i). The call does not use out, value, values, sinks or lse. Clear the states first (heed_int_partial_clear).
 *         Split the keys at multiples of HEED_INT_BLOCK. k and v of a call are its keys alone, and position counts from
 *         the first of them, so it may be negative. The order of calls and merges changes no bit: a state is an exact
 *         sum. heed_int_partial_finish writes out and lse.
 * Error: against exact attention of the same int8 numbers: 1e-5 to 2e-4 rms of the values' standard deviation, besides
 *         the rounding of out; quantising q, k and v costs 40 to 160 times that.
 * Aliasing: Inputs may overlap each other. out, lse, partial and workspace are disjoint from everything else.
 * Workspace: HEED_INT_WORKSPACE_MIN_BYTES or more. Its size changes no bit.
 * Threads: Small calls run on the caller's thread even with an executor. The keys of few rows are split over the
 *         workers at multiples of HEED_INT_BLOCK.
 * Status: SHAPE_MISMATCH for N_KV_HEADS (must divide n_heads); OUT_OF_RANGE for Q, K, V, OUT (a zero point), SCORE,
 *         VALUE (m or e), SCORES, VALUES (one of them), KV_LENGTHS (0 to n_kv); with a cache the statuses that
 *         int_cache.h states.
 * Source: Vaswani et al. 2017 (attention), Ainslie et al. 2023 (grouped heads), Dao et al. 2022 (tiling); Jacob et al.
 *         2018 (zero points, multipliers); sums of exact bins as in Demmel and Nguyen 2015 (reproducible summation). */
typedef struct heed_int_attention {
  uint32_t struct_size;                    /* sizeof(heed_int_attention) */
  int32_t batch_size, n_heads, n_kv_heads; /* batch entries, heads of q, heads of k and v */
  int32_t n_q, n_kv;                       /* queries of a batch entry, and its keys: at most HEED_INT_MAX_KEYS */
  int32_t head_dim, v_dim;                 /* at most HEED_INT_MAX_DIM */
  int32_t causal;                          /* 0 or 1; right_window then has no meaning */
  int32_t position;                        /* position of query 0 among the keys, any int32 */
  int32_t left_window, right_window;       /* keys besides the query's own position; -1: all */
  const int32_t *kv_lengths;               /* (batch_size), 0 to n_kv; or null */
  heed_int_tensor q, k, v;                 /* queries, keys, values */
  heed_int_tensor_out out;                 /* the result */
  heed_multiplier score;         /* of a unit of q . k: q_scale * k_scale * scale * log2(e); e from -31 to 0 */
  heed_multiplier value;         /* v_scale / out_scale; e from -8 to 22 */
  const heed_multiplier *scores; /* (n_heads, n_q) instead of score, or null. A stride of 0 repeats */
  ptrdiff_t scores_head_stride, scores_row_stride; /* in multipliers */
  const heed_multiplier *values;                   /* (n_heads) instead of value, or null */
  heed_int_mask mask;                              /* data null: none */
  const int32_t *sinks;                            /* (n_heads), or null */
  int32_t *lse;                                    /* (batch_size, n_heads, n_q) contiguous, or null */
  heed_memory partial; /* batch_size * n_heads * n_q * HEED_INT_PARTIAL_ROW_BYTES(v_dim), or data null; aligned to 8 */
  heed_memory workspace;              /* HEED_INT_WORKSPACE_MIN_BYTES or more */
  const heed_executor *executor;      /* threads, or null */
  const struct heed_int_cache *cache; /* a cache instead of k and v, whose data is then null (int_cache.h); or null */
} heed_int_attention;

/* A call with one batch entry, contiguous token-major tensors, int8 out, zero points of 0 and no mask. v_dim is
 * head_dim. Set score and value; you may change any field. */
static inline heed_int_attention heed_int_attention_of(const int8_t *q, const int8_t *k, const int8_t *v, int32_t n_q,
                                                       int32_t n_kv, int32_t n_heads, int32_t n_kv_heads,
                                                       int32_t head_dim, int8_t *out, heed_memory workspace) {
  const ptrdiff_t q_row = heed_stride_of(n_heads, head_dim, 1), k_row = heed_stride_of(n_kv_heads, head_dim, 1),
                  q_all = heed_stride_of(n_heads, head_dim, n_q), k_all = heed_stride_of(n_kv_heads, head_dim, n_kv);
  const heed_int_tensor of_q = {q, q_all, head_dim, q_row, 0}, of_k = {k, k_all, head_dim, k_row, 0},
                        of_v = {v, k_all, head_dim, k_row, 0};
  const heed_int_tensor_out of_out = {out, HEED_INT8, q_all, head_dim, q_row, 0};
  const heed_multiplier unset = {0, 0};
  const heed_int_mask no_mask = {HEED_NULL, 0, 0, 0};
  const heed_memory no_partial = {HEED_NULL, 0};
  heed_int_attention call;
  call.struct_size = sizeof call;
  call.batch_size = 1;
  call.n_heads = n_heads;
  call.n_kv_heads = n_kv_heads;
  call.n_q = n_q;
  call.n_kv = n_kv;
  call.head_dim = call.v_dim = head_dim;
  call.causal = call.position = 0;
  call.left_window = call.right_window = -1;
  call.kv_lengths = HEED_NULL;
  call.q = of_q;
  call.k = of_k;
  call.v = of_v;
  call.out = of_out;
  call.score = call.value = unset;
  call.scores = call.values = HEED_NULL;
  call.scores_head_stride = call.scores_row_stride = 0;
  call.mask = no_mask;
  call.sinks = HEED_NULL;
  call.lse = HEED_NULL;
  call.partial = no_partial;
  call.workspace = workspace;
  call.executor = HEED_NULL;
  call.cache = HEED_NULL;
  return call;
}

/* Runs a call. heed_int_attention states what it computes, and the statuses. */
HEED_API heed_status heed_int_attention_run(const heed_int_attention *call);

/* Clears states: their rows have seen no key. n_rows is batch_size * n_heads * n_q. */
HEED_API heed_status heed_int_partial_clear(int32_t n_rows, int32_t v_dim, heed_memory partial);
/* Adds the states of `from` to those of `into`. States hold no addresses: you may copy them, also to another machine of
 * the same byte order.
 * Status: the arguments are named TOTAL (into) and PARTIAL (from). */
HEED_API heed_status heed_int_partial_merge(int32_t n_rows, int32_t v_dim, heed_memory into, heed_memory from);
/* Writes out (and lse) of a call from call->partial, which stays as it is. Sinks are added here, once. Of v, only the
 * zero point is used. q, k, score, scores, mask, causal, position, windows, kv_lengths, workspace and executor are not
 * used. n_kv may be any valid number.
 * Status: as heed_int_attention_run, for what is used. */
HEED_API heed_status heed_int_partial_finish(const heed_int_attention *call);

#ifdef __cplusplus
}
#endif

#endif
