/* heed: self-attention for edge devices. C99 and C++. SPDX-License-Identifier: MIT
 *
 * What the library promises, for every function below:
 *  - Same bits everywhere. A result depends on its inputs and parameters alone: not on the instruction set, compiler,
 *    thread count, tile, workspace size or memory layout. There are two arithmetic profiles (heed_profile); within one,
 *    all kernels agree bit for bit. The promise ends at NaN payloads and signs, and at subnormal inputs or products on
 *    units that flush them (32-bit Arm NEON, Helium, or a process in flush-to-zero mode). lib/arithmetic.hpp states the
 *    rules. The processor rounds to nearest (the mode that programs start in), and floating-point exceptions do not
 *    trap: ordinary input raises the flags of inexact, underflowing and invalid results (-inf - -inf for masked keys).
 *  - No allocation, no locks, no I/O. The only variable of the library is the choice of kernel (heed_kernel_use).
 *  - Errors are found before anything is written: a call that does not return HEED_OK has changed nothing.
 *  - Every function may be called from several threads at once, provided that outputs and workspaces are not shared.
 *  - Stack: at most HEED_STACK_BYTES per call (greatest value over all kernels; the tests check it).
 *  - Structs grow at their end alone. A caller sets struct_size to sizeof the struct that it was compiled with; every
 *    size that a release had is served, missing fields count as 0, and no more of a report is written than there is.
 *
 * Words: n_q queries and n_kv keys are rows of head_dim floats, values rows of v_dim floats. Strides count floats,
 * sizes that end in _bytes count bytes. Rows are contiguous; everything else may be strided.
 *
 * Range: numbers as large as any intermediate result may be. A logit is a float, so |scale * log2(e)| * sum |q k| (in
 * softmax |scale * log2(e) * x|) below 2^127 is safe, and larger ones become infinite scores, or NaN (in the unfused
 * profile, of products of both signs); values are added before they are divided by the sum of the weights, so in each
 * column the visible |v| must sum to less than 2^127.
 *
 * NaN and infinity, the same on every kernel: a NaN in a query or in a key that it sees makes all of that query's
 * outputs NaN (but of such a row heed_top_k gives weights +0 and keys -1, since none is the largest); a NaN or an
 * infinity in a column of a visible value reaches that column of the output. A score of +infinity makes the row NaN; a
 * score of -infinity has weight 0 (but 0 times an infinite value is NaN). A row with no visible key, or whose visible
 * scores are all -infinity, has weights and outputs +0, whatever the query holds. Keys and values a query does not see
 * never reach its result.
 */
#ifndef HEED_HEED_H
#define HEED_HEED_H

#include "block.h"
#include "formats.h"
#include "options.h"
#include "transformer.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------------ primitives */

/* Dot product: *result = sum over i < n of a[i] * b[i].
 * Order: 64 partial sums (i mod 64), each a chain of fma, then a halving tree. Attention's scores use one chain each
 * instead, because there the lanes are keys or queries.
 * Error: |result - exact| <= (n/64 + 8) * 2^-24 * sum |a[i] b[i]| + n * 2^-149.
 * Aliasing: any; result may not lie inside a or b. n: 1 to HEED_MAX_COUNT. No workspace.
 * Status: NULL_POINTER, MISALIGNED, OUT_OF_RANGE, OVERFLOW, OVERLAP for A, B, N, RESULT. */
HEED_API heed_status heed_dot(const float *a, const float *b, int32_t n, float *result);

/* Softmax of each row: y[r][i] = exp(scale * x[r][i]) / sum over j of exp(scale * x[r][j]), numerically stable (the
 * row's maximum is subtracted first), in base 2 with the exponential of lib/arithmetic.hpp.
 * Range: |scale * log2(e) * x| < 2^128; beyond that a logit is an infinity, which is treated as described above. A
 * weight below 2^-64 of the greatest is exactly +0. A scale of 0 is zero here: all weights are equal.
 * Error: |y - exact| <= exact * (2 E + (n/16 + 12) * 2^-24) + 2^-63, E = 3 * 2^-24 * max |scale * x|.
 * Aliasing: in place (same data and row_stride) or disjoint. No workspace.
 * Status: NULL_POINTER, MISALIGNED, OUT_OF_RANGE, BAD_STRIDE, OVERFLOW, OVERLAP, MISFIT for X, Y; NOT_FINITE for SCALE
 * (scale * log2(e) must be finite), OUT_OF_RANGE for SCALE (subnormal); NULL_POINTER, MISALIGNED, OUT_OF_RANGE,
 * UNKNOWN_STRUCT for EXECUTOR, which may be null: one thread. */
