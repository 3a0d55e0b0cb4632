/* Every function of the library once, on the kernel in use: for the tests that watch a call from outside (its
 * allocations, its stack). C99. SPDX-License-Identifier: MIT */
#ifndef HEED_TESTS_SUPPORT_ALL_CALLS_H
#define HEED_TESTS_SUPPORT_ALL_CALLS_H

#include "heed/heed.h"

#ifndef CALLS_ON_BOARD
enum { calls_rows = 40, calls_keys = 1100, calls_dim = 70, calls_wide = 700, calls_floats = calls_keys * calls_dim };
#define CALLS_MEMORY
#else /* the same kinds of calls in less time; what is large lies in external memory */
enum { calls_rows = 20, calls_keys = 1100, calls_dim = 20, calls_wide = 700, calls_floats = 66000 };
#define CALLS_MEMORY __attribute__((section(".external")))
#endif

CALLS_MEMORY static float calls_a[calls_floats], calls_b[calls_floats], calls_c[calls_floats], calls_out[calls_floats];
CALLS_MEMORY static float calls_weights[calls_rows * calls_keys];
CALLS_MEMORY HEED_ALIGNED static unsigned char calls_workspace[3 * HEED_WORKSPACE_BYTES(calls_dim, calls_dim)];
CALLS_MEMORY HEED_ALIGNED static unsigned char calls_buffer[HEED_SELFTEST_BYTES];

static void calls_repeat(float *x, int period) {
  for (int i = 0; i < calls_floats; i++) x[i] = i < period ? (float)(i * 7 % period) * 0.0625f - 1.0f : x[i - period];
}
static void calls_fill(void) {
  calls_repeat(calls_a, 31);
  calls_repeat(calls_b, 29);
  calls_repeat(calls_c, 37);
}

static void calls_sequential(void *user, int32_t n_tasks, heed_task task, void *context) {
  (void)user;
  for (int32_t i = 0; i < n_tasks; i++) task(context, i, i % 2);
}
static const heed_executor calls_executor = {sizeof(heed_executor), 2, calls_sequential, NULL};

