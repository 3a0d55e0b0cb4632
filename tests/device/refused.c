/* Bad input: the same status as on the PC, and nothing written. SPDX-License-Identifier: MIT */
#include "device.h"
#include "support/digest.h"

static heed_attention call;
static heed_attention_layer layer;
static heed_executor executor;
static int accepted;
static float *const q = pool, *const k = pool + 128, *const v = pool + 256, *const out = pool + 384,
                    *const weights = pool + 512;
enum { layer_bytes = 320 + HEED_WORKSPACE_MIN_BYTES(4, 4) }; /* q, k, v and context of 3 rows of 2 heads, rounded up */

static void run_nothing(void *user, int32_t n_tasks, heed_task task, void *context) {
  (void)user, (void)n_tasks, (void)task, (void)context;
}

/* Valid calls of every kind over the pool. */
static void make_good(void) {
  call = heed_attention_of(q, k, v, 3, 5, 4, 2, 8, out, heed_memory_of(workspace.data, HEED_WORKSPACE_MIN_BYTES(8, 8)));
  accepted += heed_attention_weights_init(&o.weights, heed_head_major_out(weights, 3, 4, 5)) != HEED_OK;
  o.all = heed_options_default();
  o.all.weights = &o.weights;
  call.options = &o.all;
  call.executor = &executor;
  executor = heed_executor_of(run_nothing, NULL, 1);
  layer = heed_attention_layer_default(4, 2);
  layer.n_kv_heads = 1, layer.head_dim = layer.v_dim = 4;
  layer.wq = heed_weights_of(q, NULL, HEED_F32, HEED_IN_OUT, 4, 8);
  layer.wk = layer.wv = heed_weights_of(q, NULL, HEED_F32, HEED_IN_OUT, 4, 4);
  layer.wo = heed_weights_of(q, NULL, HEED_F32, HEED_IN_OUT, 8, 4);
}

static const float *byte_after(const float *p, int bytes) { return (const float *)((uintptr_t)p + (uintptr_t)bytes); }
static float *top_of_memory(void) { return (float *)(UINTPTR_MAX - 63); }

/* Flaw i of heed_attention; 0 past the last. */
static int spoil_call(int i) {
  switch (i) {
    case 0:
      call.struct_size = 0;
      break;
    case 1:
      call.struct_size++;
      break;
    case 2:
      call.q.data = NULL;
      break;
    case 3:
      call.k.data = NULL;
      break;
    case 4:
      call.v.data = NULL;
      break;
    case 5:
      call.out.data = NULL;
      break;
    case 6:
      call.workspace.data = NULL;
      break;
    case 7:
      call.q.data = byte_after(q, 2);
      break;
    case 8:
      call.k.data = byte_after(k, 1);
      break;
    case 9:
      call.v.data = byte_after(v, 3);
      break;
    case 10:
      call.out.data = (float *)byte_after(out, 2);
      break;
    case 11:
      o.weights.out.data = (float *)byte_after(weights, 1);
      break;
    case 12:
      call.workspace.data = (char *)workspace.data + 4;
      break;
    case 13:
      call.workspace.bytes--;
      break;
    case 14:
      call.batch_size = 0;
      break;
    case 15:
      call.n_heads = -1;
      break;
    case 16:
      call.n_kv_heads = 3;
      break;
    case 17:
      call.n_q = 0;
      break;
    case 18:
      call.n_kv = HEED_MAX_COUNT + 1;
      break;
    case 19:
      call.head_dim = INT32_MIN;
      break;
    case 20:
      call.v_dim = HEED_MAX_DIM + 1;
      break;
    case 21:
      call.scale = float_of(0x7fc00000);
      break;
    case 22:
      call.scale = float_of(0xff800000);
      break;
    case 23:
      call.causal = 2;
      break;
    case 24:
      call.q.row_stride = -1;
      break;
    case 25:
      call.k.head_stride = PTRDIFF_MAX;
      break;
    case 26:
      call.v.row_stride = PTRDIFF_MAX / 4;
      break;
    case 27:
      call.out.row_stride = 3;
      break;
    case 28:
      call.q.data = top_of_memory();
      break;
    case 29:
      call.out.data = q + 1;
      break;
    case 30:
      o.weights.out.data = out;
      break;
    case 31:
      call.workspace.data = pool;
      break;
    case 32:
      executor.struct_size = 1;
      break;
    case 33:
      executor.n_workers = HEED_MAX_WORKERS + 1;
      break;
    case 34:
      executor.run = NULL;
      break;
    case 35:
      call.scale = 0;
      break;
    case 36:
      executor.struct_size = 0;
      break;
    default:
      return 0;
  }
  return 1;
}

