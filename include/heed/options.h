/* heed: what attention may do besides the plain softmax(scale * q k^T) v. Include heed.h.
 *
 * Each feature is an object that its init function makes; the object then goes into heed_options, and that into a call
 * of attention, a layer or a sequence. A program links the code of the features whose init functions it names, and no
 * other. All features combine, on every kernel, in the same workspace, without a cliff; none changes the bits of what
 * it does not concern. Objects are read during the call only and may be shared by threads; what they point to belongs
 * to the caller.
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
 * What happens to the score of query i and key j, in this order (the rules are in lib/arithmetic.hpp):
 *   raw     q . k * scale                        of the keys inside the ranges; no other is read
 *   capped  cap * tanh(raw / cap)                heed_softcap
 *   biased  + slope * (j - p)                    heed_alibi; p is the query's position: i + call.position
 *           + mask                               heed_mask; -infinity (or false): the key takes no part
 *   weight  exp(biased - maximum) / (sum over j of the same + exp(sink - maximum))
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEED_OPTIONS_H
#define HEED_OPTIONS_H

#include "formats.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The code of a feature: opaque, set by its init function, as is struct_size, in each object.
 *
 * Init functions check the object alone (NULL_POINTER, MISALIGNED, under its argument's name) and copy what they are
 * given; each call checks what objects hold, so fields may be changed between calls. They write the struct as it was in
 * 0.3.0: what later versions append is 0 until a caller sets it, and struct_size with it.
 *
 * An object that was neither zeroed nor made by its init function cannot always be told from one that was: the call
 * then reads through whatever its code holds. Passing an object of another type of the same size is not detected.
 *
 * Status of a call, for each object under its own name and for heed_options as OPTIONS: MISALIGNED; UNKNOWN_STRUCT;
 * NOT_INITIALIZED when struct_size is 0 or code is null; and OVERLAP of whatever the call writes with an object, or
 * with what it points to. The status names the argument that is written; if both are, the one that comes first in the
 * call, then in heed_options. */

/* ------------------------------------------------------------------------------------------------- what is visible */

/* Ranges of keys; what lies outside is never read and costs nothing. Query i at position p sees key j iff
 *   j < kv_length,   p - left_window <= j (unless -1),   j <= p + right_window (unless -1),   and j <= p if causal.
 * p = call.position + i, also without causal. A window of 0 is the query's own position alone.
 * Arrays hold one number for each batch entry and replace the number for all, which is then ignored.
 * Status: OUT_OF_RANGE for LEFT_WINDOW, RIGHT_WINDOW (below -1), KV_LENGTHS (below 0 or above n_kv); MISALIGNED,
 * OVERFLOW for those and POSITIONS; OUT_OF_RANGE for PINNED. Source: Beltagy et al. 2020 (sliding window); ONNX
 * Attention-25. */
typedef struct heed_ranges {
  uint32_t struct_size;
  const heed_code *code;
  int32_t left_window, right_window;           /* keys besides the query's own position; -1: all */
  const int32_t *left_windows, *right_windows; /* (batch) or null */
  const int32_t *positions;                    /* (batch) or null: instead of call.position, any int32 */
  const int32_t *kv_lengths;                   /* (batch) or null: 0 to n_kv */
  int32_t pinned; /* the first so many keys are seen also from windows that begin after them: 0 to HEED_MAX_COUNT */
} heed_ranges;
/* All open. */
HEED_API heed_status heed_ranges_init(heed_ranges *ranges);

/* A mask over (batch, n_heads, n_q, n_keys): element (b, h, i, j) is data[b * batch_stride + h * head_stride +
 * i * query_stride + j]. A stride of 0 broadcasts. With fewer columns than keys the other keys lie
 * outside the ranges; columns beyond n_kv are not read. Rows that see nothing are exactly +0. A key that the mask hides
 * takes no part: NaN or infinity in it, or in its value, reaches nothing (the key and the value may be read). Blocks of
 * 64 keys that are hidden from a whole tile cost next to nothing. Status: OUT_OF_RANGE (n_keys: 1 to HEED_MAX_COUNT),
 * NULL_POINTER, BAD_STRIDE, MISALIGNED, OVERFLOW for MASK. */
