/* heed: layers: attention with its projections, and a whole transformer layer. Include heed.h.
 *
 * An encoder layer (BERT, ViT) with the weights as PyTorch stores them:
 *
 *   heed_attention_layer attention = heed_attention_layer_default(DIM, N_HEADS);
 *   attention.wq = heed_weights_of(wq, NULL, HEED_F32, HEED_OUT_IN, DIM, DIM);     // wk, wv, wo, bq, ... likewise
 *   heed_transformer_layer layer = heed_transformer_layer_default(&attention, FFN_DIM, heed_layer_norm, heed_gelu);
 *   layer.w_up = heed_weights_of(w_up, NULL, HEED_F32, HEED_OUT_IN, DIM, FFN_DIM);  // w_down, norms, ... likewise
 *   HEED_MEMORY(workspace, HEED_TRANSFORMER_LAYER_BYTES(ROWS, DIM, N_HEADS, N_HEADS, FFN_DIM, 0));
 *   heed_status s = heed_transformer_layer_run(&layer, heed_matrix_of(x, n, DIM), heed_matrix_out_of(y, n, DIM),
 *                                              workspace, NULL);
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEED_LAYERS_H
#define HEED_LAYERS_H

#include "attention.h"
#include "cache.h"
#include "options.h"
#include "rope.h"
#include "rows.h"
#include "types.h"
#include "weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------------------- batches */

/* Rows of several sequences side by side: tokens of many streams, prompts or sentences of different lengths, without
 * padding. A layer whose `batch` is set takes x with the rows of sequence 0, then those of sequence 1, and so on, and y
 * has the same rows. It reads the weights once for all rows. Each row has the bits that a call with its sequence alone
 * gives it.
 *
 * lengths[i] is the number of rows of sequence i, 0 or more. The array belongs to the caller, who may change the
 * numbers from call to call. Layers of one model share one batch. A cache has as many sequences as the batch: sequence
 * i takes the rows of sequence i, after those that it has. A sequence without rows in a call stays as it is.
 *
 *   int32_t lengths[8] = {1, 1, 1, 1, 1, 1, 1, 1};   // eight streams, one new token each
 *   heed_ragged_batch_init(&batch, 8, lengths);
 *   attention.batch = &batch;                        // attention.cache has n_sequences = 8
 */
typedef struct heed_ragged_batch {
  uint32_t struct_size; /* sizeof(heed_ragged_batch) */
  const heed_code *code;
  int32_t n_sequences;    /* 1 to HEED_MAX_COUNT */
  const int32_t *lengths; /* (n_sequences): rows of each sequence */
} heed_ragged_batch;

/* Makes a batch. Each run checks the lengths; this function does not. */
HEED_API heed_status heed_ragged_batch_init(heed_ragged_batch *batch, int32_t n_sequences, const int32_t *lengths);

/* -------------------------------------------------------------------------------------------------- attention layer */

/* Attention with its projections:
 *
 *   q, k, v = x wq + bq, x wk + bk, x wv + bv; q and k rotated by rope; k and v appended to the cache
 *   y = attention(q, k, v) wo + bo
 *
 * The weights are wq (model_dim, n_heads * head_dim), wk (model_dim, n_kv_heads * head_dim), wv (model_dim,
 * n_kv_heads * v_dim) and wo (n_heads * v_dim, out_dim). Each may have any dtype and layout. Without wo (its
 * data is null), y is the context of all heads side by side, and out_dim is n_heads * v_dim. A bias is null, or as long
 * as a row of its projection. n_heads * head_dim and n_heads * v_dim are at most HEED_MAX_DIM.
 *
 * Norms of q and k (Qwen 3, Gemma 3): With qk_norm, each head of q and of k is normalised before rope rotates it. With
 * qk_norm_whole = 1, all heads of a row are one row of the norm (OLMo 2).
 *
 * Cross-attention (the paper, Whisper, T5, Moonshine): With cross = 1, the rows attend to another sequence. Its keys
 * and values lie in the cache. heed_attention_layer_encode computes them there, once, from the rows of the other
 * sequence. A run then reads the cache and does not change it, and any number of layers and threads may read it. rope
 * is null and causal is 0. Options such as kv_lengths and masks count by the rows of the other sequence. With a batch,
 * the rows of sequence i attend to sequence i of the cache. */
