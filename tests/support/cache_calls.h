/* The part of all_calls.h that has caches and transformer layers. Included there. C99. SPDX-License-Identifier: MIT */
#ifndef HEED_TESTS_SUPPORT_CACHE_CALLS_H
#define HEED_TESTS_SUPPORT_CACHE_CALLS_H

enum {
  calls_head_dim = 70, /* of a cache of two heads */
  calls_slots = 256,
  calls_cache_bytes = HEED_CACHE_BYTES(calls_slots, 1, 2, calls_head_dim, calls_head_dim, HEED_F32)
};
CALLS_MEMORY HEED_ALIGNED static unsigned char calls_cache_buffer[calls_cache_bytes];
static const heed_memory calls_cache_memory = {calls_cache_buffer, sizeof calls_cache_buffer};
static heed_cache calls_cache;
static heed_cache_shape calls_shape;
static heed_rope calls_rope;

/* A linear cache, or a ring with pinned tokens. */
static heed_status calls_make_cache(int32_t kind, int32_t dtype, int32_t capacity, int32_t head_dim) {
  heed_status status = heed_rope_init(&calls_rope, kind == HEED_CACHE_RING ? HEED_ROPE_HALVES : HEED_ROPE_INTERLEAVED);
  calls_shape = heed_cache_shape_default(capacity, 2, head_dim);
  calls_shape.kind = kind;
  calls_shape.dtype = dtype;
  calls_shape.pinned = kind == HEED_CACHE_RING ? 3 : 0;
  calls_shape.spare = kind == HEED_CACHE_RING ? calls_rows - 1 : 0;
  calls_note(&status, heed_cache_init(&calls_cache, &calls_shape, calls_cache_memory));
  return status;
}
static heed_status calls_append(int32_t n) {
  return heed_cache_append(&calls_cache, 0, heed_token_major(calls_b, n, 2, calls_shape.head_dim),
                           heed_token_major(calls_c, n, 2, calls_shape.head_dim), n, &calls_rope);
}
/* The last n_q queries of the cache's sequence; with all options or none. */
static heed_status calls_attend(int32_t n_q, size_t workspace_bytes, int all) {
  heed_attention call = heed_attention_of_cache(&calls_cache, calls_a, n_q, 2, calls_out,
                                                heed_memory_of(calls_workspace, workspace_bytes));
  const heed_status status = all ? calls_make_options(2, n_q, call.n_kv, 1) : HEED_OK;
  if (all) call.options = &calls_set.options;
  call.executor = &calls_executor;
  return status == HEED_OK ? heed_attention_run(&call) : status;
}
static heed_status call_cache_of(int32_t kind) {
  heed_status status = HEED_OK;
  for (int32_t dtype = HEED_F32; dtype <= HEED_INT8; dtype++) {
    calls_note(&status, calls_make_cache(kind, dtype, 120, calls_head_dim));
    for (int piece = 0; piece < 3; piece++) calls_note(&status, calls_append(calls_rows));
    if (kind == HEED_CACHE_RING) calls_note(&status, calls_append(calls_rows));
    calls_note(&status, calls_attend(1, sizeof calls_workspace, 0));
    calls_note(&status, calls_attend(calls_rows, sizeof calls_workspace, 0));
    calls_note(&status, calls_attend(calls_rows, sizeof calls_workspace, 1));
    calls_note(&status, calls_attend(1, sizeof calls_workspace, 1));
    calls_note(&status, calls_attend(3, HEED_WORKSPACE_MIN_BYTES(calls_head_dim, calls_head_dim), 0));
    calls_note(&status, heed_cache_truncate(&calls_cache, 0, heed_cache_length(&calls_cache, 0) - 1));
    calls_note(&status, heed_cache_save(&calls_cache));
    calls_note(&status, heed_cache_load(&calls_cache, &calls_shape, calls_cache_memory));
    calls_note(&status, heed_cache_reset(&calls_cache));
  }
  return status;
}
static heed_status call_cache_linear(void) { return call_cache_of(HEED_CACHE_LINEAR); }
static heed_status call_cache_ring(void) { return call_cache_of(HEED_CACHE_RING); }
/* Two kinds of what a layer may be: all weights share calls_b, or int8 numbers made of it. */
static heed_attention_layer calls_block_attention;
static heed_transformer_layer calls_block;
static void calls_make_block(int32_t head_dim, int32_t dtype, int32_t layout, heed_norm *norm,
                             heed_activation *activation) {
  static int8_t numbers[4 * calls_dim * calls_dim];
  static float scales[4 * calls_dim];
  const int32_t dim = 2 * head_dim, hidden = 2 * dim;
  const void *data = dtype == HEED_INT8 ? (const void *)numbers : calls_b;
  for (int i = 0; i < 4 * calls_dim; i++) scales[i] = 0.01f;
  for (int i = 0; i < 4 * calls_dim * calls_dim; i++) numbers[i] = (int8_t)(i * 7 % 255 - 127);
  calls_block_attention = heed_attention_layer_default(dim, 2);
  calls_block_attention.wq = calls_block_attention.wk = calls_block_attention.wv = calls_block_attention.wo =
      heed_weights_of(data, scales, dtype, layout, dim, dim);
  calls_block = heed_transformer_layer_default(&calls_block_attention, hidden, norm, activation);
  calls_block.w_up = heed_weights_of(data, scales, dtype, layout, dim, hidden);
  calls_block.w_down = heed_weights_of(data, scales, dtype, layout, hidden, dim);
}
static void calls_make_decoder(void) {
  calls_block_attention.causal = 1;
  calls_block_attention.rope = &calls_rope;
  calls_block_attention.cache = &calls_cache;
  calls_block.norm_first = 1;
}
static heed_status calls_run_block(int32_t n, const heed_executor *executor) {
  const int32_t dim = calls_block_attention.model_dim;
  return heed_transformer_layer_run(&calls_block, heed_matrix_of(calls_a, n, dim), heed_matrix_out_of(calls_a, n, dim),
                                    heed_memory_of(calls_out, sizeof calls_out), executor);
}
/* The simplest decoder layer: one row, f32, a linear cache and rope. */
static heed_status call_decoder(void) {
  heed_status status = calls_make_cache(HEED_CACHE_LINEAR, HEED_F32, 16, 8);
  calls_make_block(8, HEED_F32, HEED_OUT_IN, heed_rms_norm, heed_silu);
  calls_make_decoder();
  calls_block.w_gate = calls_block.w_up;
  for (int token = 0; token < 2; token++) calls_note(&status, calls_run_block(1, NULL));
  return status;
}
/* Many rows, int8 weights, a ring of int8 and every option; after that one row. */
static heed_status call_decoder_options(void) {
  const int32_t n = calls_rows / 2, dim = calls_dim / 4 * 2;
  heed_status status = calls_make_cache(HEED_CACHE_RING, HEED_INT8, 2 * n, dim);
  calls_note(&status, calls_make_options(2, n, 2 * n, 0));
  calls_make_block(dim, HEED_INT8, HEED_IN_OUT, heed_layer_norm, heed_gelu);
  calls_make_decoder();
  calls_block_attention.options = &calls_set.options;
  calls_note(&status, calls_run_block(n, &calls_executor));
  calls_note(&status, calls_run_block(1, &calls_executor));
  return status;
}
static heed_status call_encoder(void) {
  calls_make_block(calls_dim / 4 * 2, HEED_F32, HEED_IN_OUT, heed_layer_norm, heed_gelu_tanh);
  return calls_run_block(calls_rows, &calls_executor);
}

#endif