static heed_status call_attention(int32_t n_q, int32_t n_kv, int32_t dim, int causal, size_t workspace_bytes) {
  heed_attention call =
      heed_attention_of(n_q, n_kv, 1, 1, dim, calls_a, calls_b, calls_c, calls_out, calls_workspace, workspace_bytes);
  call.causal = causal;
  call.causal_offset = n_kv - n_q;
  call.weights = heed_head_major_out(calls_weights, n_q, 1, n_kv);
  call.executor = causal ? &calls_executor : NULL;
  return heed_attention_run(&call);
}
static heed_status call_prefill(void) {
  return call_attention(calls_rows, calls_keys, calls_dim, 1, sizeof calls_workspace);
}
static heed_status call_one_query(void) { return call_attention(1, calls_keys, calls_dim, 0, sizeof calls_workspace); }
/* Neither weights nor options nor executor. */
static heed_status call_plain(void) {
  heed_attention call = heed_attention_of(calls_rows, calls_keys, 2, 1, calls_dim / 2, calls_a, calls_b, calls_c,
                                          calls_out, calls_workspace, sizeof calls_workspace);
  const heed_status status = heed_attention_run(&call);
  call.n_q = 1;
  return status == HEED_OK ? heed_attention_run(&call) : status;
}
static heed_status call_smallest_workspace(void) {
  return call_attention(3, calls_keys, calls_dim, 0, HEED_WORKSPACE_MIN_BYTES(calls_dim, calls_dim));
}
static heed_status call_wide(void) { return call_attention(20, 20, calls_wide, 0, sizeof calls_workspace); }
static heed_status call_refused(void) {
  return heed_attention_run(NULL) == HEED_STATUS(HEED_NULL_POINTER, HEED_ARG_CALL) ? HEED_OK : -1;
}
static heed_status call_self_attention(void) {
  return heed_self_attention(heed_matrix_of(calls_a, calls_rows, calls_dim), 0,
                             heed_matrix_out_of(calls_out, calls_rows, calls_dim), calls_workspace,
                             sizeof calls_workspace);
}
static heed_status call_softmax(void) {
  return heed_softmax(heed_matrix_of(calls_a, calls_dim, calls_keys), 1,
                      heed_matrix_out_of(calls_out, calls_dim, calls_keys), &calls_executor);
}
static heed_status call_linear(void) {
  return heed_linear(heed_matrix_of(calls_a, calls_keys, calls_dim), heed_matrix_of(calls_b, calls_dim, calls_dim),
                     calls_c, heed_matrix_out_of(calls_out, calls_keys, calls_dim), &calls_executor);
}
/* Rows of w that are 2 KB apart: panels of it are copied to the stack. */
static heed_status call_linear_colliding(void) {
  return heed_linear(heed_matrix_of(calls_a, 64, 100), heed_matrix_of(calls_b, 100, 512), calls_c,
                     heed_matrix_out_of(calls_out, 64, 512), NULL);
}
/* Every format and layout, of one row, of few and of many; conversions of these weights. */
static heed_status call_project_of(int32_t rows, int32_t layout) {
  for (int32_t format = HEED_F32; format <= HEED_INT8; format++) {
    const heed_weights w = heed_weights_of(calls_b, format, layout, 100, 117, calls_a);
    heed_status status = heed_narrow(heed_matrix_of(calls_c, 117, 100), format, calls_b, 100, calls_out);
    if (status == HEED_OK)
      status = heed_project(heed_matrix_of(calls_a, rows, 100), &w, NULL, heed_matrix_out_of(calls_out, rows, 117),
                            &calls_executor);
    if (status != HEED_OK) return status;
  }
  return HEED_OK;
}
static heed_status call_project_in_out(void) {
  const heed_status status = call_project_of(1, HEED_IN_OUT);
  return status == HEED_OK ? call_project_of(40, HEED_IN_OUT) : status;
}
static heed_status call_project_out_in(void) {
  heed_status status = call_project_of(1, HEED_OUT_IN);
  if (status == HEED_OK) status = call_project_of(4, HEED_OUT_IN);
  return status == HEED_OK ? call_project_of(40, HEED_OUT_IN) : status;
}
static heed_status call_formats(void) {
  const heed_status status =
      heed_quantize_weights(heed_matrix_of(calls_c, 30, 40), HEED_IN_OUT, (int8_t *)(void *)calls_out, calls_weights);
  return status == HEED_OK ? heed_widen(calls_c, 40, NULL, HEED_BF16, heed_matrix_out_of(calls_out, 30, 40)) : status;
}
static heed_status call_weighted_sum(void) {
  return heed_weighted_sum(heed_matrix_of(calls_a, 3, calls_keys), heed_matrix_of(calls_b, calls_keys, calls_dim),
                           heed_matrix_out_of(calls_out, 3, calls_dim), NULL);
}
static heed_status call_dot(void) { return heed_dot(calls_a, calls_b, calls_floats, calls_out); }
static heed_matrix calls_tokens(const float *x) { return heed_matrix_of(x, calls_keys, calls_dim); }
static heed_matrix_out calls_results(void) { return heed_matrix_out_of(calls_out, calls_keys, calls_dim); }
static heed_status call_rms_norm(void) {
  return heed_rms_norm(calls_tokens(calls_a), calls_b, calls_c, 1e-5f, calls_results(), &calls_executor);
}
static heed_status call_layer_norm(void) {
  return heed_layer_norm(calls_tokens(calls_a), calls_b, calls_c, 1e-5f, calls_results(), &calls_executor);
}
static heed_status call_gelu(void) {
  return heed_gelu(calls_tokens(calls_a), calls_tokens(calls_b), calls_results(), &calls_executor);
}
static heed_status call_gelu_tanh(void) {
  return heed_gelu_tanh(calls_tokens(calls_a), calls_tokens(calls_b), calls_results(), &calls_executor);
}
static heed_status call_silu(void) {
  return heed_silu(calls_tokens(calls_a), calls_tokens(calls_b), calls_results(), &calls_executor);
}
static heed_status call_relu(void) {
  return heed_relu(calls_tokens(calls_a), calls_tokens(calls_b), calls_results(), &calls_executor);
}
static heed_status call_add(void) {
  return heed_add(calls_tokens(calls_a), calls_tokens(calls_b), calls_results(), &calls_executor);
}
static heed_status call_rope_of(int32_t style) {
  heed_rope rope;
  heed_status status = heed_rope_init(&rope, style);
  if (status == HEED_OK)
    status = heed_rope_apply(&rope, heed_token_major(calls_a, 100, 10, calls_dim), 100, 10, calls_dim, 7, NULL,
                             heed_token_major_out(calls_out, 100, 10, calls_dim), &calls_executor);
  return status;
}
static heed_status call_rope(void) { return call_rope_of(HEED_ROPE_INTERLEAVED); }
static heed_status call_rope_halves(void) { return call_rope_of(HEED_ROPE_HALVES); }
static heed_status call_layer_of(int32_t rows, int32_t model_dim, int32_t n_heads, int32_t n_kv_heads, int32_t head_dim,
                                 const float *wo, const heed_options *options) {
  const int32_t out_dim = n_heads * head_dim;
  const heed_layer layer = {sizeof(heed_layer),
                            model_dim,
                            n_heads,
                            n_kv_heads,
                            head_dim,
                            head_dim,
                            out_dim,
                            0,
                            1,
                            calls_b,
                            calls_b,
                            calls_b,
                            wo,
                            NULL,
                            NULL,
                            NULL,
                            wo,
                            options};
  return heed_layer_run(&layer, heed_matrix_of(calls_a, rows, model_dim), heed_matrix_out_of(calls_out, rows, out_dim),
                        calls_c, sizeof calls_c / sizeof *calls_c, calls_workspace, sizeof calls_workspace,
                        &calls_executor);
}
static heed_status call_layer(void) { return call_layer_of(calls_rows, calls_dim, 2, 1, 35, calls_b, NULL); }
static heed_status call_layer_colliding(void) { return call_layer_of(32, 100, 8, 8, 64, NULL, NULL); }
static heed_status call_sequence(void) {
  HEED_SEQUENCE(words, 8, 4);
  HEED_SEQUENCE(context, 8, 4);
  heed_status status = heed_sequence_clear(&words);
  if (status == HEED_OK) status = heed_sequence_init(&context, calls_out, 8, 4);
  if (status == HEED_OK) status = heed_sequence_append(&words, heed_matrix_of(calls_a, 8, 4));
  if (status == HEED_OK)
    status = heed_sequence_self_attention(&words, 0, &context, calls_workspace, sizeof calls_workspace);
  return status;
}