typedef struct heed_attention_layer {
  uint32_t struct_size;                                             /* sizeof(heed_attention_layer) */
  int32_t model_dim, n_heads, n_kv_heads, head_dim, v_dim, out_dim; /* a row of x has model_dim floats, of y out_dim */
  float scale;                                                      /* as in heed_attention */
  int32_t causal;                 /* 0 or 1; with 1, row i sees rows 0 to i. It must be 1 with a cache */
  heed_weights wq, wk, wv, wo;    /* weights; wo.data may be null */
  const float *bq, *bk, *bv, *bo; /* biases, or null */
  const heed_rope *rope;          /* rotates q and k, with any rotary_dim, also with a cache; or null */
  heed_cache *cache;              /* k and v are appended to it: one sequence, or those of the batch; or null */
  const heed_options *options;    /* options of its attention, without partial and typed tensors; or null */
  heed_norm *qk_norm;             /* the norm of q and k; or null */
  float qk_eps;                   /* of qk_norm */
  const float *q_norm_weight, *q_norm_bias, *k_norm_weight, *k_norm_bias; /* (head_dim), or whole rows; or null */
  int32_t qk_norm_whole;          /* 0: each head is a row of the norm; 1: all heads are one row */
  int32_t cross;                  /* 0 or 1; with 1, keys and values are those in the cache */
  const heed_ragged_batch *batch; /* the rows are those of several sequences; null: of one */
} heed_attention_layer;

/* A layer in which q, k and v have head_dim = model_dim / n_heads. There are as many key/value heads as heads. out_dim
 * is model_dim. It has the default scale, no mask, no weights and nothing optional. */
static inline heed_attention_layer heed_attention_layer_default(int32_t model_dim, int32_t n_heads) {
  const heed_weights none = {HEED_NULL, HEED_NULL, HEED_F32, HEED_IN_OUT, 0, 0, 0, HEED_NULL, HEED_NULL, 0};
  heed_attention_layer l;
  l.struct_size = sizeof l;
  l.model_dim = l.out_dim = model_dim;
  l.n_heads = l.n_kv_heads = n_heads;
  l.head_dim = l.v_dim = n_heads > 0 ? model_dim / n_heads : 0;
  l.scale = HEED_SCALE_DEFAULT;
  l.causal = 0;
  l.wq = l.wk = l.wv = l.wo = none;
  l.bq = l.bk = l.bv = l.bo = HEED_NULL;
  l.rope = HEED_NULL;
  l.cache = HEED_NULL;
  l.options = HEED_NULL;
  l.qk_norm = HEED_NULL;
  l.qk_eps = 1e-6f;
  l.q_norm_weight = l.q_norm_bias = l.k_norm_weight = l.k_norm_bias = HEED_NULL;
  l.qk_norm_whole = l.cross = 0;
  l.batch = HEED_NULL;
  return l;
}

/* Bytes of workspace for n rows: for q, k, v and context, then for the workspace of one worker. For each further
 * worker of an executor add HEED_WORKSPACE_BYTES. A larger workspace is not used. */
#define HEED_ATTENTION_LAYER_BYTES(n, n_heads, n_kv_heads, head_dim, v_dim)                                           \
  HEED_SIZE_FIT(HEED_LAYER_ROUND(4 * HEED_SIZE_64(n) * HEED_LAYER_QKV_FLOATS(n_heads, n_kv_heads, head_dim, v_dim)) + \
                HEED_WORKSPACE_BYTES(head_dim, v_dim))
/* The parts of the sizes of layers: floats of a row of q, k, v and context, and bytes rounded up to 64. */
#define HEED_LAYER_QKV_FLOATS(n_heads, n_kv_heads, head_dim, v_dim) \
  ((HEED_SIZE(n_heads) + HEED_SIZE(n_kv_heads)) * (HEED_SIZE(head_dim) + HEED_SIZE(v_dim)))