static int spoil_layer(int i) {
  switch (i) {
    case 0:
      layer.struct_size = 4;
      break;
    case 1:
      layer.model_dim = 0;
      break;
    case 2:
      layer.n_kv_heads = 3;
      break;
    case 3:
      layer.out_dim = -4;
      break;
    case 4:
      layer.causal = -1;
      break;
    case 5:
      layer.wq.data = NULL;
      break;
    case 6:
      layer.wv.data = byte_after(q, 2);
      break;
    case 7:
      layer.wo.data = NULL, layer.out_dim = 8, layer.bo = q;
      break;
    case 8:
      layer.scale = float_of(0x7f800000);
      break;
    case 9:
      layer.struct_size = 0;
      break;
    case 10:
      layer.wq.dtype = 6;
      break;
    case 11:
      layer.wk.layout = 3;
      break;
    case 12:
      layer.wv.dtype = HEED_INT8;
      break;
    case 13:
      layer.wo.n_in = 4;
      break;
    case 14:
      layer.bq = byte_after(q, 1);
      break;
    default:
      return 0;
  }
  return 1;
}

static heed_status run_layer(size_t bytes) {
  return heed_attention_layer_run(&layer, heed_matrix_of(k, 3, 4), heed_matrix_out_of(out, 3, 4),
                                  heed_memory_of(weights, bytes), NULL);
}

static heed_status other(int i) {
  HEED_SEQUENCE(words, 2, 4);
  const heed_matrix x = heed_matrix_of(q, 3, 4), w = heed_matrix_of(k, 4, 5);
  const heed_memory short_of = {workspace_data, 100};
  switch (i) {
    case 0:
      return heed_attention_run(NULL);
    case 1:
      return run_layer(layer_bytes - 1);
    case 2:
      return heed_attention_layer_run(NULL, x, heed_matrix_out_of(out, 3, 4), workspace, NULL);
    case 3:
      return heed_dot(NULL, k, 4, out);
    case 4:
      return heed_dot(q, k, -1, out);
    case 5:
      return heed_dot(q, k, 4, q + 3);
    case 6:
      return heed_softmax(x, float_of(0x7fc00000), heed_matrix_out_of(out, 3, 4), NULL);
    case 7:
      return heed_softmax(x, 1, heed_matrix_out_of(q + 1, 3, 4), NULL);
    case 8:
      return heed_linear(x, heed_weights_of_matrix(x), NULL, heed_matrix_out_of(out, 3, 4), NULL);
    case 9:
      return heed_linear(x, heed_weights_of_matrix(w), byte_after(v, 1), heed_matrix_out_of(out, 3, 5), NULL);
    case 10:
      return heed_weighted_sum(x, w, heed_matrix_out_of(out, 3, 6), NULL);
    case 11:
      return heed_self_attention(x, HEED_SCALE_DEFAULT, heed_matrix_out_of(out, 3, 4), short_of);
    case 12:
      return heed_self_attention(heed_matrix_of(q, 0, 4), 1, heed_matrix_out_of(out, 3, 4), short_of);
    case 13:
      return heed_sequence_append(&words, x);
    case 14:
      return heed_sequence_append(&words, w);
    case 15:
      return heed_sequence_init(NULL, 1, 1, workspace);
    case 16:
      return heed_sequence_init(&words, 0, 4, workspace);
    case 17:
      return heed_isa_use("no such kernel");
    case 18:
      return heed_selftest(heed_memory_of(NULL, 0), NULL);
    case 19:
      return heed_sequence_push(&words, w);
    case 20:
      return heed_sequence_init(&words, 26, 4, short_of);
    case 21:
      return heed_self_attention(x, 0, heed_matrix_out_of(out, 3, 4), workspace);
    case 22:
      return heed_softmax(x, 0, heed_matrix_out_of(out, 3, 4), NULL);
    case 23:
      return heed_softmax(x, HEED_SCALE_DEFAULT, heed_matrix_out_of(out, 3, 4), NULL);
    default:
      return HEED_OK;
  }
}

int refused_calls(void) {
  accepted = 0;
  digest_begin();
  fill(pool, pool_floats);
  digest_begin();
  add(pool, pool_floats);
  const uint64_t before = digest;
  for (int i = 0; make_good(), spoil_call(i); i++) {
    const heed_status status = heed_attention_run(&call);
    print_status("attention", i, status);
    accepted += status == HEED_OK;
  }
  for (int i = 0; make_good(), spoil_layer(i); i++) {
    const heed_status status = run_layer(layer_bytes);
    print_status("layer", i, status);
    accepted += status == HEED_OK;
  }
  make_good();
  for (int i = 0; i < 24; i++) {
    const heed_status status = other(i);
    print_status("other", i, status);
    accepted += status == HEED_OK;
  }
  digest_begin();
  add(pool, pool_floats);
  if (digest != before) port_write("refused calls have written\n");
  return accepted + (digest != before);
}