typedef struct heed_mask {
  uint32_t struct_size;
  const heed_code *code;
  int32_t n_keys;
  const void *data;
  ptrdiff_t batch_stride, head_stride, query_stride; /* in elements */
} heed_mask;
/* One byte an element: 0 hides, anything else attends. */
HEED_API heed_status heed_mask_init_boolean(heed_mask *mask, const uint8_t *data, int32_t n_keys,
                                            ptrdiff_t batch_stride, ptrdiff_t head_stride, ptrdiff_t query_stride);
/* Added to the scores, in natural units; -infinity hides. |mask * log2(e)| below 2^127 is safe: a finite number below
 * (-FLT_MAX in exported models) gives weight 0 like -infinity, also in a row of nothing else, where it gives +0. NaN or
 * +infinity makes the row NaN. */
HEED_API heed_status heed_mask_init_additive(heed_mask *mask, const float *data, int32_t n_keys, ptrdiff_t batch_stride,
                                             ptrdiff_t head_stride, ptrdiff_t query_stride);

/* ---------------------------------------------------------------------------------------------------------- scores */

/* score = cap * tanh(score / cap). cap > 0. cap * log2(e) and scale / cap must be finite, and cap and scale / cap not
 * subnormal: units that flush subnormals would lose the score. Error of tanh: below 7 * 2^-24 relative; where score /
 * cap itself is subnormal, cap * 2^-149 more. Source: Gemma 2 (Gemma Team 2024). Status: OUT_OF_RANGE (0, negative; cap
 * or scale / cap subnormal), NOT_FINITE for SOFTCAP. */
typedef struct heed_softcap {
  uint32_t struct_size;
  const heed_code *code;
  float cap;
} heed_softcap;
HEED_API heed_status heed_softcap_init(heed_softcap *softcap, float cap);

/* score += slopes[h] * (j - p), exact distances up to 2^24. slopes: (n_heads), finite also when times log2(e), and not
 * subnormal; 0 is a head without.
 * Error: as fma rounds, 2^-24 * (|biased| + 2 |slope * (j - p)|) on a logit: rows that see far keys alone have weights
 * that much less exact. The same holds for an additive mask.
 * Source: Press et al. 2022 (their slopes are 2^(-8 (h + 1) / n_heads), n_heads a power of two).
 * Status: NULL_POINTER, MISALIGNED, OVERFLOW, NOT_FINITE, OUT_OF_RANGE (subnormal) for ALIBI. */
typedef struct heed_alibi {
  uint32_t struct_size;
  const heed_code *code;
  const float *slopes;
} heed_alibi;
HEED_API heed_status heed_alibi_init(heed_alibi *alibi, const float *slopes);

/* One more logit in each head's softmax, to which no value belongs: it takes weight away from all keys. logits:
 * (n_heads), finite also when times log2(e), or -infinity for a head without; null: 0 for all, "smooth softmax", which
 * adds 1 to the denominator. Weights then sum to less than 1. Source: Xiao et al. 2024; gpt-oss (OpenAI 2025).
 * Status: MISALIGNED, OVERFLOW, NOT_FINITE for SINKS. */
typedef struct heed_sinks {
  uint32_t struct_size;
  const heed_code *code;
  const float *logits;
} heed_sinks;
HEED_API heed_status heed_sinks_init(heed_sinks *sinks, const float *logits);

/* --------------------------------------------------------------------------------------------------------- outputs */
/* As every output: rows do not overlap each other nor anything else of the call. */

/* The scores (batch, n_heads, n_q, n_kv) at one of the stages above, in natural units; keys outside the ranges are
 * -infinity, in RAW and CAPPED, too (ask without ranges for every pair). ONNX's qk_matmul_output_mode has the same
 * numbers; its last stage, the weights, is heed_attention_weights here.
 * Status: OUT_OF_RANGE (stage), NULL_POINTER, MISALIGNED, BAD_STRIDE, OVERFLOW, OVERLAP for SCORES. */