#define HEED_LAYER_ROUND(bytes) (((bytes) + 63) / 64 * 64)
/* HEED_ATTENTION_LAYER_BYTES as a function. It returns 0 if a number of the layer or n is not valid, or if the size is
 * above PTRDIFF_MAX. */
HEED_API size_t heed_attention_layer_bytes(const heed_attention_layer *layer, int32_t n);

/* Runs the layer on x (n, model_dim) and writes y (n, out_dim). The rows are one sequence, or those of a batch. With a
 * cache, they are its next n tokens, and their positions begin at its length. Without a cache, they have the positions
 * 0 to n - 1. rope->positions replaces them: row i of it belongs to row i of x. The result has the bits of the public
 * functions called one after another.
 *
 * Workspace: Afterwards q, k, v and the context of n rows lie at its start, for the caller to read. They lie in this
 *         order, contiguous and token-major. Without wo the context is y, and takes no room here. Only these rows grow
 *         with n. The rest of the workspace is for attention: at least HEED_WORKSPACE_MIN_BYTES.
 * Batches: Sequence i is batch entry i of the options, each with its own lengths, positions, masks and results. n_q is
 *         the greatest number of rows of a sequence, and n_kv the greatest number of keys: the strides of masks and
 *         results are for these. Threads share the work of all sequences.
 * Rings: A ring takes any number of rows. More than spare + 1 rows of a sequence are computed in pieces, one after
 *         another, with the same result. The workspace then holds the rows of the last piece. Without a batch it need
 *         not be larger than for spare + 1 rows. Options that count by the rows of the call (mask, scores, weights,
 *         lse, column_sums, topk_weights, kv_lengths) cannot be cut into pieces: with them, more than spare + 1 rows
 *         are TOO_MANY_ROWS for N.
 * Aliasing: y and workspace are disjoint from everything else.
 * Status: SHAPE_MISMATCH for N_KV_HEADS (must divide n_heads), OUT_DIM, weights of other sizes, X, Y, BO without wo,
 *         Q_NORM_WEIGHT and the like without qk_norm; OUT_OF_RANGE for N_HEADS also if a row of all heads is too long;
 *         as heed_linear for weights, heed_rope_apply for ROPE, heed_cache_append for CACHE and POSITION (FULL if one
 *         sequence alone is full), and the statuses that options.h states. With a cache: SHAPE_MISMATCH for N_SEQUENCES
 *         (not 1, or not that of the batch), N_KV_HEADS, HEAD_DIM, V_DIM when the cache has others; NOT_CAUSAL for
 *         CAUSAL. With a batch: SHAPE_MISMATCH for LENGTHS (their sum is not n). With cross = 1: NULL_POINTER for
 *         CACHE; UNSUPPORTED for ROPE, CAUSAL, KIND (a ring); OUT_OF_RANGE for N_KV (the cache is empty). UNSUPPORTED
 *         for PARTIAL, TYPED, and with a ring for POSITIONS, PINNED (more than its own). One error is found after the
 *         workspace has been written: NaN or infinity that an int8 cache cannot hold (NOT_FINITE for K, V). y and the
 *         cache are then as they were before the call. If the call is computed in pieces, they are as they were after
 *         the last whole piece. */
HEED_API heed_status heed_attention_layer_run(const heed_attention_layer *layer, heed_matrix x, heed_matrix_out y,
                                              heed_memory workspace, const heed_executor *executor);

/* Cross-attention: appends the keys and values of x (n, model_dim), rows of the other sequence, to the layer's cache.
 * The layer has cross = 1. You may give the rows in any pieces. heed_cache_reset makes room for another sequence. With
 * a batch, x has rows of several other sequences, and the lengths are theirs.
 *
 * Workspace: It is HEED_ATTENTION_LAYER_BYTES(1, ...) or more. The rows are computed in pieces of as many as the
 *         workspace has room for, with the same result.
 * Status: UNSUPPORTED for CROSS (it is 0); FULL for CACHE; else as heed_attention_layer_run. As there, one error is
 *         found later: NOT_FINITE for K, V. The cache then has the tokens of the earlier pieces. */
