/* Bad input: the same status as on the PC, and nothing written. SPDX-License-Identifier: MIT */
#include "device.h"
#include "support/digest.h"

static heed_attention call;
static heed_layer layer;
static heed_executor executor;
static float *const q = pool, *const k = pool + 128, *const v = pool + 256, *const out = pool + 384,
                    *const weights = pool + 512;

static void run_nothing(void *user, int32_t n_tasks, heed_task task, void *context) {
  (void)user, (void)n_tasks, (void)task, (void)context;
}

/* Valid calls of every kind over the pool. */
static void make_good(void) {
  call = heed_attention_of(3, 5, 4, 2, 8, q, k, v, out, workspace, heed_workspace_min_bytes(8, 8));
  call.weights = heed_head_major_out(weights, 3, 4, 5);
  call.executor = &executor;
  executor = (heed_executor){sizeof(heed_executor), 1, run_nothing, NULL};
  layer = (heed_layer){sizeof(heed_layer), 4, 2, 1, 4, 4, 4, 0, 0, q, q, q, q, NULL, NULL, NULL, NULL, NULL};
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
      call.workspace = NULL;
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
      call.weights.data = (float *)byte_after(weights, 1);
      break;
    case 12:
      call.workspace = workspace + 4;
      break;
    case 13:
      call.workspace_bytes--;
      break;
    case 14:
      call.batch = 0;
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
      call.weights.data = out;
      break;
    case 31:
      call.workspace = pool;
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
      layer.wq = NULL;
      break;
    case 6:
      layer.wv = byte_after(q, 2);
      break;
    case 7:
      layer.wo = NULL, layer.bo = q;
      break;
    case 8:
      layer.scale = float_of(0x7f800000);
      break;
    default:
      return 0;
  }
  return 1;
}

static heed_status run_layer(size_t n_activations) {
  return heed_layer_run(&layer, heed_matrix_of(k, 3, 4), heed_matrix_out_of(out, 3, 4), weights, n_activations,
                        workspace, sizeof workspace, NULL);
}

static heed_status other(int i) {
  HEED_SEQUENCE(words, 2, 4);
  const heed_matrix x = heed_matrix_of(q, 3, 4), w = heed_matrix_of(k, 4, 5);
  switch (i) {
    case 0:
      return heed_attention_run(NULL);
    case 1:
      return run_layer(3);
    case 2:
      return heed_layer_run(NULL, x, heed_matrix_out_of(out, 3, 4), weights, 99, workspace, 99, NULL);
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
      return heed_linear(x, x, NULL, heed_matrix_out_of(out, 3, 4), NULL);
    case 9:
      return heed_linear(x, w, byte_after(v, 1), heed_matrix_out_of(out, 3, 5), NULL);
    case 10:
      return heed_weighted_sum(x, w, heed_matrix_out_of(out, 3, 6), NULL);
    case 11:
      return heed_self_attention(x, 0, heed_matrix_out_of(out, 3, 4), workspace, 100);
    case 12:
      return heed_self_attention(heed_matrix_of(q, 0, 4), 0, heed_matrix_out_of(out, 3, 4), workspace, 100);
    case 13:
      return heed_sequence_append(&words, x);
    case 14:
      return heed_sequence_append(&words, w);
    case 15:
      return heed_sequence_init(NULL, out, 1, 1);
    case 16:
      return heed_sequence_init(&words, out, 0, 4);
    case 17:
      return heed_kernel_use("no such kernel");
    case 18:
      return heed_selftest(NULL, 0, NULL);
    default:
      return HEED_OK;
  }
}

int refused_calls(void) {
  int accepted = 0;
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
    const heed_status status = run_layer(128);
    print_status("layer", i, status);
    accepted += status == HEED_OK;
  }
  make_good();
  for (int i = 0; i < 19; i++) {
    const heed_status status = other(i);
    print_status("other", i, status);
    accepted += status == HEED_OK;
  }
  digest_begin();
  add(pool, pool_floats);
  if (digest != before) port_write("refused calls have written\n");
  return accepted + (digest != before);
}
