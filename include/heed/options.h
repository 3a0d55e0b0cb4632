/* heed: options of attention, which is softmax(scale * q k^T) v without them. Include heed.h.
 *
 * Each option is an object that its init function makes. Put its address into heed_options, and the address of
 * heed_options into a call of attention, a layer or a sequence. A program links only the code of the options whose init
 * functions it names. All options combine, except as heed_partial and dtypes.h say, on every kernel and in the same
 * workspace. No combination falls back to slow code. An option changes no bits of results that it does not concern.
 * Objects are read only during the call, and threads may share them. What they point to belongs to the caller.
 *
 *   heed_mask mask;
 *   heed_mask_init_boolean(&mask, attend, n_kv, 0, 0, n_kv);   // (n_q, n_kv) bytes, the same for all heads
 *   heed_sinks sinks;
 *   heed_sinks_init(&sinks, NULL);                             // "+1" in the denominator
 *   heed_options options = heed_options_default();
 *   options.mask = &mask;
 *   options.sinks = &sinks;
 *   call.options = &options;
 *
 * The score of query i and key j passes these steps, in this order (lib/arithmetic.hpp states the rules):
 *
 *   raw     q . k * scale                        of the keys inside the ranges; no other is read
 *   capped  cap * tanh(raw / cap)                heed_softcap
 *   biased  + slope * (j - p), or - slope * |j - p|   heed_alibi; p is the position of the query: i + call.position
 *           + mask                               heed_mask; -infinity (or false) leaves the key out
 *   weight  exp(biased - maximum) / (sum over j of the same + exp(sink - maximum))
 *
 * Init functions check only the object (NULL_POINTER, MISALIGNED, under the name of its argument). They set struct_size
 * and code, and copy what they are given. Each call checks what the objects hold, so you may change fields between
 * calls. An init function writes the struct as it was in 0.3.0. Fields that later versions append count as 0 until you
 * set both them and struct_size.
 *
 * An object must be zeroed or made by its init function. A call cannot always detect that it is neither: then the call
 * follows the pointer that is in `code`. It does not detect an object of another type of the same size.
 *
 * A call returns a status for each object under its own name, and for heed_options as OPTIONS: MISALIGNED;
 * BAD_STRUCT_SIZE; NOT_INITIALIZED if struct_size is 0 or code is null; OVERLAP if what the call writes shares memory
 * with an object, or with what an object points to. OVERLAP names the argument that is written. If both are written, it
 * names the one that comes first in the call, then in heed_options.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEED_OPTIONS_H
#define HEED_OPTIONS_H

#include "dtypes.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------- what is visible */

/* Ranges of keys. A key outside them is never read and costs nothing. Query i at position p sees key j iff
 *
 *   j < kv_length,   p - left_window <= j (unless -1),   j <= p + right_window (unless -1),   and j <= p if causal.
 *
 * p is call.position + i, also if causal is 0. A window of 0 is only the query's own position. An array holds one
 * number for each batch entry. It replaces the number for all batch entries, which is then ignored.
 * Status: OUT_OF_RANGE for LEFT_WINDOW, RIGHT_WINDOW (below -1), KV_LENGTHS (below 0 or above n_kv).
 * Source: Beltagy et al. 2020 (sliding window); ONNX Attention-25. */
typedef struct heed_ranges {
  uint32_t struct_size;
  const heed_code *code;
  int32_t left_window, right_window;           /* keys besides the query's own position; -1: all */
  const int32_t *left_windows, *right_windows; /* (batch_size) or null */
  const int32_t *positions;                    /* (batch_size) or null; any int32, instead of call.position */
  const int32_t *kv_lengths;                   /* (batch_size) or null; 0 to n_kv */
  int32_t pinned; /* the first `pinned` keys are seen even by windows that begin after them: 0 to HEED_MAX_COUNT */
} heed_ranges;
/* Makes ranges that contain all keys. */
HEED_API heed_status heed_ranges_init(heed_ranges *ranges);

/* A mask over (batch_size, n_heads, n_q, n_keys). Element (b, h, i, j) is data[b * batch_stride + h * head_stride +
 * i * query_stride + j]. A stride of 0 broadcasts. If the mask has fewer columns than there are keys,
 * the other keys lie outside the ranges. Columns beyond n_kv are not read. Rows that see no key are exactly +0. NaN or
 * infinity in a key that the mask hides, or in its value, reaches no result, although both may be read. Blocks of 64
 * keys that are hidden from a whole tile cost next to nothing. */