HEED_API heed_status heed_attention_layer_encode(const heed_attention_layer *layer, heed_matrix x,
                                                 heed_memory workspace, const heed_executor *executor);

/* ------------------------------------------------------------------------------------------------ transformer layer */

/* Where the value and the gate of a gated layer lie. */
typedef enum heed_ffn_order {
  HEED_FFN_SEPARATE = 0, /* w_up alone, or w_gate and w_up */
  HEED_FFN_GATE_UP = 1,  /* w_up is gate, then value */
  HEED_FFN_UP_GATE = 2   /* w_up is value, then gate */
} heed_ffn_order;

/* A transformer layer: an encoder layer (BERT, ViT, KWT: all rows at once), or a decoder layer (GPT, Llama: causal,
 * rotary embedding, a cache). The result has the bits of the public functions called one after another:
 *
 *   norm_first (Llama, GPT-2)                          norm last (the paper, BERT, KWT)
 *   h = norm1(x)                                       h = x
 *   a = x + attention_layer(h)                         a = norm1(x + attention_layer(h))
 *   g = norm2(a)                                       g = a
 *   f = activation(g w_up + b_up) w_down + b_down; gated: activation(g w_gate + b_gate) * (g w_up + b_up)
 *   y = a + f                                          y = norm2(a + f)
 *
 * w_up and w_gate are (model_dim, ffn_dim), w_down is (ffn_dim, model_dim).
 *
 * Other families set one more field:
 *
 *   cross         a third sublayer between the two: attention over another sequence, with norm_cross before it,
 *                 or after it if norms are last. It is for decoders of the paper, Whisper, Moonshine
 *   post_norm     each sublayer's result has a norm before it is added: a = x + post_norm1(attention_layer(h)). With
 *                 norm_first = 1 this is Gemma 2 and 3. With norm_first = 0 only these norms are left (OLMo 2)
 *   parallel      both sublayers take x: y = (x + attention_layer(norm1(x))) + f(norm2(x)). It is for norm_first = 1
 *                 (GPT-NeoX). Where a model has one norm (Phi, Falcon), norm1 and norm2 have the same weights
 *   ffn_order     value and gate lie side by side in w_up, which is then (model_dim, 2 * ffn_dim), and so does b_up
 *   norm          heed_rms_norm_plus_one: the weights of norms are stored as w - 1 (Gemma)
 *
 * Source: Vaswani et al. 2017; Xiong et al. 2020 (norms first); Shazeer 2020 (gated); Wang and Komatsuzaki 2021
 * (parallel). */
typedef struct heed_transformer_layer {
  uint32_t struct_size;                                               /* sizeof(heed_transformer_layer) */
  const heed_attention_layer *attention;                              /* has wo, and its out_dim is model_dim */
  int32_t ffn_dim;                                                    /* floats of a hidden row */
  int32_t norm_first;                                                 /* 0 or 1 */
  heed_norm *norm;                                                    /* heed_layer_norm, heed_rms_norm, or your own */
  float eps;                                                          /* of all its norms */
  const float *norm1_weight, *norm1_bias, *norm2_weight, *norm2_bias; /* (model_dim) or null */
  heed_activation *activation;                      /* heed_gelu, heed_gelu_tanh, one of rows.h, or your own */
  heed_weights w_up, w_gate, w_down;                /* weights; gated if w_gate.data is not null, or by ffn_order */
  const float *b_up, *b_gate, *b_down;              /* biases, or null */
  const heed_attention_layer *cross;                /* with cross = 1, wo, and the dimensions of attention; or null */
  const float *norm_cross_weight, *norm_cross_bias; /* (model_dim) or null */
  int32_t post_norm;                                /* 0 or 1: norms of the sublayers' results */
  const float *post_norm1_weight, *post_norm1_bias, *post_norm2_weight, *post_norm2_bias; /* (model_dim) or null */
  const float *post_norm_cross_weight, *post_norm_cross_bias;                             /* (model_dim) or null */
  int32_t parallel;                                                                       /* 0 or 1 */
  int32_t ffn_order;                                                                      /* heed_ffn_order */
  int32_t out_rows; /* rows of y: 0: all; k: the first k of x; -k: the last k */
} heed_transformer_layer;