HEED_API heed_status heed_softmax(heed_matrix x, float scale, heed_matrix_out y, const heed_executor *executor);

/* Weighted sum of rows: out (n, v_dim) = weights (n, n_kv) times rows (n_kv, v_dim), each element one chain of fma from
 * +0 in ascending order.
 * Error: |out - exact| <= n_kv * 2^-24 * sum |w[j] rows[j]| (1.5 times that in the unfused profile) + n_kv * 2^-149.
 * Aliasing: out is disjoint from the inputs. No workspace.
 * Status: as heed_softmax, for WEIGHTS, ROWS, OUT, EXECUTOR. */
HEED_API heed_status heed_weighted_sum(heed_matrix weights, heed_matrix rows, heed_matrix_out out,
                                       const heed_executor *executor);

/* Linear projection: y (n, out) = x (n, in) times w (in, out), plus bias (out) unless null. Each element is one chain
 * of fma in ascending order of `in` that starts at the bias, else at +0.
 * Error: |y - exact| <= (in + 1) * 2^-24 * (|bias| + sum |x w|) (1.5 times that in the unfused profile) + in * 2^-149.
 * Aliasing: y is disjoint from the inputs. No workspace.
 * Status: as heed_softmax, for X, W, BIAS, Y, EXECUTOR. */
HEED_API heed_status heed_linear(heed_matrix x, heed_matrix w, const float *bias, heed_matrix_out y,
                                 const heed_executor *executor);

/* ------------------------------------------------------------------------------------------------------- workspace */

/* Bytes of workspace for attention, constant expressions: static char ws[HEED_WORKSPACE_BYTES(64, 64)].
 * They depend on the two dimensions alone, never on n_q, n_kv, heads, batch or features. Any size from the minimum
 * upwards is accepted; more is faster up to HEED_WORKSPACE_BYTES; the result is the same to the bit.
 * With an executor give one such piece per worker (n_workers * ...); with less, fewer workers are used.
 * HEED_WORKSPACE_MIN_BYTES(64, 64) is 2432, HEED_WORKSPACE_BYTES(64, 64) 41472. */
#define HEED_WORKSPACE_ALIGNMENT 64
#define HEED_WORKSPACE_ROWS(head_dim, v_dim) \
  (HEED_SIZE(head_dim) + HEED_SIZE(v_dim) <= 1024 ? HEED_SIZE(48) : HEED_SIZE(16))
#define HEED_WORKSPACE_ROW_FLOATS(v_dim) (HEED_SIZE(88) + (HEED_SIZE(v_dim) + 15) / 16 * 16)
#define HEED_WORKSPACE_MIN_BYTES(head_dim, v_dim) (16 * HEED_WORKSPACE_ROW_FLOATS(v_dim) + 0 * HEED_SIZE(head_dim))
#define HEED_WORKSPACE_BYTES(head_dim, v_dim) \
  (4 * HEED_WORKSPACE_ROWS(head_dim, v_dim) * (HEED_WORKSPACE_ROW_FLOATS(v_dim) + HEED_SIZE(head_dim)))
/* The same numbers as functions; 0 when a dimension is out of range. */
HEED_API size_t heed_workspace_min_bytes(int32_t head_dim, int32_t v_dim);
HEED_API size_t heed_workspace_bytes(int32_t head_dim, int32_t v_dim);
/* Defines a static, aligned workspace `name` for one worker: use name and sizeof name. */
#define HEED_WORKSPACE(name, head_dim, v_dim) \
  HEED_ALIGNED static unsigned char name[HEED_WORKSPACE_BYTES(head_dim, v_dim)]

/* ------------------------------------------------------------------------------------------------------- attention */

