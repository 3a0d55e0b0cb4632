/* The part of all_calls.h that has options and narrow tensors. Included there. C99. SPDX-License-Identifier: MIT */
#ifndef HEED_TESTS_SUPPORT_OPTION_CALLS_H
#define HEED_TESTS_SUPPORT_OPTION_CALLS_H

/* All options at once, or those that go with a partial result. Numbers for 2 heads at most. */
static struct {
  heed_ranges ranges;
  heed_mask mask;
  heed_softcap softcap;
  heed_alibi alibi;
  heed_sinks sinks;
  heed_scores scores;
  heed_attention_weights weights;
  heed_lse lse;
  heed_column_sums column_sums;
  heed_topk_weights topk_weights;
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
  calls_set.options = heed_options_default();
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
  calls_note(&status,
             heed_attention_weights_init(&calls_set.weights, heed_head_major_out(calls_weights, n_q, n_heads, n_kv)));
  calls_note(&status, heed_lse_init(&calls_set.lse, heed_head_major_out(calls_lse, n_q, n_heads, 1)));
  calls_note(&status, heed_column_sums_init(&calls_set.column_sums, heed_head_major_out(calls_sums, 1, n_heads, n_kv)));
  calls_note(&status, heed_topk_weights_init(&calls_set.topk_weights, 4, calls_top, calls_top_keys));
  calls_set.options.sinks = &calls_set.sinks;
  calls_set.options.weights = &calls_set.weights;
  calls_set.options.lse = &calls_set.lse;
  calls_set.options.column_sums = &calls_set.column_sums;
  calls_set.options.topk_weights = &calls_set.topk_weights;
  return status;
}
static heed_status call_with_options(int32_t n_q, int32_t n_kv, int32_t dim, int boolean, size_t workspace_bytes) {
  heed_attention call = heed_attention_of(calls_a, calls_b, calls_c, n_q, n_kv, 2, 1, dim, calls_out,
                                          heed_memory_of(calls_workspace, workspace_bytes));
  heed_status status = calls_make_options(2, n_q, n_kv, boolean);
  call.causal = 1;
  call.position = n_kv - n_q;
  call.options = &calls_set.options;
  call.executor = boolean ? NULL : &calls_executor;
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
  heed_attention call = heed_attention_of(calls_a, calls_b, calls_c, 2, 9, 2, 1, 8, calls_out, calls_memory);
  heed_status status = calls_make_options(2, 2, 9, 0);
  call.options = &calls_set.options;
  calls_set.topk_weights.k = 10;
  calls_note(&status,
             heed_attention_run(&call) == HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_TOPK_WEIGHTS) ? HEED_OK : -1);
  return status;
}
/* Keys first to end - 1 of 1100, added to a partial. */
static heed_status calls_add_keys(heed_partial *partial, int32_t first, int32_t end) {
  heed_attention call = heed_attention_of(calls_a, calls_b + first * (calls_dim / 2), calls_c + first * (calls_dim / 2),
                                          calls_rows, end - first, 2, 1, calls_dim / 2, NULL, calls_memory);
  calls_set.options.partial = partial;
  call.options = &calls_set.options;
  call.executor = &calls_executor;
  return heed_attention_run(&call);
}
static heed_status call_partial(void) {
  enum { v_dim = calls_dim / 2 };
  HEED_MEMORY(of_total, HEED_PARTIAL_BYTES(1, 2, calls_rows, v_dim));
  HEED_MEMORY(of_part, HEED_PARTIAL_BYTES(1, 2, calls_rows, v_dim));
  heed_status status = calls_make_scores(2, calls_rows, 1024, 0);
  calls_note(&status, heed_sinks_init(&calls_set.sinks, calls_of_heads));
  calls_note(&status, heed_lse_init(&calls_set.lse, heed_head_major_out(calls_lse, calls_rows, 2, 1)));
  calls_note(&status, heed_partial_init(&calls_set.total, 1, 2, calls_rows, v_dim, 0, of_total));
  calls_note(&status, heed_partial_init(&calls_set.part, 1, 2, calls_rows, v_dim, 1024, of_part));
  calls_note(&status, calls_add_keys(&calls_set.total, 0, 1024));
  calls_note(&status, calls_add_keys(&calls_set.part, 1024, calls_keys));
  calls_note(&status, heed_partial_merge(&calls_set.total, &calls_set.part));
  calls_note(&status, heed_partial_finish(&calls_set.total, &calls_set.sinks,
                                          heed_token_major_out(calls_out, calls_rows, 2, v_dim), &calls_set.lse));
  return status;
}
static heed_status call_layer_options(void) {
  heed_status status = calls_make_options(2, calls_rows, calls_rows, 0);
  heed_attention_layer layer = calls_layer_of(calls_dim, 2, 1, calls_dim / 2, calls_b);
  layer.options = &calls_set.options;
  calls_note(&status, calls_run_layer(&layer, calls_rows));
  return status;
}
static heed_status call_sequence_options(void) {
  heed_sequence words = {sizeof words, 8, 4, 8, calls_a}, context = {sizeof context, 8, 4, 0, calls_out};
  heed_status status = calls_make_options(1, 8, 8, 1);
  calls_note(&status,
             heed_sequence_attention(&words, HEED_SCALE_DEFAULT, 1, &calls_set.options, &context, calls_memory));
  return status;
}

/* Queries, keys and values as int8, all with scales, and a result in f16. */
static heed_status call_narrow_of(int32_t n_q, int32_t n_kv, int32_t n_kv_heads, int32_t dim, size_t workspace_bytes,
                                  int all) {
  CALLS_MEMORY static int8_t narrow_q[2 * calls_rows * calls_wide], narrow_k[calls_keys * calls_dim];
  static float scales[2][calls_keys];
  CALLS_MEMORY static uint16_t narrow_out[2 * calls_rows * calls_wide];
  static heed_typed_tensors narrow;
  static heed_options options;
  heed_attention call = heed_attention_of(NULL, NULL, NULL, n_q, n_kv, 2, n_kv_heads, dim, NULL,
                                          heed_memory_of(calls_workspace, workspace_bytes));
  heed_status status = heed_typed_tensors_init(&narrow);
  calls_note(&status, heed_convert_from_f32(heed_matrix_of(calls_a, 2 * n_q, dim),
                                            heed_typed_matrix_out_of(narrow_q, scales[0], HEED_INT8, 2 * n_q, dim)));
  calls_note(&status,
             heed_convert_from_f32(heed_matrix_of(calls_b, n_kv * n_kv_heads, dim),
                                   heed_typed_matrix_out_of(narrow_k, scales[1], HEED_INT8, n_kv * n_kv_heads, dim)));
  narrow.q = heed_typed_token_major(narrow_q, scales[0], HEED_INT8, n_q, 2, dim);
  narrow.k = narrow.v = heed_typed_token_major(narrow_k, scales[1], HEED_INT8, n_kv, n_kv_heads, dim);
  narrow.out = heed_typed_token_major_out(narrow_out, HEED_F16, n_q, 2, dim);
  if (all) calls_note(&status, calls_make_options(2, n_q, n_kv, 0));
  options = all ? calls_set.options : heed_options_default();
  options.typed = &narrow;
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

#endif