typedef struct heed_mask {
  uint32_t struct_size;
  const heed_code *code;
  int32_t n_keys;                                    /* columns: 1 to HEED_MAX_COUNT */
  const void *data;                                  /* uint8_t or float */
  ptrdiff_t batch_stride, head_stride, query_stride; /* in elements */
} heed_mask;
/* Makes a mask of bytes: 0 hides a key, and any other number shows it. */
HEED_API heed_status heed_mask_init_boolean(heed_mask *mask, const uint8_t *data, int32_t n_keys,
                                            ptrdiff_t batch_stride, ptrdiff_t head_stride, ptrdiff_t query_stride);
/* Makes a mask of floats that are added to the scores, in natural units. -infinity hides a key. Numbers are safe while
 * |mask * log2(e)| is below 2^127. A finite number below that range (-FLT_MAX in exported models) gives weight 0 like
 * -infinity. A row of only such numbers is +0. NaN or +infinity makes the row NaN. */
HEED_API heed_status heed_mask_init_additive(heed_mask *mask, const float *data, int32_t n_keys, ptrdiff_t batch_stride,
                                             ptrdiff_t head_stride, ptrdiff_t query_stride);

/* ---------------------------------------------------------------------------------------------------------- scores */

/* A softcap: score = cap * tanh(score / cap). cap * log2(e) and scale / cap must be finite. cap and scale / cap must
 * not be subnormal, because units that flush subnormals would lose the score.
 * Error: of tanh, below 7 * 2^-24 relative. If score / cap itself is subnormal, add cap * 2^-149.
 * Status: OUT_OF_RANGE for SOFTCAP (0, negative; cap or scale / cap subnormal).
 * Source: Gemma 2 (Gemma Team 2024). */
typedef struct heed_softcap {
  uint32_t struct_size;
  const heed_code *code;
  float cap; /* more than 0 */
} heed_softcap;
HEED_API heed_status heed_softcap_init(heed_softcap *softcap, float cap);

/* ALiBi: score += slopes[h] * (j - p), or with symmetric = 1 score -= slopes[h] * |j - p|, for attention in both
 * directions (encoders such as MosaicBERT and Jina BERT). For keys before the query both are the same. Distances are
 * exact up to 2^24. Each slope is finite, also when multiplied by log2(e), and not subnormal. A slope of 0 switches
 * ALiBi off for its head.
 * Error: fma rounds, by 2^-24 * (|biased| + 2 |slope * (j - p)|) on a logit. So weights are that much less exact in
 * rows that see only far keys. The same holds for an additive mask.
 * Status: NOT_FINITE, OUT_OF_RANGE (subnormal) for ALIBI: one of the slopes; OUT_OF_RANGE for ALIBI (symmetric).
 * Source: Press et al. 2022. Their slopes are 2^(-8 (h + 1) / n_heads), for n_heads a power of two. */
typedef struct heed_alibi {
  uint32_t struct_size;
  const heed_code *code;
  const float *slopes; /* (n_heads) */
  int32_t symmetric;   /* 0 or 1 */
} heed_alibi;
HEED_API heed_status heed_alibi_init(heed_alibi *alibi, const float *slopes);

/* Sinks: one more logit in the softmax of each head. It has no value, so it takes weight away from all keys: weights
 * then sum to less than 1. Each logit is finite, also when multiplied by log2(e), or -infinity for a head without a
 * sink. If logits is null, each logit is 0. This is "smooth softmax", which adds 1 to the denominator.
 * Status: NOT_FINITE for SINKS: one of them.
 * Source: Xiao et al. 2024; gpt-oss (OpenAI 2025). */
typedef struct heed_sinks {
  uint32_t struct_size;
  const heed_code *code;
  const float *logits; /* (n_heads) or null */
} heed_sinks;
HEED_API heed_status heed_sinks_init(heed_sinks *sinks, const float *logits);

/* --------------------------------------------------------------------------------------------------------- outputs */
/* As for every output, rows must overlap neither each other nor anything else of the call. */

/* The stage of scores. The numbers are those of qk_matmul_output_mode in ONNX. The last stage of ONNX, the weights, is
 * heed_attention_weights here. */
typedef enum heed_scores_stage {
  HEED_SCORES_RAW = 0,    /* q . k * scale */
  HEED_SCORES_CAPPED = 1, /* after heed_softcap */
  HEED_SCORES_BIASED = 2  /* after heed_alibi and heed_mask */
} heed_scores_stage;
/* Writes the scores (batch_size, n_heads, n_q, n_kv) at one stage, in natural units. Keys outside the ranges are
 * -infinity, also in RAW and CAPPED. For the score of every pair, make a call with causal = 0 and no ranges. */
