/* heed: the call that computes attention. Include heed.h. SPDX-License-Identifier: MIT
 *
 *   HEED_MEMORY(workspace, HEED_WORKSPACE_BYTES(64, 64));
 *   heed_attention call = heed_attention_of(q, k, v, n, n, 8, 8, 64, out, workspace);
 *   heed_status status = heed_attention_run(&call);
 */
#ifndef HEED_ATTENTION_H
#define HEED_ATTENTION_H

#include "cache.h"
#include "options.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The rows of queries that a full workspace has room for, and the floats of such a row. HEED_WORKSPACE_BYTES and
 * HEED_WORKSPACE_MIN_BYTES need them. */
#define HEED_WORKSPACE_ROWS(head_dim, v_dim) \
  (HEED_SIZE(head_dim) + HEED_SIZE(v_dim) <= 1024 ? HEED_SIZE(48) : HEED_SIZE(16))
#define HEED_WORKSPACE_ROW_FLOATS(v_dim) (HEED_SIZE(88) + (HEED_SIZE(v_dim) + 15) / 16 * 16)
/* Bytes of workspace for attention, as constant expressions: the minimum, and the size with which attention is fastest.
 * They depend only on the two dimensions, never on n_q, n_kv, heads, batch or features. A call accepts any size from
 * HEED_WORKSPACE_MIN_BYTES upwards. A larger workspace is faster, up to HEED_WORKSPACE_BYTES. The result has the same
 * bits with every size. With an executor, give one such piece for each worker (n_workers * HEED_WORKSPACE_BYTES). With
 * less memory, fewer workers compute. The memory is scratch: its contents on entry are ignored, and on return they are
 * undefined. HEED_WORKSPACE_MIN_BYTES(64, 64) is 2432. HEED_WORKSPACE_BYTES(64, 64) is 41472. */
#define HEED_WORKSPACE_MIN_BYTES(head_dim, v_dim) (16 * HEED_WORKSPACE_ROW_FLOATS(v_dim) + 0 * HEED_SIZE(head_dim))
#define HEED_WORKSPACE_BYTES(head_dim, v_dim) \
  (4 * HEED_WORKSPACE_ROWS(head_dim, v_dim) * (HEED_WORKSPACE_ROW_FLOATS(v_dim) + HEED_SIZE(head_dim)))
/* HEED_WORKSPACE_MIN_BYTES and HEED_WORKSPACE_BYTES as functions. They return 0 if a dimension is out of range. */
HEED_API size_t heed_workspace_min_bytes(int32_t head_dim, int32_t v_dim);
HEED_API size_t heed_workspace_bytes(int32_t head_dim, int32_t v_dim);

/* A call of attention. heed_attention_run computes out = softmax(scale * q k^T, masked) v for every batch entry and
 * head. Query head h reads key/value head h / (n_heads / n_kv_heads). Attention is multi-head if the numbers of heads
 * are equal, grouped if n_kv_heads is smaller, and multi-query if n_kv_heads is 1.
 *
 * Shapes: q (batch_size, n_heads, n_q, head_dim), k (batch_size, n_kv_heads, n_kv, head_dim), v (batch_size,
 *         n_kv_heads, n_kv, v_dim), out (batch_size, n_heads, n_q, v_dim).
 * Mask: With causal = 1, query i sees key j iff j <= position + i. Masked keys cost nothing and are not read.
 * Error: |out - exact| <= (2 E + (1.5 n_kv + n_kv/8 + 48) * 2^-24) * max |v| + (n_kv + 4) * 2^-149, where
 *         E = |scale| * ((1.5 head_dim + 4) * 2^-24 * max over visible pairs of sum |q k| + head_dim * 2^-149) bounds
 *         the error of a logit. With fma, each 1.5 becomes 1. A typical error is 3e-7 of max |v|.
 * Aliasing: Inputs may overlap each other (packed QKV). out and workspace are disjoint from everything else. heed
 *         checks each tensor from its first to its last element, so it refuses an output interleaved with an input.
 * Threads: Small calls run on the caller's thread even with an executor. One query row with many keys is split at
 *         multiples of 1024 keys.
 * Status: SHAPE_MISMATCH for N_KV_HEADS (must divide n_heads); NOT_FINITE for SCALE also if scale * log2(e) is not
 *         finite; CONFLICT for Q, K, V, OUT (also given by a cache, typed tensors or a partial); OVERLAP
 *         for OUT, WORKSPACE also with the call itself or its executor; the statuses that cache.h and options.h
 *         state.
 * Source: Vaswani et al. 2017 (attention), Shazeer 2019 and Ainslie et al. 2023 (multi-query, grouped heads), Milakov
 *         and Gimelshein 2018 (online softmax), Dao et al. 2022 (tiling). */