/* out = softmax(scale * q k^T, masked) v for every batch entry and head. Query head h reads key/value head
 * h / (n_heads / n_kv_heads): multi-head when equal, grouped when fewer, multi-query when 1.
 *
 * Shapes: q (batch, n_heads, n_q, head_dim), k (batch, n_kv_heads, n_kv, head_dim), v (batch, n_kv_heads, n_kv, v_dim),
 *         out (batch, n_heads, n_q, v_dim), weights (batch, n_heads, n_q, n_kv) or data null.
 * Mask: with causal = 1, query i sees key j iff j <= i + causal_offset (any int32; 0 for a prompt, n_kv - n_q when the
 *         queries are the newest tokens). Masked keys cost nothing and are not read.
 * Scale: 0 means 1/sqrt(head_dim), root and quotient rounded to f32; else used as given, negative too.
 * Error: |out - exact| <= (2 E + (1.5 n_kv + n_kv/8 + 48) * 2^-24) * max |v| + (n_kv + 4) * 2^-149, where
 *         E = |scale| * ((1.5 head_dim + 4) * 2^-24 * max over visible pairs of sum |q k| + head_dim * 2^-149) bounds
 * the error of a logit. (In the FUSED profile 1.5 is 1.) Typical: 3e-7 of max |v|. Weights: exactly heed_softmax of the
 * row's scores; masked ones are +0. Aliasing: inputs may overlap each other (packed QKV); out, weights and workspace
 * are disjoint from all else. The test takes each tensor's whole extent, first to last element, so an output woven into
 * an input is refused. Workspace: HEED_WORKSPACE_BYTES above, aligned to 64 bytes. Contents do not matter before and
 * after. Threads: executor may be null. Small calls run on the caller's thread although an executor is given. One query
 * row with many keys is split at multiples of 1024 keys. Status: NULL_POINTER, MISALIGNED, UNKNOWN_STRUCT for CALL;
 * OUT_OF_RANGE for BATCH, N_HEADS, N_KV_HEADS, N_Q, N_KV, HEAD_DIM, V_DIM, CAUSAL; MISFIT for N_KV_HEADS (must divide
 * n_heads); NOT_FINITE for SCALE (scale * log2(e) must be finite), OUT_OF_RANGE for SCALE (subnormal); MISALIGNED,
 * BAD_STRIDE, OVERFLOW for Q, K, V, OUT, WEIGHTS, and NULL_POINTER for all but the last; NULL_POINTER, MISALIGNED,
 * TOO_SMALL, OVERFLOW for WORKSPACE; OVERLAP for OUT, WEIGHTS, WORKSPACE, also with the call itself or its executor;
 * NULL_POINTER, MISALIGNED, OUT_OF_RANGE, UNKNOWN_STRUCT for EXECUTOR. Source: Vaswani et al. 2017 (attention), Shazeer
 * 2019 and Ainslie et al. 2023 (multi-query, grouped heads), Milakov and Gimelshein 2018 (online softmax), Dao et al.
 * 2022 (tiling). */
typedef struct heed_attention {
  uint32_t struct_size; /* sizeof(heed_attention) */
  int32_t batch, n_heads, n_kv_heads;
  int32_t n_q, n_kv;
  int32_t head_dim, v_dim;
  float scale;
  int32_t causal; /* 0 or 1 */
  int32_t causal_offset;
  heed_tensor q, k, v;
  heed_tensor_out out;
  heed_tensor_out weights;
  void *workspace;
  size_t workspace_bytes;
  const heed_executor *executor;
  const heed_options *options; /* or null: none. Since 0.2.0 */
} heed_attention;
HEED_API heed_status heed_attention_run(const heed_attention *call);

/* A call with one batch entry, contiguous token-major tensors, default scale, no mask; change any field afterwards. */
static inline heed_attention heed_attention_of(int32_t n_q, int32_t n_kv, int32_t n_heads, int32_t n_kv_heads,
                                               int32_t head_dim, const float *q, const float *k, const float *v,
                                               float *out, void *workspace, size_t workspace_bytes) {
  heed_attention call;
  call.struct_size = sizeof call;
  call.batch = 1;
  call.n_heads = n_heads;
  call.n_kv_heads = n_kv_heads;
  call.n_q = n_q;
  call.n_kv = n_kv;
  call.head_dim = call.v_dim = head_dim;
  call.scale = 0.0f;
  call.causal = call.causal_offset = 0;
  call.q = heed_token_major(q, n_q, n_heads, head_dim);
  call.k = heed_token_major(k, n_kv, n_kv_heads, head_dim);
  call.v = heed_token_major(v, n_kv, n_kv_heads, head_dim);
  call.out = heed_token_major_out(out, n_q, n_heads, head_dim);
  call.weights = heed_token_major_out(HEED_NULL, 0, 0, 0);
  call.workspace = workspace;
  call.workspace_bytes = workspace_bytes;
  call.executor = HEED_NULL;
  call.options = HEED_NULL;
  return call;
}