typedef struct heed_scores {
  uint32_t struct_size;
  const heed_code *code;
  int32_t stage;       /* heed_scores_stage */
  heed_tensor_out out; /* where they are written */
} heed_scores;
HEED_API heed_status heed_scores_init(heed_scores *scores, int32_t stage, heed_tensor_out out);

/* Writes the weights (batch_size, n_heads, n_q, n_kv). Without a sink, they are exactly heed_softmax of the scores of
 * each row. They are +0 for keys outside the ranges and for masked keys. In a row that is NaN, masked keys are NaN,
 * too. */
typedef struct heed_attention_weights {
  uint32_t struct_size;
  const heed_code *code;
  heed_tensor_out out; /* where they are written */
} heed_attention_weights;
HEED_API heed_status heed_attention_weights_init(heed_attention_weights *weights, heed_tensor_out out);

/* Writes the log-sum-exp of the biased scores of each row, a sink included. Element (b, h, i) is
 * out.data[b * batch_stride + h * head_stride + i * row_stride]. It is -infinity for a row that sees no key.
 * Error: that of the largest logit + 2^-22 * max(1, |result|). */
typedef struct heed_lse {
  uint32_t struct_size;
  const heed_code *code;
  heed_tensor_out out; /* where they are written */
} heed_lse;
HEED_API heed_status heed_lse_init(heed_lse *lse, heed_tensor_out out);

/* Writes the sum of the weights of each key, to inspect a model in O(n_kv) memory. Element (b, h, j) is
 * out.data[b * batch_stride + h * head_stride + j]: the sum over the queries of the weight of key j, added in ascending
 * order from +0. Here a weight is exp2(x - m) * r with the m and r of the output (lib/arithmetic.hpp, rules 4 and 7).
 * It is +0 for masked keys. A second pass over the keys computes the sums. Threads divide heads, not queries of a
 * head. */
typedef struct heed_column_sums {
  uint32_t struct_size;
  const heed_code *code;
  heed_tensor_out out; /* row_stride is ignored */
} heed_column_sums;
HEED_API heed_status heed_column_sums_init(heed_column_sums *sums, heed_tensor_out out);

/* Writes the k keys with the largest weights of each row, and these weights. The largest weight comes first; of equal
 * weights, the lower key comes first. If fewer keys have a weight, the rest have weight +0 and key -1. If the weights
 * of a row are NaN, they have no order: all of the row has weight +0 and key -1. Column sums and these share
 * one second pass. */
typedef struct heed_topk_weights {
  uint32_t struct_size;
  const heed_code *code;
  int32_t k;      /* 1 to n_kv */
  float *weights; /* (batch_size, n_heads, n_q, k), contiguous */
  int32_t *keys;  /* likewise */
} heed_topk_weights;
HEED_API heed_status heed_topk_weights_init(heed_topk_weights *topk, int32_t k, float *weights, int32_t *keys);

/* ------------------------------------------------------------------------------------------------- partial results */

/* A partial result: attention over some of the keys, so that cores, chips or machines can share one long context. It
 * holds for every row the maximum m (base 2), the sum l of exp2(x - m), and acc, the sum of exp2(x - m) v. They lie in
 * one memory of HEED_PARTIAL_BYTES: m, then l, each (batch_size, n_heads, n_q), then acc (batch_size, n_heads, n_q,
 * v_dim). You may send this memory as it is, together with first_key and n_keys.
 *
 * A call with a partial reads the keys of the context from first_key + n_keys on. The first of them is row 0 of the
 * call's k and v. A cache is the whole context: the call reads its tokens at these positions. The call adds these keys
 * to the partial, and n_kv to its n_keys. It does not write out, whose data must be null. position, positions and
 * kv_lengths count from key 0 of the context. kv_lengths may then be any number from 0 up; they are clipped. The
 * columns of a mask and of scores count from the first key of the call. If all keys of a call lie beyond a short mask,
 * give the call a mask of one column that hides.
 *
 * Two ways give the same bits as one call. In both, splits lie at multiples of 1024 keys.
 *
 *  - Make calls one after another over all keys, then call heed_partial_finish. You may send the partial from machine
 *    to machine.
 *  - Compute partials of one chunk (1024 keys) each, anywhere and in any order, and merge them in ascending order. A
 *    merge is not associative, so a partial of several chunks cannot be merged.
 *
 * The bits may differ if more than 1024 keys are pinned: a chunk then has pinned keys and others, which one call merges
 * separately. Weights, sinks, lse, column_sums and topk_weights need all keys, so a call with a partial has none of
 * them. Sinks and lse are arguments of heed_partial_finish.
 *
 * Status of a call: BAD_SPLIT for FIRST_KEY if the next key is no multiple of 1024; SHAPE_MISMATCH for PARTIAL if
 * its shape differs; CONFLICT for OUT if there is one; OUT_OF_RANGE for PARTIAL if keys exceed HEED_MAX_COUNT;
 * UNSUPPORTED for WEIGHTS, SINKS, LSE, COLUMN_SUMS, TOPK_WEIGHTS. In layers and sequences: UNSUPPORTED for PARTIAL. */