/* A layer with norms last and eps 1e-5. It is not gated and has no weights. */
static inline heed_transformer_layer heed_transformer_layer_default(const heed_attention_layer *attention,
                                                                    int32_t ffn_dim, heed_norm *norm,
                                                                    heed_activation *activation) {
  const heed_weights none = {HEED_NULL, HEED_NULL, HEED_F32, HEED_IN_OUT, 0, 0, 0, HEED_NULL, HEED_NULL, 0};
  heed_transformer_layer l;
  l.struct_size = sizeof l;
  l.attention = attention;
  l.ffn_dim = ffn_dim;
  l.norm_first = 0;
  l.norm = norm;
  l.eps = 1e-5f;
  l.norm1_weight = l.norm1_bias = l.norm2_weight = l.norm2_bias = HEED_NULL;
  l.activation = activation;
  l.w_up = l.w_gate = l.w_down = none;
  l.b_up = l.b_gate = l.b_down = HEED_NULL;
  l.cross = HEED_NULL;
  l.norm_cross_weight = l.norm_cross_bias = HEED_NULL;
  l.post_norm = l.parallel = 0;
  l.post_norm1_weight = l.post_norm1_bias = l.post_norm2_weight = l.post_norm2_bias = HEED_NULL;
  l.post_norm_cross_weight = l.post_norm_cross_bias = HEED_NULL;
  l.ffn_order = HEED_FFN_SEPARATE;
  l.out_rows = 0;
  return l;
}

/* Bytes of workspace for n rows: for norms, for q, k, v and context, and for the workspace of one worker. The hidden
 * rows take the place of q, k, v and context. gated is 0 or 1; it is 1 for value and gate in one matrix, too. For a
 * parallel layer, give ffn_dim + model_dim for ffn_dim. For each further worker add HEED_WORKSPACE_BYTES. A larger
 * workspace is not used. This macro is for head_dim = v_dim = model_dim / n_heads; the other takes head_dim and
 * v_dim. */
#define HEED_TRANSFORMER_LAYER_BYTES(n, model_dim, n_heads, n_kv_heads, ffn_dim, gated)                               \
  HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(n, model_dim, n_heads, n_kv_heads, HEED_SIZE(model_dim) / HEED_SIZE(n_heads), \
                                        HEED_SIZE(model_dim) / HEED_SIZE(n_heads), ffn_dim, gated)
#define HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(n, model_dim, n_heads, n_kv_heads, head_dim, v_dim, ffn_dim, gated) \
  HEED_SIZE_FIT(HEED_LAYER_ROUND(4 * HEED_SIZE_64(n) *                                                            \
                                 (HEED_SIZE(model_dim) +                                                          \
                                  HEED_LAYER_GREATER(HEED_LAYER_QKV_FLOATS(n_heads, n_kv_heads, head_dim, v_dim), \
                                                     HEED_LAYER_FFN_FLOATS(ffn_dim, gated)))) +                   \
                HEED_WORKSPACE_BYTES(head_dim, v_dim))
/* The least workspace of a layer without a cache and without a batch: for keys and values of n rows, for one row of all
 * else, and for the least workspace of attention. The layer then computes keys and values of all rows first, and the
 * rest in pieces of as many rows as there is room for. So it reads its weights once for each piece. Any size from here
 * up gives the same bits. The arguments are those of the two macros above. */
#define HEED_TRANSFORMER_LAYER_MIN_BYTES(n, model_dim, n_heads, n_kv_heads, ffn_dim, gated) \
  HEED_TRANSFORMER_LAYER_MIN_BYTES_OF_HEADS(n, model_dim, n_heads, n_kv_heads,              \
                                            HEED_SIZE(model_dim) / HEED_SIZE(n_heads),      \
                                            HEED_SIZE(model_dim) / HEED_SIZE(n_heads), ffn_dim, gated)