/* All options at once, or those that go with a partial result. Numbers for 2 heads at most. */
static struct {
  heed_ranges ranges;
  heed_mask mask;
  heed_softcap softcap;
  heed_alibi alibi;
  heed_sinks sinks;
  heed_scores scores;
  heed_lse lse;
  heed_column_sums column_sums;
  heed_top_k top_k;
  heed_partial total, part;
  heed_options options;
} calls_set;
static const float calls_of_heads[2] = {0.25f, -0.125f};
static float calls_lse[2 * calls_rows], calls_sums[2 * calls_keys], calls_top[2 * calls_rows * 4];
static int32_t calls_top_keys[2 * calls_rows * 4];
CALLS_MEMORY static float calls_scores[2 * calls_rows * calls_keys];

/* After the first that fails, the rest still run; their statuses are not of interest. */
static void calls_note(heed_status *status, heed_status next) {
  if (*status == HEED_OK) *status = next;
}
static heed_status calls_make_scores(int32_t n_heads, int32_t n_q, int32_t n_kv, int boolean) {
  heed_status status = heed_ranges_init(&calls_set.ranges);
  calls_set.ranges.left_window = n_kv - 1;
  calls_note(&status, boolean ? heed_mask_init_boolean(&calls_set.mask, (const uint8_t *)calls_a, n_kv, 0, 0, n_kv)
                              : heed_mask_init_additive(&calls_set.mask, calls_b, n_kv, 0, 0, n_kv));
  calls_note(&status, heed_softcap_init(&calls_set.softcap, 20));
  calls_note(&status, heed_alibi_init(&calls_set.alibi, calls_of_heads));
  calls_note(&status, heed_scores_init(&calls_set.scores, HEED_SCORES_BIASED,
                                       heed_head_major_out(calls_scores, n_q, n_heads, n_kv)));
  const heed_options options = HEED_OPTIONS;
  calls_set.options = options;
  calls_set.options.ranges = &calls_set.ranges;
  calls_set.options.mask = &calls_set.mask;
  calls_set.options.softcap = &calls_set.softcap;
  calls_set.options.alibi = &calls_set.alibi;
  calls_set.options.scores = &calls_set.scores;
  return status;
}
static heed_status calls_make_options(int32_t n_heads, int32_t n_q, int32_t n_kv, int boolean) {
  heed_status status = calls_make_scores(n_heads, n_q, n_kv, boolean);
  calls_note(&status, heed_sinks_init(&calls_set.sinks, boolean ? NULL : calls_of_heads));
  calls_note(&status, heed_lse_init(&calls_set.lse, heed_head_major_out(calls_lse, n_q, n_heads, 1)));
  calls_note(&status, heed_column_sums_init(&calls_set.column_sums, heed_head_major_out(calls_sums, 1, n_heads, n_kv)));
  calls_note(&status, heed_top_k_init(&calls_set.top_k, 4, calls_top, calls_top_keys));
  calls_set.options.sinks = &calls_set.sinks;
  calls_set.options.lse = &calls_set.lse;
  calls_set.options.column_sums = &calls_set.column_sums;
  calls_set.options.top_k = &calls_set.top_k;
  return status;
}
static heed_status call_with_options(int32_t n_q, int32_t n_kv, int32_t dim, int boolean, size_t workspace_bytes) {
  heed_attention call =
      heed_attention_of(n_q, n_kv, 2, 1, dim, calls_a, calls_b, calls_c, calls_out, calls_workspace, workspace_bytes);
  heed_status status = calls_make_options(2, n_q, n_kv, boolean);
  call.causal = 1;
  call.causal_offset = n_kv - n_q;
  call.options = &calls_set.options;
  call.executor = boolean ? NULL : &calls_executor;
  calls_note(&status, heed_attention_run(&call));
  calls_set.scores.stage = HEED_SCORES_WEIGHTS;
  calls_note(&status, heed_attention_run(&call));
  return status;
}
static heed_status call_options(void) {
  return call_with_options(calls_rows, calls_keys, calls_dim / 2, 0, sizeof calls_workspace);
}
static heed_status call_options_boolean(void) {
  return call_with_options(calls_rows, calls_keys, calls_dim / 2, 1, sizeof calls_workspace);
}
static heed_status call_options_one_query(void) {
  return call_with_options(1, calls_keys, calls_dim, 0, sizeof calls_workspace);
}
static heed_status call_options_smallest_workspace(void) {
  return call_with_options(3, calls_keys, calls_dim, 1, HEED_WORKSPACE_MIN_BYTES(calls_dim, calls_dim));
}
static heed_status call_options_wide(void) { return call_with_options(20, 20, calls_wide, 0, sizeof calls_workspace); }
static heed_status call_options_refused(void) {
  heed_attention call =
      heed_attention_of(2, 9, 2, 1, 8, calls_a, calls_b, calls_c, calls_out, calls_workspace, sizeof calls_workspace);
  heed_status status = calls_make_options(2, 2, 9, 0);
  call.options = &calls_set.options;
  calls_set.top_k.k = 10;
  calls_note(&status, heed_attention_run(&call) == HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_TOP_K) ? HEED_OK : -1);
  return status;
}
/* Keys first to end - 1 of 1100, added to a partial. */
static heed_status calls_add_keys(heed_partial *partial, int32_t first, int32_t end) {
  heed_attention call =
      heed_attention_of(calls_rows, end - first, 2, 1, calls_dim / 2, calls_a, calls_b + first * (calls_dim / 2),
                        calls_c + first * (calls_dim / 2), NULL, calls_workspace, sizeof calls_workspace);
  calls_set.options.partial = partial;
  call.options = &calls_set.options;
  call.executor = &calls_executor;
  return heed_attention_run(&call);
}
static heed_status call_partial(void) {
  enum { v_dim = calls_dim / 2, n_floats = HEED_PARTIAL_FLOATS(1, 2, calls_rows, v_dim) };
  static float of_total[n_floats], of_part[n_floats];
  heed_status status = calls_make_scores(2, calls_rows, 1024, 0);
  calls_note(&status, heed_sinks_init(&calls_set.sinks, calls_of_heads));
  calls_note(&status, heed_lse_init(&calls_set.lse, heed_head_major_out(calls_lse, calls_rows, 2, 1)));
  calls_note(&status, heed_partial_init(&calls_set.total, of_total, n_floats, 1, 2, calls_rows, v_dim, 0));
  calls_note(&status, heed_partial_init(&calls_set.part, of_part, n_floats, 1, 2, calls_rows, v_dim, 1024));
  calls_note(&status, calls_add_keys(&calls_set.total, 0, 1024));
  calls_note(&status, calls_add_keys(&calls_set.part, 1024, calls_keys));
  calls_note(&status, heed_partial_merge(&calls_set.total, &calls_set.part));
  calls_note(&status, heed_partial_finish(&calls_set.total, &calls_set.sinks,
                                          heed_token_major_out(calls_out, calls_rows, 2, v_dim), &calls_set.lse));
  return status;
}
static heed_status call_layer_options(void) {
  heed_status status = calls_make_options(2, calls_rows, calls_rows, 0);
  calls_note(&status, call_layer_of(calls_rows, calls_dim, 2, 1, 35, calls_b, &calls_set.options));
  return status;
}
static heed_status call_sequence_options(void) {
  heed_sequence words = {sizeof words, 8, 4, 8, calls_a}, context = {sizeof context, 8, 4, 0, calls_out};
  heed_status status = calls_make_options(1, 8, 8, 1);
  calls_note(&status, heed_sequence_attention(&words, 0, 1, &calls_set.options, &context, calls_workspace,
                                              sizeof calls_workspace));
  return status;
}