typedef struct heed_partial {
  uint32_t struct_size;
  const heed_code *code;
  int32_t batch_size, n_heads, n_q, v_dim; /* the shape of m, l and acc */
  int32_t first_key, n_keys;               /* the keys that it covers */
  float *data;                             /* the data of the memory */
} heed_partial;
/* Bytes of memory for a partial. */
#define HEED_PARTIAL_BYTES(batch_size, n_heads, n_q, v_dim)                         \
  HEED_SIZE_FIT(HEED_SIZE_PRODUCT(4 * HEED_SIZE_64(batch_size) * HEED_SIZE_64(n_q), \
                                  HEED_SIZE_64(n_heads) * (HEED_SIZE_64(v_dim) + 2)))
/* HEED_PARTIAL_BYTES as a function. It returns 0 if a number is out of range, or if no memory is so large. */
HEED_API size_t heed_partial_bytes(int32_t batch_size, int32_t n_heads, int32_t n_q, int32_t v_dim);

/* Makes an empty partial in `memory`, which is aligned to 4 bytes. m is -infinity; l, acc and n_keys are 0.
 * Status: BAD_SPLIT for FIRST_KEY (no multiple of 1024). */
HEED_API heed_status heed_partial_init(heed_partial *partial, int32_t batch_size, int32_t n_heads, int32_t n_q,
                                       int32_t v_dim, int32_t first_key, heed_memory memory);
/* Merges part into total. part covers at most 1024 keys and follows total: part->first_key is total->first_key +
 * total->n_keys.
 * Status: SHAPE_MISMATCH for PARTIAL (shape), BAD_SPLIT for PARTIAL (more than 1024 keys), FIRST_KEY (it does not
 * follow). */
HEED_API heed_status heed_partial_merge(heed_partial *total, const heed_partial *part);
/* Writes out (batch_size, n_heads, n_q, v_dim) = acc / l. sinks and lse may be null.
 * Status: as heed_attention_run for OUT, SINKS, LSE; as heed_partial_merge for PARTIAL. */
HEED_API heed_status heed_partial_finish(const heed_partial *partial, const heed_sinks *sinks, heed_tensor_out out,
                                         const heed_lse *lse);

/* ------------------------------------------------------------------------------------------------------ all of them */

/* All options of a call. A null pointer means: without this option. */
typedef struct heed_options {
  uint32_t struct_size;                  /* sizeof(heed_options) */
  const heed_ranges *ranges;             /* windows, lengths and positions */
  const heed_mask *mask;                 /* which keys each query sees, or numbers that are added to scores */
  const heed_softcap *softcap;           /* bounds the scores */
  const heed_alibi *alibi;               /* adds the distance between key and query, times a slope of the head */
  const heed_sinks *sinks;               /* one more logit in each softmax */
  const heed_scores *scores;             /* writes the scores */
  const heed_attention_weights *weights; /* writes the weights */
  const heed_lse *lse;                   /* writes the log-sum-exp of each row */
  const heed_column_sums *column_sums;   /* writes the sum of the weights of each key */
  const heed_topk_weights *topk_weights; /* writes the largest weights of each row, and their keys */
  heed_partial *partial;                 /* the call adds to it instead of writing out */
  const heed_typed_tensors *typed;       /* instead of any of q, k, v, out: dtypes.h */
} heed_options;
/* No options: every pointer is null. */
static inline heed_options heed_options_default(void) {
  heed_options o = {sizeof(heed_options),
                    HEED_NULL,
                    HEED_NULL,
                    HEED_NULL,
                    HEED_NULL,
                    HEED_NULL,
                    HEED_NULL,
                    HEED_NULL,
                    HEED_NULL,
                    HEED_NULL,
                    HEED_NULL,
                    HEED_NULL,
                    HEED_NULL};
  return o;
}

#ifdef __cplusplus
}
#endif

#endif