/* Plain self-attention: Q = K = V = x, nothing learned, one head. out (n, dim) is disjoint from x (n, dim).
 * scale as above (0: 1/sqrt(dim)). dim: 1 to HEED_MAX_DIM. Error, workspace (for head_dim = v_dim = dim) and status as
 * heed_attention_run, with X, OUT, N, HEAD_DIM naming the arguments and MISFIT for OUT when the shapes differ. */
HEED_API heed_status heed_self_attention(heed_matrix x, float scale, heed_matrix_out out, void *workspace,
                                         size_t workspace_bytes);

/* ----------------------------------------------------------------------------------------------------------- layer */

/* A self-attention layer: q = x wq + bq, k = x wk + bk, v = x wv + bv, heads side by side; context = attention;
 * y = context wo + bo. Weights are row-major (in, out), contiguous, and may live in flash:
 *   wq (model_dim, n_heads * head_dim)   wk (model_dim, n_kv_heads * head_dim)   wv (model_dim, n_kv_heads * v_dim)
 *   wo (n_heads * v_dim, out_dim), null for none: y is then the context, and out_dim is n_heads * v_dim.
 * Biases are null or as long as their projection's rows. n_heads * head_dim and n_heads * v_dim are at most
 * HEED_MAX_DIM. */
typedef struct heed_layer {
  uint32_t struct_size; /* sizeof(heed_layer) */
  int32_t model_dim, n_heads, n_kv_heads, head_dim, v_dim, out_dim;
  float scale;    /* 0: 1/sqrt(head_dim) */
  int32_t causal; /* 0 or 1; row i sees rows 0..i */
  const float *wq, *wk, *wv, *wo;
  const float *bq, *bk, *bv, *bo;
  const heed_options *options; /* of its attention, or null; no partial. Since 0.2.0 */
} heed_layer;

/* Runs the layer on x (n, model_dim) into y (n, out_dim). The result is that of heed_linear and heed_attention_run
 * called one after another, to the bit.
 * activations: HEED_LAYER_ACTIVATIONS floats for q, k, v and the context of n rows, in this order, contiguous,
 *         token-major; left there for the caller to read. Without wo the context is y and takes no room here:
 *         n * n_heads * v_dim floats less will do. The only memory that grows with n; aligned to 4 bytes.
 * workspace: as heed_attention_run. executor: may be null.
 * Aliasing: y, activations, workspace are disjoint from everything.
 * Status: NULL_POINTER, MISALIGNED, UNKNOWN_STRUCT for LAYER; OUT_OF_RANGE for MODEL_DIM, N_HEADS (also when a row of
 *         all heads is too long), N_KV_HEADS, HEAD_DIM, V_DIM, OUT_DIM, CAUSAL; MISFIT for N_KV_HEADS, OUT_DIM, X, Y;
 *         NOT_FINITE, OUT_OF_RANGE for SCALE; NULL_POINTER for WQ, WK, WV; MISALIGNED, OVERFLOW for WQ, WK, WV, WO, BQ,
 * BK, BV, BO (bo without wo is MISFIT); TOO_SMALL, NULL_POINTER, MISALIGNED, OVERFLOW for ACTIVATIONS, WORKSPACE;
 * OVERLAP for Y, ACTIVATIONS, WORKSPACE, also with the layer itself or its executor; as heed_linear for X, Y, EXECUTOR.
 */
HEED_API heed_status heed_layer_run(const heed_layer *layer, heed_matrix x, heed_matrix_out y, float *activations,
                                    size_t n_activations, void *workspace, size_t workspace_bytes,
                                    const heed_executor *executor);