/* Queries, keys and values as int8, all with scales, and a result in f16. */
static heed_status call_narrow_of(int32_t n_q, int32_t n_kv, int32_t n_kv_heads, int32_t dim, size_t workspace_bytes,
                                  int all) {
  CALLS_MEMORY static int8_t narrow_q[2 * calls_rows * calls_wide], narrow_k[calls_keys * calls_dim];
  static float scales[2][calls_keys];
  CALLS_MEMORY static uint16_t narrow_out[2 * calls_rows * calls_wide];
  static heed_narrow_tensors narrow;
  static heed_options options;
  static const heed_options none = HEED_OPTIONS;
  heed_attention call =
      heed_attention_of(n_q, n_kv, 2, n_kv_heads, dim, NULL, NULL, NULL, NULL, calls_workspace, workspace_bytes);
  heed_status status = heed_narrow_tensors_init(&narrow);
  calls_note(&status, heed_narrow(heed_matrix_of(calls_a, 2 * n_q, dim), HEED_INT8, narrow_q, dim, scales[0]));
  calls_note(&status,
             heed_narrow(heed_matrix_of(calls_b, n_kv * n_kv_heads, dim), HEED_INT8, narrow_k, dim, scales[1]));
  narrow.q = heed_narrow_token_major(narrow_q, HEED_INT8, scales[0], n_q, 2, dim);
  narrow.k = narrow.v = heed_narrow_token_major(narrow_k, HEED_INT8, scales[1], n_kv, n_kv_heads, dim);
  narrow.out = heed_narrow_token_major_out(narrow_out, HEED_F16, n_q, 2, dim);
  if (all) calls_note(&status, calls_make_options(2, n_q, n_kv, 0));
  options = all ? calls_set.options : none;
  options.narrow = &narrow;
  call.options = &options;
  call.executor = &calls_executor;
  calls_note(&status, heed_attention_run(&call));
  return status;
}
static heed_status call_narrow(void) {
  return call_narrow_of(calls_rows, calls_keys, 1, calls_dim, sizeof calls_workspace, 0);
}
static heed_status call_narrow_one_query(void) {
  return call_narrow_of(1, calls_keys, 1, calls_dim, sizeof calls_workspace, 0);
}
static heed_status call_narrow_smallest_workspace(void) {
  return call_narrow_of(3, calls_keys, 1, calls_dim, HEED_WORKSPACE_MIN_BYTES(calls_dim, calls_dim), 0);
}
/* Chunks as tasks, then tiles: keys of two heads. */
static heed_status call_narrow_options(void) {
  const heed_status status = call_narrow_of(calls_rows, calls_keys, 1, calls_dim, sizeof calls_workspace, 1);
  return status == HEED_OK ? call_narrow_of(calls_rows, calls_keys / 2, 2, calls_dim, sizeof calls_workspace, 1)
                           : status;
}
static heed_status call_narrow_wide(void) { return call_narrow_of(20, 20, 1, calls_wide, sizeof calls_workspace, 0); }