typedef enum heed_scores_stage {
  HEED_SCORES_RAW = 0,
  HEED_SCORES_CAPPED = 1,
  HEED_SCORES_BIASED = 2
} heed_scores_stage;
typedef struct heed_scores {
  uint32_t struct_size;
  const heed_code *code;
  int32_t stage; /* heed_scores_stage */
  heed_tensor_out out;
} heed_scores;
HEED_API heed_status heed_scores_init(heed_scores *scores, int32_t stage, heed_tensor_out out);

/* The weights (batch, n_heads, n_q, n_kv): exactly heed_softmax of each row's scores (without a sink); +0 for keys
 * outside the ranges and for masked ones; in a row that is NaN masked ones are NaN, too.
 * Status: NULL_POINTER, MISALIGNED, BAD_STRIDE, OVERFLOW, OVERLAP for WEIGHTS. */
typedef struct heed_attention_weights {
  uint32_t struct_size;
  const heed_code *code;
  heed_tensor_out out;
} heed_attention_weights;
HEED_API heed_status heed_attention_weights_init(heed_attention_weights *weights, heed_tensor_out out);

/* Log-sum-exp of each row's biased scores, a sink included: element (b, h, i) is out.data[b * batch_stride +
 * h * head_stride + i * row_stride]. -infinity for a row that sees nothing.
 * Error: that of the greatest logit + 2^-22 * max(1, |result|).
 * Status: NULL_POINTER, MISALIGNED, BAD_STRIDE, OVERFLOW, OVERLAP for LSE. */
typedef struct heed_lse {
  uint32_t struct_size;
  const heed_code *code;
  heed_tensor_out out;
} heed_lse;
HEED_API heed_status heed_lse_init(heed_lse *lse, heed_tensor_out out);

/* For looking into a model in O(n_kv) memory: element (b, h, j) = out.data[b * batch_stride + h * head_stride + j] is
 * the sum over the queries of the weight of key j, added in ascending order from +0. Weights are here
 * exp2(x - m) * r with the m and r of the output (rules 4 and 7), +0 for masked keys. A second pass over the keys makes
 * them; threads share heads, not the queries of one head. Status: as LSE, for COLUMN_SUMS. */
typedef struct heed_column_sums {
  uint32_t struct_size;
  const heed_code *code;
  heed_tensor_out out; /* row_stride is ignored */
} heed_column_sums;
HEED_API heed_status heed_column_sums_init(heed_column_sums *sums, heed_tensor_out out);

/* The k keys with the largest weights for each row, largest first, of equal weights the lower key first; weights and
 * keys are (batch, n_heads, n_q, k), contiguous. Where fewer keys have a weight the rest has weight +0 and key -1;
 * so has all of a row whose weights are NaN: they have no order.
 * The same second pass as column sums. k: 1 to n_kv.
 * Status: NULL_POINTER, MISALIGNED, OUT_OF_RANGE (k), OVERFLOW, OVERLAP for TOP_K. */
typedef struct heed_top_k {
  uint32_t struct_size;
  const heed_code *code;
  int32_t k;
  float *weights;
  int32_t *keys;
} heed_top_k;
HEED_API heed_status heed_top_k_init(heed_top_k *top_k, int32_t k, float *weights, int32_t *keys);

/* ------------------------------------------------------------------------------------------------- partial results */