#define HEED_LAYER_ACTIVATIONS(n, n_heads, n_kv_heads, head_dim, v_dim) \
  (HEED_SIZE(n) * (HEED_SIZE(n_heads) + HEED_SIZE(n_kv_heads)) * (HEED_SIZE(head_dim) + HEED_SIZE(v_dim)))

/* ------------------------------------------------------------------------------------------------------- sequences */

/* A sequence of embeddings in a buffer of fixed capacity: capacity rows of dim floats, the first `length` in use. */
typedef struct heed_sequence {
  uint32_t struct_size; /* sizeof(heed_sequence) */
  int32_t capacity, dim, length;
  float *data;
} heed_sequence;

/* Defines an empty sequence `name` in static storage. capacity and dim are constants. */
#define HEED_SEQUENCE(name, capacity, dim)                                     \
  HEED_ALIGNED static float name##_data[HEED_SIZE(capacity) * HEED_SIZE(dim)]; \
  static heed_sequence name = {sizeof(heed_sequence), (capacity), (dim), 0, name##_data}

/* Makes an empty sequence over the caller's buffer of capacity * dim floats.
 * Status: NULL_POINTER, MISALIGNED, OVERLAP for SEQUENCE (which may not lie in its buffer); NULL_POINTER, MISALIGNED,
 * OVERFLOW for BUFFER; OUT_OF_RANGE for CAPACITY, HEAD_DIM. */
HEED_API heed_status heed_sequence_init(heed_sequence *sequence, float *buffer, int32_t capacity, int32_t dim);
/* Appends all rows or, when they do not fit, none. rows.dim is the sequence's.
 * Status: FULL for SEQUENCE; NULL_POINTER, MISALIGNED, OUT_OF_RANGE, BAD_STRIDE, OVERFLOW, MISFIT, OVERLAP for ROWS;
 * NULL_POINTER, UNKNOWN_STRUCT, OUT_OF_RANGE, MISALIGNED, OVERFLOW, OVERLAP for a damaged SEQUENCE. */
HEED_API heed_status heed_sequence_append(heed_sequence *sequence, heed_matrix rows);
/* Empties the sequence; its storage stays. Status: as heed_sequence_append for a damaged SEQUENCE. */
HEED_API heed_status heed_sequence_clear(heed_sequence *sequence);
/* Plain self-attention of a whole sequence into another, which then has as many rows. Rows that out held are replaced.
 * Status: as heed_self_attention; FULL for OUT when its capacity is too small; MISFIT for OUT when dim differs;
 * OUT_OF_RANGE for N when x is empty; as heed_sequence_append for a damaged sequence, with X or OUT for SEQUENCE. */
HEED_API heed_status heed_sequence_self_attention(const heed_sequence *x, float scale, heed_sequence *out,
                                                  void *workspace, size_t workspace_bytes);
/* The same with a causal mask (0 or 1; row i sees rows 0..i) and options (or null; no partial, MISFIT for PARTIAL).
 * Status: also as heed_attention_run for CAUSAL and all options. Since 0.2.0. */
HEED_API heed_status heed_sequence_attention(const heed_sequence *x, float scale, int32_t causal,
                                             const heed_options *options, heed_sequence *out, void *workspace,
                                             size_t workspace_bytes);

/* The rows in use, for the functions above (n_rows 0, which they refuse, when empty). sequence is not null. */
static inline heed_matrix heed_sequence_view(const heed_sequence *sequence) {
  return heed_matrix_of(sequence->data, sequence->length, sequence->dim);
}
/* The same for heed_attention: one head, one batch entry. */
static inline heed_tensor heed_sequence_tensor(const heed_sequence *sequence) {
  return heed_token_major(sequence->data, sequence->length, 1, sequence->dim);
}

/* -------------------------------------------------------------------------------------------- kernels and self-test */

/* The two arithmetic profiles. FUSED: every multiply-add rounds once. UNFUSED, for processors without a fused
 * multiply-add: every product is rounded, then added. Bits agree within a profile, not between them. Every build for an
 * operating system has UNFUSED kernels, and FUSED ones where the target has the instruction, whatever the compiler; so
 * a fleet with one processor that has none agrees on heed_kernel_use("unfused"). A build with one kernel (firmware,
 * HEED_FIXED_KERNEL) has that kernel's profile. */
typedef enum heed_profile { HEED_PROFILE_UNFUSED = 0, HEED_PROFILE_FUSED = 1 } heed_profile;

/* Kernels that this processor can run, best first. The name is null when index is out of range; static storage.
 * The profile of a kernel that this build does not have is -1. For these functions and HEED_KERNEL "fused" and
 * "unfused" are names, too: of the best kernel of that profile. */
HEED_API int32_t heed_kernel_count(void);
HEED_API const char *heed_kernel_name(int32_t index);
HEED_API int32_t heed_kernel_profile(const char *name);
/* The kernel in use. The first call of the library chooses the best, or on hosted systems the one that the environment
 * variable HEED_KERNEL names (a name that is unknown or cannot run here is ignored; compare heed_kernel_current). */
HEED_API const char *heed_kernel_current(void);
/* Forces a kernel for the whole process; null returns to the automatic choice. It may be called at any time: every call
 * of the library takes the kernel once, when it begins, and finishes on it, with all that an executor runs for it.
 * Status: UNKNOWN_KERNEL, UNAVAILABLE_KERNEL for KERNEL. In a build with a fixed kernel any other is unknown. */
HEED_API heed_status heed_kernel_use(const char *name);

/* "0.2.1" or the like: the version of the library that was linked. */
HEED_API const char *heed_version(void);

/* What heed_selftest found. Strings have static storage. */
typedef struct heed_selftest_report {
  uint32_t struct_size; /* sizeof(heed_selftest_report), set by the caller */
  int32_t n_kernels;    /* kernels compared */
  int32_t n_cases;      /* cases run on each kernel */
  uint32_t n_floats;    /* results compared in all */
  const char *kernel;   /* of the first difference; null if there is none */
  const char *function; /* "attention", "softmax", "linear", "dot", "all"; of features "rms_norm", "cache", ... */
  int32_t case_index;   /* which case */
  int32_t float_index;  /* which float of its result */
  uint32_t expected_bits, actual_bits;
  const char *compared_with; /* "scalar", "scalar-unfused"; or "known answers": the reference itself is wrong, the two
                                indices are -1, and the bits are digests of all its results; of features the kernel
                                is, and case_index says which part. Since 0.1.1. */
} heed_selftest_report;

/* Compares every kernel that this processor can run with the scalar reference of its profile, bit by bit, over shapes
 * that cross every tile boundary and over NaN, infinities and zeros of both signs; and the reference, and each kernel's
 * features (below), with known answers, so that a compiler or a mode of the processor that changes both is found, too.
 * Needs no workspace but buffer: HEED_SELFTEST_BYTES, aligned to 64. Takes milliseconds on a PC. report may be null.
 * Status: MISMATCH for KERNEL; NULL_POINTER, MISALIGNED, TOO_SMALL, OVERFLOW, OVERLAP (with the report) for BUFFER;
 * MISALIGNED, UNKNOWN_STRUCT for REPORT. */
#define HEED_SELFTEST_BYTES 131072
HEED_API heed_status heed_selftest(void *buffer, size_t buffer_bytes, heed_selftest_report *report);

/* The same for start-up: the kernel in use alone, in little memory, with about 40,000 multiply-adds, over shapes that
 * cross the boundaries of tiles, blocks and chunks. Buffer: HEED_SELFTEST_BOOT_BYTES, aligned to 64. report may be
 * null. Status: as heed_selftest. */
#define HEED_SELFTEST_BOOT_BYTES 8192
HEED_API heed_status heed_selftest_boot(void *buffer, size_t buffer_bytes, heed_selftest_report *report);

/* The same for what that leaves out, so that a program links it only if it calls it: norms, activations, rotary
 * embedding, narrow numbers, options and caches of the kernel in use, each compared with known answers. Buffer:
 * HEED_SELFTEST_FEATURES_BYTES, aligned to 64. report may be null. Status: as heed_selftest. Since 0.2.0. */
#define HEED_SELFTEST_FEATURES_BYTES 16384
HEED_API heed_status heed_selftest_features(void *buffer, size_t buffer_bytes, heed_selftest_report *report);

#ifdef __cplusplus
}
#endif

#endif