#include "cache_calls.h"

static heed_status call_selftest(void) { return heed_selftest(calls_buffer, sizeof calls_buffer, NULL); }
static heed_status call_selftest_boot(void) { return heed_selftest_boot(calls_buffer, HEED_SELFTEST_BOOT_BYTES, NULL); }
static heed_status call_selftest_features(void) {
  return heed_selftest_features(calls_buffer, HEED_SELFTEST_FEATURES_BYTES, NULL);
}
static heed_status call_questions(void) {
  const char *name = heed_kernel_current();
  heed_status status = heed_kernel_use("no such kernel") == HEED_STATUS(HEED_UNKNOWN_KERNEL, HEED_ARG_KERNEL)
                           ? heed_kernel_use(name)
                           : -1;
  if (!heed_status_text(status) || !heed_status_argument(status) || !heed_version() || !heed_kernel_name(0) ||
      heed_kernel_profile(name) < 0 || !heed_workspace_bytes(8, 8) || !heed_workspace_min_bytes(8, 8))
    status = -1;
  return status;
}

static const struct {
  const char *name;
  heed_status (*run)(void);
} all_calls[] = {{"attention, plain", call_plain},
                 {"attention, prefill", call_prefill},
                 {"attention, one query", call_one_query},
                 {"attention, smallest workspace", call_smallest_workspace},
                 {"attention, wide rows", call_wide},
                 {"attention, refused", call_refused},
                 {"self-attention", call_self_attention},
                 {"softmax", call_softmax},
                 {"linear", call_linear},
                 {"linear, colliding rows", call_linear_colliding},
                 {"project, in to out", call_project_in_out},
                 {"project, out to in", call_project_out_in},
                 {"formats", call_formats},
                 {"weighted sum", call_weighted_sum},
                 {"dot", call_dot},
                 {"layer", call_layer},
                 {"layer, colliding rows", call_layer_colliding},
                 {"sequence", call_sequence},
                 {"options, prefill", call_options},
                 {"options, boolean mask", call_options_boolean},
                 {"options, one query", call_options_one_query},
                 {"options, smallest workspace", call_options_smallest_workspace},
                 {"options, wide rows", call_options_wide},
                 {"options, refused", call_options_refused},
                 {"options, partial results", call_partial},
                 {"options of a layer", call_layer_options},
                 {"options of a sequence", call_sequence_options},
                 {"narrow, prefill", call_narrow},
                 {"narrow, one query", call_narrow_one_query},
                 {"narrow, smallest workspace", call_narrow_smallest_workspace},
                 {"narrow, wide rows", call_narrow_wide},
                 {"narrow, options", call_narrow_options},
                 {"rms_norm", call_rms_norm},
                 {"layer_norm", call_layer_norm},
                 {"gelu", call_gelu},
                 {"gelu, tanh", call_gelu_tanh},
                 {"silu", call_silu},
                 {"relu", call_relu},
                 {"sum of rows", call_add},
                 {"rotary embedding", call_rope},
                 {"rotary embedding, halves", call_rope_halves},
                 {"cache, linear", call_cache_linear},
                 {"cache, ring", call_cache_ring},
                 {"decoder layer", call_decoder},
                 {"decoder layer, options", call_decoder_options},
                 {"encoder layer", call_encoder},
                 {"self-test", call_selftest},
                 {"self-test at start-up", call_selftest_boot},
                 {"self-test of features", call_selftest_features},
                 {"kernels and texts", call_questions}};
enum { n_all_calls = sizeof all_calls / sizeof *all_calls };

#endif