#define HEED_TRANSFORMER_LAYER_MIN_BYTES_OF_HEADS(n, model_dim, n_heads, n_kv_heads, head_dim, v_dim, ffn_dim, gated) \
  HEED_SIZE_FIT(HEED_LAYER_ROUND(4 * (HEED_SIZE_64(n) * HEED_LAYER_QKV_FLOATS(0, n_kv_heads, head_dim, v_dim) +       \
                                      HEED_SIZE(model_dim) +                                                          \
                                      HEED_LAYER_GREATER(HEED_LAYER_QKV_FLOATS(n_heads, 0, head_dim, v_dim),          \
                                                         HEED_LAYER_FFN_FLOATS(ffn_dim, gated)))) +                   \
                HEED_WORKSPACE_MIN_BYTES(head_dim, v_dim))
/* The parts of these sizes: the larger of two numbers, and floats of a hidden row, with its gate. */
#define HEED_LAYER_GREATER(a, b) ((a) > (b) ? (a) : (b))
#define HEED_LAYER_FFN_FLOATS(ffn_dim, gated) (HEED_SIZE(ffn_dim) * HEED_SIZE((gated) ? 2 : 1))
/* HEED_TRANSFORMER_LAYER_BYTES as a function, also of a parallel layer. It returns 0 if a number of the layer or n is
 * not valid, or if the size is above PTRDIFF_MAX. A w_gate or an ffn_order makes the layer gated, so set it before you
 * call this function, which looks at no other weights. */
HEED_API size_t heed_transformer_layer_bytes(const heed_transformer_layer *layer, int32_t n);
/* HEED_TRANSFORMER_LAYER_MIN_BYTES as a function. It returns 0 as heed_transformer_layer_bytes does. */
HEED_API size_t heed_transformer_layer_min_bytes(const heed_transformer_layer *layer, int32_t n);

/* Runs the layer on x (n, model_dim) and writes y (n, model_dim). Rows, positions, batches, caches and rings are as in
 * heed_attention_layer_run. Several sentences are a batch, without padding: attention->batch. In cross, too,
 * attention->batch says which rows are of which sequence; cross->batch is only for heed_attention_layer_encode.
 *
 * Rows that are wanted: With out_rows = k, only the first k rows of x are computed to the end; with -k, only the last
 *         k. y has k rows. Keys and values are those of all rows. A class token needs row 0 of the last layer, and a
 *         prompt its last row. The rows have the bits of the whole call. Options count by the rows of y. y is disjoint
 *         from x.
 * Pieces: Options that count by the rows (see Rings of heed_attention_layer_run, and ranges.positions) cannot be cut
 *         into pieces, and no options of cross can. With them, the workspace must have room for all rows of y at once.
 * Your own functions: norm and activation may be functions of your own. They get an executor from heed: what they call
 *         with it runs on the kernel of the layer. If one of them returns a status that is not HEED_OK, the layer ends
 *         and returns this status. Then y may be written in part, and the cache may hold the new tokens.
 * Aliasing: y is x (the same data and row_stride), or is disjoint from everything else. workspace is disjoint from
 *         everything else.
 * Status: as heed_attention_layer_run for the attention layer, and for the fields of cross under the same names;
 *         NULL_POINTER for WO; SHAPE_MISMATCH for OUT_DIM, weights of other sizes, B_GATE (without w_gate), W_GATE
 *         (with an ffn_order), PARALLEL (with norm_first = 0, or with cross), CROSS (without cross = 1, or with other
 *         dimensions), OUT_ROWS (more than the rows of x), Y (rows); TOO_MANY_ROWS for N (cross has options, and a ring
 *         cuts the rows into pieces); UNSUPPORTED for OUT_ROWS with a batch. */
HEED_API heed_status heed_transformer_layer_run(const heed_transformer_layer *layer, heed_matrix x, heed_matrix_out y,
                                                heed_memory workspace, const heed_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