typedef struct heed_attention {
  uint32_t struct_size;                    /* sizeof(heed_attention) */
  int32_t batch_size, n_heads, n_kv_heads; /* batch entries, heads of q, heads of k and v */
  int32_t n_q, n_kv;                       /* queries of a batch entry, and its keys */
  int32_t head_dim, v_dim;                 /* floats of a query or key, floats of a value */
  float scale;                             /* HEED_SCALE_DEFAULT, or any other number but 0; it may be negative */
  int32_t causal;                          /* 0 or 1 */
  int32_t position;                        /* position of query 0 among the keys, any int32. It is 0 for a prompt, and
                                         n_kv - n_q if the queries are the newest tokens. With a cache, 0 means the
                                         newest tokens, and other numbers are added to their position */
  heed_tensor q, k, v;                     /* queries, keys, values */
  heed_tensor_out out;                     /* the result */
  heed_memory workspace;                   /* of HEED_WORKSPACE_BYTES */
  const heed_executor *executor;           /* threads, or null */
  const heed_options *options;             /* options, or null */
  const heed_cache *cache;                 /* a cache, or null; with a cache, the data of k and v is null */
} heed_attention;

/* Runs a call. heed_attention states what it computes, and the statuses. */
HEED_API heed_status heed_attention_run(const heed_attention *call);

/* A call with one batch entry, contiguous token-major tensors, the default scale and no mask. v_dim is head_dim. You
 * may change any field afterwards. */
static inline heed_attention heed_attention_of(const float *q, const float *k, const float *v, int32_t n_q,
                                               int32_t n_kv, int32_t n_heads, int32_t n_kv_heads, int32_t head_dim,
                                               float *out, heed_memory workspace) {
  heed_attention call;
  call.struct_size = sizeof call;
  call.batch_size = 1;
  call.n_heads = n_heads;
  call.n_kv_heads = n_kv_heads;
  call.n_q = n_q;
  call.n_kv = n_kv;
  call.head_dim = call.v_dim = head_dim;
  call.scale = HEED_SCALE_DEFAULT;
  call.causal = call.position = 0;
  call.q = heed_token_major(q, n_q, n_heads, head_dim);
  call.k = heed_token_major(k, n_kv, n_kv_heads, head_dim);
  call.v = heed_token_major(v, n_kv, n_kv_heads, head_dim);
  call.out = heed_token_major_out(out, n_q, n_heads, head_dim);
  call.workspace = workspace;
  call.executor = HEED_NULL;
  call.options = HEED_NULL;
  call.cache = HEED_NULL;
  return call;
}

/* A call whose queries are the newest n_q tokens of each sequence of a cache. Shape and length come from the cache. q
 * and out are token-major (batch_size, n_q, n_heads, dim), and batch_size is the number of sequences. causal is 1.
 * cache must not be null. */
static inline heed_attention heed_attention_of_cache(const heed_cache *cache, const float *q, int32_t n_q,
                                                     int32_t n_heads, float *out, heed_memory workspace) {
  const int32_t d = cache->shape.head_dim;
  heed_attention call = heed_attention_of(q, HEED_NULL, HEED_NULL, n_q, heed_cache_longest(cache), n_heads,
                                          cache->shape.n_kv_heads, d, out, workspace);
  call.batch_size = cache->shape.n_sequences;
  call.v_dim = cache->shape.v_dim;
  call.causal = 1;
  call.out = heed_token_major_out(out, n_q, n_heads, cache->shape.v_dim);
  call.cache = cache;
  return call;
}

/* Plain self-attention with one head and no learned weights: Q = K = V = x. out (n, dim) is disjoint from x (n, dim).
 * scale is as in heed_attention. dim is 1 to HEED_MAX_DIM. The workspace is that of head_dim = v_dim = dim.
 * Error: as heed_attention.
 * Status: as heed_attention, with X, OUT, N, HEAD_DIM as names of the arguments. */
HEED_API heed_status heed_self_attention(heed_matrix x, float scale, heed_matrix_out out, heed_memory workspace);

#ifdef __cplusplus
}
#endif

#endif
