/* Every function of the library once, on the kernel in use: for the tests that watch a call from outside (its
 * allocations, its stack). C99. SPDX-License-Identifier: MIT */
#ifndef HEED_TESTS_SUPPORT_ALL_CALLS_H
#define HEED_TESTS_SUPPORT_ALL_CALLS_H

#include "heed/heed.h"
#include "heed/integers.h"

#ifndef CALLS_ON_BOARD
enum { calls_rows = 40, calls_keys = 1100, calls_dim = 70, calls_wide = 700, calls_floats = calls_keys * calls_dim };
#define CALLS_MEMORY
#else /* the same kinds of calls in less time; what is large lies in external memory */
enum { calls_rows = 20, calls_keys = 1100, calls_dim = 20, calls_wide = 700, calls_floats = 66000 };
#define CALLS_MEMORY __attribute__((section(".external")))
#endif

CALLS_MEMORY HEED_ALIGNED static float calls_a[calls_floats], calls_b[calls_floats], calls_c[calls_floats],
    calls_out[calls_floats];
CALLS_MEMORY static float calls_weights[2 * calls_rows * calls_keys];
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
static const heed_memory calls_memory = {calls_workspace, sizeof calls_workspace};

static heed_status call_attention(int32_t n_q, int32_t n_kv, int32_t dim, int causal, size_t workspace_bytes) {
  heed_attention call = heed_attention_of(calls_a, calls_b, calls_c, n_q, n_kv, 1, 1, dim, calls_out,
                                          heed_memory_of(calls_workspace, workspace_bytes));
  heed_attention_weights weights;
  heed_options options = heed_options_default();
  const heed_status status = heed_attention_weights_init(&weights, heed_head_major_out(calls_weights, n_q, 1, n_kv));
  options.weights = &weights;
  call.causal = causal;
  call.position = n_kv - n_q;
  call.options = &options;
  call.executor = causal ? &calls_executor : NULL;
  return status == HEED_OK ? heed_attention_run(&call) : status;
}
static heed_status call_prefill(void) {
  return call_attention(calls_rows, calls_keys, calls_dim, 1, sizeof calls_workspace);
}
static heed_status call_one_query(void) { return call_attention(1, calls_keys, calls_dim, 0, sizeof calls_workspace); }
/* Neither options nor executor. */
static heed_status call_plain(void) {
  heed_attention call = heed_attention_of(calls_a, calls_b, calls_c, calls_rows, calls_keys, 2, 1, calls_dim / 2,
                                          calls_out, calls_memory);
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
  return heed_self_attention(heed_matrix_of(calls_a, calls_rows, calls_dim), HEED_SCALE_DEFAULT,
                             heed_matrix_out_of(calls_out, calls_rows, calls_dim), calls_memory);
}
static heed_status call_softmax(void) {
  return heed_softmax(heed_matrix_of(calls_a, calls_dim, calls_keys), 1,
                      heed_matrix_out_of(calls_out, calls_dim, calls_keys), &calls_executor);
}
static heed_status call_linear(void) {
  return heed_linear(heed_matrix_of(calls_a, calls_keys, calls_dim),
                     heed_weights_of_matrix(heed_matrix_of(calls_b, calls_dim, calls_dim)), calls_c,
                     heed_matrix_out_of(calls_out, calls_keys, calls_dim), &calls_executor);
}
/* Rows of w that are 2 KB apart: panels of it are copied to the stack. */
static heed_status call_linear_colliding(void) {
  return heed_linear(heed_matrix_of(calls_a, 64, 100), heed_weights_of_matrix(heed_matrix_of(calls_b, 100, 512)),
                     calls_c, heed_matrix_out_of(calls_out, 64, 512), NULL);
}
/* Every format and layout, of one row, of few and of many; conversions of these weights. */
static heed_status call_project_of(int32_t rows, int32_t layout) {
  for (int32_t dtype = HEED_F32; dtype <= HEED_INT8; dtype++) {
    const heed_weights w = heed_weights_of(calls_b, calls_a, dtype, layout, 100, 117);
    heed_status status = heed_convert_from_f32(heed_matrix_of(calls_c, 117, 100),
                                               heed_typed_matrix_out_of(calls_b, calls_out, dtype, 117, 100));
    if (status == HEED_OK)
      status = heed_linear(heed_matrix_of(calls_a, rows, 100), w, NULL, heed_matrix_out_of(calls_out, rows, 117),
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
/* Packed weights of every format, of one row, of few and of many; blocks. */
static heed_status call_project_packed(void) {
  for (int32_t dtype = HEED_F32; dtype <= HEED_Q4_0; dtype++) {
    const heed_memory packed = heed_memory_of(calls_buffer, sizeof calls_buffer);
    heed_weights w = heed_weights_of(calls_b, NULL, HEED_F32, dtype % 2 ? HEED_OUT_IN : HEED_IN_OUT, 96, 117);
    heed_status status = heed_weights_pack(w, dtype, packed);
    if (status == HEED_OK) status = heed_weights_add_checksum(packed);
    if (status == HEED_OK) status = heed_weights_open(&w, packed.data, packed.bytes);
    if (status == HEED_OK) status = heed_weights_check(w);
    for (int32_t i = 0; i < 2; i++) {
      for (int32_t rows = 1; status == HEED_OK && rows <= 40; rows += rows == 1 ? 4 : 35)
        status = heed_linear(heed_matrix_of(calls_a, rows, 96), w, calls_c, heed_matrix_out_of(calls_out, rows, 117),
                             &calls_executor);
      if (dtype < HEED_Q8_0) break;
      w = heed_weights_of_blocks(packed.data, dtype, 96, 117);
    }
    if (status != HEED_OK) return status;
  }
  return HEED_OK;
}
/* Rows of floats that are quantised on their way, of one row and of many. */
static heed_status call_project_in_integers(void) {
  for (int32_t dtype = HEED_INT8; dtype <= HEED_Q4_0; dtype++) {
    const heed_memory packed = heed_memory_of(calls_buffer, sizeof calls_buffer);
    heed_weights w = heed_weights_of(calls_b, NULL, HEED_F32, HEED_OUT_IN, 100, 117);
    heed_status status = heed_weights_pack(w, dtype, packed);
    if (status == HEED_OK) status = heed_weights_open(&w, packed.data, packed.bytes);
    if (status == HEED_OK) status = heed_weights_in_integers(&w, w);
    for (int32_t rows = 1; status == HEED_OK && rows <= 40; rows += 39)
      status = heed_linear(heed_matrix_of(calls_a, rows, 100), w, calls_c, heed_matrix_out_of(calls_out, rows, 117),
                           &calls_executor);
    if (status != HEED_OK) return status;
  }
  return HEED_OK;
}
/* Any bytes are weights and rows. */
static heed_status call_int_project(void) {
  static heed_multiplier by[117];
  for (int32_t o = 0; o < 117; o++) by[o] = heed_multiplier_of(0x1p-11f);
  for (int32_t layout = HEED_IN_OUT; layout <= HEED_OUT_IN; layout++)
    for (int32_t rows = 1; rows <= 40; rows += 39) {
      const heed_status status =
          heed_int_linear(heed_int_matrix_of(calls_a, HEED_INT8, rows, 100, 3),
                          heed_weights_of(calls_b, NULL, HEED_INT8, layout, 100, 117), NULL, by,
                          heed_int_matrix_out_of(calls_out, HEED_INT16, rows, 117, 5), &calls_executor);
      if (status != HEED_OK) return status;
    }
  return HEED_OK;
}
static heed_status call_formats(void) {
  const heed_status status =
      heed_weights_quantize(heed_matrix_of(calls_c, 30, 40), HEED_IN_OUT, (int8_t *)(void *)calls_out, calls_weights);
  return status == HEED_OK ? heed_convert_to_f32(heed_typed_matrix_of(calls_c, NULL, HEED_BF16, 30, 40),
                                                 heed_matrix_out_of(calls_out, 30, 40))
                           : status;
}
static heed_status call_gather(void) {
  static const int32_t rows[3] = {5, 39, 5};
  const heed_status status =
      heed_gather_rows(heed_weights_of_blocks(calls_c, HEED_Q4_0, 64, 40), rows, heed_matrix_out_of(calls_out, 3, 64));
  return status == HEED_OK ? heed_gather_rows(heed_weights_of(calls_c, NULL, HEED_F32, HEED_IN_OUT, 64, 40), rows,
                                              heed_matrix_out_of(calls_out, 3, 64))
                           : status;
}
static int32_t calls_chosen[40];
static heed_status call_choose(void) {
  heed_status status = heed_argmax(heed_matrix_of(calls_a, 20, 100), calls_chosen);
  if (status == HEED_OK) status = heed_topk(heed_matrix_of(calls_a, 2, 100), 20, calls_chosen, calls_out);
  return status == HEED_OK ? heed_sample(calls_a, 100, 0.5f, 100, 0.9f, 0.5f, calls_chosen,
                                         heed_memory_of(calls_workspace, HEED_SAMPLE_BYTES(100)))
                           : status;
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
static heed_status call_tanh(void) {
  return heed_tanh(calls_tokens(calls_a), calls_tokens(calls_b), calls_results(), &calls_executor);
}
static heed_status call_sigmoid(void) {
  return heed_sigmoid(calls_tokens(calls_a), calls_tokens(calls_b), calls_results(), &calls_executor);
}
static heed_status call_group_norm(void) {
  const heed_status status =
      heed_group_norm(calls_tokens(calls_a), calls_b, calls_c, 1, 1e-5f, calls_results(), &calls_executor);
  return status == HEED_OK ? heed_group_norm(calls_tokens(calls_a), NULL, NULL, calls_dim, 1e-5f, calls_results(), NULL)
                           : status;
}
static heed_status call_mean_rows(void) { return heed_mean_rows(calls_tokens(calls_a), calls_out, &calls_executor); }
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
/* All weights are calls_b; without wo there is no bias either. */
static heed_attention_layer calls_layer_of(int32_t model_dim, int32_t n_heads, int32_t n_kv_heads, int32_t head_dim,
                                           const float *wo) {
  const int32_t width = n_heads * head_dim, kv_width = n_kv_heads * head_dim;
  heed_attention_layer layer = heed_attention_layer_default(model_dim, n_heads);
  layer.n_kv_heads = n_kv_heads;
  layer.head_dim = layer.v_dim = head_dim;
  layer.out_dim = width;
  layer.causal = 1;
  layer.wq = heed_weights_of(calls_b, NULL, HEED_F32, HEED_IN_OUT, model_dim, width);
  layer.wk = layer.wv = heed_weights_of(calls_b, NULL, HEED_F32, HEED_IN_OUT, model_dim, kv_width);
  layer.wo = heed_weights_of(wo, NULL, HEED_F32, HEED_IN_OUT, width, width);
  layer.bo = wo;
  return layer;
}
static heed_status calls_run_layer(const heed_attention_layer *layer, int32_t rows) {
  return heed_attention_layer_run(layer, heed_matrix_of(calls_a, rows, layer->model_dim),
                                  heed_matrix_out_of(calls_out, rows, layer->out_dim),
                                  heed_memory_of(calls_c, sizeof calls_c), &calls_executor);
}
static heed_status call_layer(void) {
  const heed_attention_layer layer = calls_layer_of(calls_dim, 2, 1, calls_dim / 2, calls_b);
  return calls_run_layer(&layer, calls_rows);
}
static heed_status call_layer_colliding(void) {
  const heed_attention_layer layer = calls_layer_of(100, 8, 8, 64, NULL);
  return calls_run_layer(&layer, 32);
}
static heed_status call_sequence(void) {
  HEED_SEQUENCE(words, 8, 4);
  HEED_SEQUENCE(context, 8, 4);
  heed_status status = heed_sequence_clear(&words);
  if (status == HEED_OK) status = heed_sequence_init(&context, 8, 4, heed_memory_of(calls_out, sizeof calls_out));
  if (status == HEED_OK) status = heed_sequence_append(&words, heed_matrix_of(calls_a, 8, 4));
  if (status == HEED_OK) status = heed_sequence_push(&words, heed_matrix_of(calls_b, 3, 4));
  if (status == HEED_OK) status = heed_sequence_attention(&words, HEED_SCALE_DEFAULT, 0, NULL, &context, calls_memory);
  return status;
}

/* Attention in integers: a prompt with everything that a call may have, a token over many keys, on threads, in parts. */
static int32_t calls_of_integers[2 * calls_rows];
static heed_int_attention calls_int_attention(int32_t n_q, int32_t n_kv, size_t workspace_bytes) {
  const int8_t *x = (const int8_t *)(const void *)calls_a;
  heed_int_attention call =
      heed_int_attention_of(x, x + 1, x + 2, n_q, n_kv, 2, 1, calls_dim, (int8_t *)(void *)calls_out,
                            heed_memory_of(calls_workspace, workspace_bytes));
  call.score = heed_multiplier_of(0.0002f);
  call.value = heed_multiplier_of(1.5f);
  call.q.zero_point = call.k.zero_point = call.v.zero_point = 3;
  call.causal = 1;
  call.position = n_kv - n_q;
  return call;
}
static heed_status call_int_attention(void) {
  heed_int_attention call = calls_int_attention(calls_rows, calls_keys, sizeof calls_workspace);
  call.left_window = 700;
  call.mask.data = (const uint8_t *)(const void *)calls_b;
  call.lse = calls_of_integers;
  heed_status status = heed_int_attention_run(&call);
  call.lse = NULL;
  call.sinks = calls_of_integers; /* any numbers */
  call.executor = &calls_executor;
  if (status == HEED_OK) status = heed_int_attention_run(&call);
  return status;
}
static heed_status call_int_attention_one_query(void) {
  heed_int_attention call = calls_int_attention(1, calls_keys, sizeof calls_workspace);
  heed_status status = heed_int_attention_run(&call);
  call.executor = &calls_executor;
  if (status == HEED_OK) status = heed_int_attention_run(&call);
  call = calls_int_attention(3, 200, HEED_INT_WORKSPACE_MIN_BYTES(calls_dim, calls_dim));
  return status == HEED_OK ? heed_int_attention_run(&call) : status;
}
static heed_status call_int_cache(void) {
  const int8_t *x = (const int8_t *)(const void *)calls_a;
  const heed_memory memory = heed_memory_of(calls_c, sizeof calls_c);
  const heed_int_tensor rows = heed_int_token_major(x, 60, 1, calls_dim, 0);
  const heed_tensor floats = heed_token_major(calls_a, 20, 1, calls_dim);
  const float scale = 0.01f;
  heed_int_cache cache;
  heed_int_cache_shape shape = heed_int_cache_shape_default(50, 1, calls_dim);
  shape.kind = HEED_CACHE_RING;
  shape.spare = 20;
  heed_status status = heed_int_cache_init(&cache, &shape, memory);
  for (int i = 0; i < 5 && status == HEED_OK; i++) status = heed_int_cache_append(&cache, 0, rows, rows, 60);
  if (status == HEED_OK) status = heed_int_cache_append_f32(&cache, 0, floats, floats, 20, &scale, &scale);
  if (status == HEED_OK) status = heed_int_cache_truncate(&cache, 0, 315);
  heed_int_attention call = heed_int_attention_of_cache(&cache, x, 10, 2, (int8_t *)(void *)calls_out, calls_memory);
  call.score = heed_multiplier_of(0.0002f);
  call.value = heed_multiplier_of(1.5f);
  if (status == HEED_OK) status = heed_int_attention_run(&call);
  if (status == HEED_OK) status = heed_int_cache_save(&cache);
  if (status == HEED_OK) status = heed_int_cache_load(&cache, &shape, memory);
  return status == HEED_OK ? heed_int_cache_reset(&cache) : status;
}
static heed_status call_int_partial(void) {
  heed_int_attention call = calls_int_attention(2, calls_keys, sizeof calls_workspace);
  const size_t bytes = 4 * HEED_INT_PARTIAL_ROW_BYTES(calls_dim);
  const heed_memory one = heed_memory_of(calls_c, bytes), two = heed_memory_of(calls_c + 4096, bytes);
  heed_status status = heed_int_partial_clear(4, calls_dim, one);
  if (status == HEED_OK) status = heed_int_partial_clear(4, calls_dim, two);
  call.partial = two;
  if (status == HEED_OK) status = heed_int_attention_run(&call);
  if (status == HEED_OK) status = heed_int_partial_merge(4, calls_dim, one, two);
  call.partial = one;
  return status == HEED_OK ? heed_int_partial_finish(&call) : status;
}
static const heed_multiplier calls_half = {1 << 30, 0};
static heed_status call_int_rows(void) {
  const heed_int_matrix x = heed_int_matrix_of(calls_a, HEED_INT16, calls_rows, calls_dim, 0),
                        bytes = heed_int_matrix_of(calls_b, HEED_INT8, calls_rows, calls_dim, 3);
  const heed_int_matrix_out y = heed_int_matrix_out_of(calls_out, HEED_INT8, calls_rows, calls_dim, 5);
  const heed_int_norm norm = {calls_of_integers, calls_of_integers, 16, 1};
  int8_t table[256];
  heed_status status = heed_int_add(x, calls_half, bytes, calls_half, y, &calls_executor);
  if (status == HEED_OK) status = heed_int_multiply(x, x, calls_half, y, &calls_executor);
  if (status == HEED_OK) status = heed_int_rescale(x, calls_half, y, &calls_executor);
  if (status == HEED_OK) status = heed_int_layer_norm(x, norm, y, &calls_executor);
  if (status == HEED_OK) status = heed_int_rms_norm(x, norm, y, &calls_executor);
  if (status == HEED_OK)
    status = heed_int_table(HEED_INT_GELU, heed_multiplier_of(0.05f), 3, heed_multiplier_of(20), 5, table);
  if (status == HEED_OK) status = heed_int_lookup(bytes, table, y, &calls_executor);
  const heed_int_rope rope = {(const int16_t *)(const void *)calls_b, calls_rows, calls_dim / 4 * 2, HEED_ROPE_HALVES};
  return status == HEED_OK ? heed_int_rope_run(&rope, y, 2, 0, &calls_executor) : status;
}
static heed_status call_int_layer(void) {
  static heed_multiplier by[4 * calls_dim];
  for (int i = 0; i < 4 * calls_dim; i++) by[i] = heed_multiplier_of(0x1p-11f);
  const heed_weights square = heed_weights_of(calls_b, NULL, HEED_INT8, HEED_OUT_IN, calls_dim, calls_dim);
  const heed_int_projection attention = {square, NULL, by},
                            up = {heed_weights_of(calls_b, NULL, HEED_INT8, HEED_OUT_IN, calls_dim, 4 * calls_dim),
                                  NULL, by},
                            down = {heed_weights_of(calls_b, NULL, HEED_INT8, HEED_OUT_IN, 4 * calls_dim, calls_dim),
                                    NULL, by};
  const heed_int_norm norm = {calls_of_integers, NULL, 16, 1};
  heed_int_layer layer = heed_int_layer_default(calls_dim, 2, 4 * calls_dim, heed_int_layer_norm);
  layer.wq = layer.wk = layer.wv = layer.wo = attention;
  layer.w_up = layer.w_gate = up;
  layer.w_down = down;
  layer.norm1 = layer.norm2 = norm;
  layer.norm_first = layer.causal = 1;
  layer.activation = (const int8_t *)(const void *)calls_b;
  layer.score = heed_multiplier_of(0.0002f);
  layer.value = layer.of_x = layer.of_attention = layer.of_a = layer.of_hidden = layer.gate = calls_half;
  const heed_int_rope rope = {(const int16_t *)(const void *)calls_b, calls_rows, calls_dim / 4 * 2,
                              HEED_ROPE_INTERLEAVED};
  layer.rope = &rope;
  const heed_int_matrix x = heed_int_matrix_of(calls_a, HEED_INT16, calls_rows, calls_dim, 0);
  const heed_int_matrix_out y = heed_int_matrix_out_of(calls_out, HEED_INT16, calls_rows, calls_dim, 0);
  return heed_int_layer_run(&layer, x, y, heed_memory_of(calls_c, sizeof calls_c), &calls_executor);
}

#include "option_calls.h"
#include "cache_calls.h"

/* More rows than the ring takes at once. */
static heed_status call_layer_ring(void) {
  heed_attention_layer layer = calls_layer_of(calls_dim, 4, 2, calls_dim / 4 * 2, NULL);
  const heed_status status = calls_make_cache(HEED_CACHE_RING, HEED_F16, 9, layer.head_dim);
  layer.rope = &calls_rope;
  layer.cache = &calls_cache;
  return status == HEED_OK ? calls_run_layer(&layer, 2 * calls_rows + 1) : status;
}

static heed_status call_selftest(void) {
  return heed_selftest(heed_memory_of(calls_buffer, sizeof calls_buffer), NULL);
}
static heed_status call_selftest_boot(void) {
  return heed_selftest_boot(heed_memory_of(calls_buffer, HEED_SELFTEST_BOOT_BYTES), NULL);
}
static heed_status call_selftest_features(void) {
  return heed_selftest_features(heed_memory_of(calls_buffer, HEED_SELFTEST_FEATURES_BYTES), NULL);
}
static heed_status call_int_selftest(void) {
  return heed_int_selftest(heed_memory_of(calls_buffer, HEED_INT_SELFTEST_BYTES), NULL);
}
static heed_status call_questions(void) {
  const char *name = heed_isa_current();
  heed_status status =
      heed_isa_use("no such kernel") == HEED_STATUS(HEED_UNKNOWN_ISA, HEED_ARG_ISA) ? heed_isa_use(name) : -1;
  if (!heed_status_text(status) || !heed_status_argument(status) || !heed_version() || !heed_isa_name(0) ||
      heed_isa_arithmetic(name) < 0 || !heed_workspace_bytes(8, 8) || !heed_workspace_min_bytes(8, 8))
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
                 {"attention in integers", call_int_attention},
                 {"integers, one query", call_int_attention_one_query},
                 {"integers, partial results", call_int_partial},
                 {"integers, a cache", call_int_cache},
                 {"integers, rows", call_int_rows},
                 {"integers, a layer", call_int_layer},
                 {"softmax", call_softmax},
                 {"linear", call_linear},
                 {"linear, colliding rows", call_linear_colliding},
                 {"project, in to out", call_project_in_out},
                 {"project, out to in", call_project_out_in},
                 {"project, packed", call_project_packed},
                 {"project, in integers", call_project_in_integers},
                 {"int_project", call_int_project},
                 {"formats", call_formats},
                 {"weighted sum", call_weighted_sum},
                 {"dot", call_dot},
                 {"attention layer", call_layer},
                 {"attention layer, colliding", call_layer_colliding},
                 {"attention layer, ring", call_layer_ring},
                 {"sequence", call_sequence},
                 {"options, prefill", call_options},
                 {"options, boolean mask", call_options_boolean},
                 {"options, one query", call_options_one_query},
                 {"options, smallest workspace", call_options_smallest_workspace},
                 {"options, wide rows", call_options_wide},
                 {"options, refused", call_options_refused},
                 {"options, partial results", call_partial},
                 {"options of an attention layer", call_layer_options},
                 {"options of a sequence", call_sequence_options},
                 {"narrow, prefill", call_narrow},
                 {"narrow, one query", call_narrow_one_query},
                 {"narrow, smallest workspace", call_narrow_smallest_workspace},
                 {"narrow, wide rows", call_narrow_wide},
                 {"narrow, options", call_narrow_options},
                 {"rows gathered", call_gather},
                 {"greatest, largest, drawn", call_choose},
                 {"rms_norm", call_rms_norm},
                 {"layer_norm", call_layer_norm},
                 {"gelu", call_gelu},
                 {"gelu, tanh", call_gelu_tanh},
                 {"silu", call_silu},
                 {"relu", call_relu},
                 {"tanh", call_tanh},
                 {"sigmoid", call_sigmoid},
                 {"group_norm", call_group_norm},
                 {"mean of rows", call_mean_rows},
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
                 {"self-test of integers", call_int_selftest},
                 {"kernels and texts", call_questions}};
enum { n_all_calls = sizeof all_calls / sizeof *all_calls };

#endif