/* Attention over some of the keys, so that one long context can be shared by cores, chips or machines: for every row
 * the maximum m (base 2), the sum l of exp2(x - m), and acc = the sum of exp2(x - m) v. They lie in one memory of
 * HEED_PARTIAL_BYTES, which may be sent as it is (m, then l, each (batch, n_heads, n_q), then acc (batch,
 * n_heads, n_q, v_dim)), together with first_key and n_keys.
 *
 * A call with a partial reads keys first_key + n_keys ... of the context, which are its k and v from 0 on (of a cache,
 * which is the whole context, the tokens of these positions), adds them to
 * the partial, and adds n_kv to its n_keys; out is not written and its data must be null. position, positions and
 * kv_lengths (then 0 and above; clipped) count from key 0 of the context; a mask's columns and the columns of scores
 * from the call's first key (a part beyond a short mask gets one column that hides).
 * Calls one after another over all keys, then heed_partial_finish, give the bits of one call: hand the partial from
 * machine to machine. Or compute partials of one chunk (1024 keys) each, anywhere and in any order, and merge them in
 * ascending order: the same bits. (A merge is not associative, so what covers several chunks cannot be merged.)
 * Splits lie at multiples of 1024 keys.
 * (Not bit by bit where more than 1024 keys are pinned: a chunk then has pinned keys and others, which one call merges
 * one after the other.)
 * Weights, sinks, lse, column_sums and top_k need all keys: with a partial they are refused, NOT_HERE under their own
 * name. Sinks and lse are arguments of heed_partial_finish.
 * Status: BAD_SPLIT for FIRST_KEY when the next key is no multiple of 1024; MISFIT for PARTIAL when its shape differs;
 * GIVEN_TWICE for OUT when there is one; OUT_OF_RANGE for PARTIAL when a number is negative or keys exceed
 * HEED_MAX_COUNT; NULL_POINTER, MISALIGNED, OVERFLOW (data), OVERLAP for PARTIAL. In layers and sequences: NOT_HERE for
 * PARTIAL. */
typedef struct heed_partial {
  uint32_t struct_size;
  const heed_code *code;
  int32_t batch, n_heads, n_q, v_dim;
  int32_t first_key, n_keys;
  float *data;
} heed_partial;
#define HEED_PARTIAL_BYTES(batch, n_heads, n_q, v_dim) \
  (HEED_SIZE(4) * HEED_SIZE(batch) * HEED_SIZE(n_heads) * HEED_SIZE(n_q) * (HEED_SIZE(v_dim) + 2))
/* The same number as a function; 0 when a number is out of range. */
HEED_API size_t heed_partial_bytes(int32_t batch, int32_t n_heads, int32_t n_q, int32_t v_dim);

/* An empty partial in `memory`, aligned to 4 bytes: m -infinity, l and acc 0, n_keys 0.
 * Status: NULL_POINTER, MISALIGNED, OVERLAP for PARTIAL; NULL_POINTER, MISALIGNED, TOO_SMALL, OVERFLOW for MEMORY;
 * OUT_OF_RANGE for BATCH, N_HEADS, N_Q, V_DIM; OUT_OF_RANGE (negative), BAD_SPLIT (no multiple of 1024) for FIRST_KEY.
 */
HEED_API heed_status heed_partial_init(heed_partial *partial, int32_t batch, int32_t n_heads, int32_t n_q,
                                       int32_t v_dim, int32_t first_key, heed_memory memory);
/* total = total merged with part, which follows it: part->first_key = total->first_key + total->n_keys, and covers at
 * most 1024 keys. Status: MISFIT for PARTIAL (shape), BAD_SPLIT for PARTIAL (more than 1024 keys), FIRST_KEY (it does
 * not follow); OVERLAP for TOTAL; NULL_POINTER, MISALIGNED, UNKNOWN_STRUCT, NOT_INITIALIZED, OUT_OF_RANGE, OVERFLOW for
 * TOTAL, PARTIAL. */
HEED_API heed_status heed_partial_merge(heed_partial *total, const heed_partial *part);
/* out (batch, n_heads, n_q, v_dim) = acc / l, with sinks and lse or null. Status: as heed_attention_run for OUT, SINKS,
 * LSE; as heed_partial_merge for PARTIAL. */
HEED_API heed_status heed_partial_finish(const heed_partial *partial, const heed_sinks *sinks, heed_tensor_out out,
                                         const heed_lse *lse);

/* ------------------------------------------------------------------------------------------------------ all of them */

/* Null: without. */
typedef struct heed_options {
  uint32_t struct_size; /* sizeof(heed_options) */
  const heed_ranges *ranges;
  const heed_mask *mask;
  const heed_softcap *softcap;
  const heed_alibi *alibi;
  const heed_sinks *sinks;
  const heed_scores *scores;
  const heed_attention_weights *weights;
  const heed_lse *lse;
  const heed_column_sums *column_sums;
  const heed_top_k *top_k;
  heed_partial *partial;
  const heed_narrow_tensors *narrow; /* formats.h: instead of any of q, k, v, out */
} heed_options;
/* None. */
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
