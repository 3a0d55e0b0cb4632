/* Random shapes. Half of all tensors begin at addresses that are multiples of 4 but of nothing more.
 * SPDX-License-Identifier: MIT */
#include "pool.h"

enum { n_attention = 256, n_each = 64 };

/* One special number, where it is seen or in a key that is masked for most rows. */
static void spoil(float *k, float *v, int32_t n, int kind) {
  const uint32_t special = kind == 0 ? 0x7f800000 : kind == 1 ? 0xff800000 : 0x7fc00000;
  float *const p = next() % 2 ? k : v;
  p[between(0, n - 1)] = float_of(special);
}

static void attention(int kind) {
  int32_t n_q, n_kv, n_kv_heads, group, dim, v_dim, floats;
  do {
    n_q = between(1, 20), n_kv = between(1, 70);
    n_kv_heads = between(1, 2), group = between(1, 3);
    dim = between(1, greatest_dim), v_dim = between(1, greatest_dim);
    floats = n_kv_heads * (group * n_q * (dim + v_dim + n_kv) + n_kv * (dim + v_dim));
  } while (floats > pool_floats - 20);
  const int32_t n_heads = n_kv_heads * group, n_k = n_kv * n_kv_heads * dim, n_v = n_kv * n_kv_heads * v_dim;
  used = 0;
  float *q = take_filled(n_q * n_heads * dim), *k = take_filled(n_k), *v = take_filled(n_v);
  float *out = take(n_q * n_heads * v_dim), *weights = take(n_q * n_heads * n_kv);
  heed_attention call = heed_attention_of(n_q, n_kv, n_heads, n_kv_heads, dim, q, k, v, out, workspace, 0);
  call.v_dim = v_dim;
  call.v = next() % 2 ? heed_token_major(v, n_kv, n_kv_heads, v_dim) : heed_head_major(v, n_kv, n_kv_heads, v_dim);
  call.out = heed_token_major_out(out, n_q, n_heads, v_dim);
  call.causal = between(0, 1);
  call.causal_offset = between(-2, n_kv);
  if (kind == 1) call.scale = (float)between(-64, 64) * 0x1p-5f;
  if (kind == 2) call.scale = 1e25f;
  if (next() % 2) call.weights = heed_head_major_out(weights, n_q, n_heads, n_kv);
  const int32_t least = (int32_t)heed_workspace_min_bytes(dim, v_dim);
  call.workspace_bytes = (size_t)between(least, workspace_bytes);
  if (next() % 4 == 0) call.executor = &backwards;
  if (kind >= 4) spoil(k, v, n_kv * n_kv_heads * (dim < v_dim ? dim : v_dim), kind - 4);
  MEASURED(call.weights.data ? of_weights : of_attention, check(heed_attention_run(&call)));
  add(out, (size_t)(n_q * n_heads * v_dim));
  if (call.weights.data) add(weights, (size_t)(n_q * n_heads * n_kv));
}

static void primitives(int i) {
  int32_t n, in, columns;
  do n = between(1, 12), in = between(1, 50), columns = between(1, 40);
  while (2 * n * in + in * columns + columns + 2 * n * columns > pool_floats - 30);
  used = 0;
  const float *x = take_filled(n * in), *w = take_filled(in * columns), *bias = take_filled(columns);
  float *y = take(n * columns), *sums = take(n * columns), *softmax = take(n * in);
  MEASURED(of_linear, check(heed_linear(heed_matrix_of(x, n, in), heed_matrix_of(w, in, columns), i % 2 ? bias : NULL,
                                        heed_matrix_out_of(y, n, columns), i % 3 ? NULL : &backwards)));
  MEASURED(of_weighted_sum, check(heed_weighted_sum(heed_matrix_of(x, n, in), heed_matrix_of(w, in, columns),
                                                    heed_matrix_out_of(sums, n, columns), NULL)));
  MEASURED(of_softmax, check(heed_softmax(heed_matrix_of(x, n, in), (float)between(-40, 40),
                                          heed_matrix_out_of(softmax, n, in), NULL)));
  add(y, (size_t)(n * columns));
  add(sums, (size_t)(n * columns));
  add(softmax, (size_t)(n * in));
  float dot = 0;
  MEASURED(of_dot, check(heed_dot(w, w + between(0, 1), in * columns - 1 > 0 ? in * columns - 1 : 1, &dot)));
  add(&dot, 1);
}

static void layer(int i) {
  const int32_t n = between(1, 5), model_dim = between(1, 10), dim = between(1, 4);
  const int32_t n_w = model_dim * 4 * dim, n_activations = (int32_t)HEED_LAYER_ACTIVATIONS(n, 4, 2, dim, dim);
  used = 0;
  const float *wq = take_filled(n_w), *wk = take_filled(n_w), *wv = take_filled(n_w), *wo = take_filled(n_w);
  const float *bias = take_filled(16), *x = take_filled(n * model_dim);
  float *activations = take(n_activations), *y = take(n * model_dim), *context = take(n * model_dim);
  const heed_layer layer = {sizeof(heed_layer),
                            model_dim,
                            4,
                            2,
                            dim,
                            dim,
                            model_dim,
                            0,
                            i % 2,
                            wq,
                            wk,
                            wv,
                            wo,
                            i % 3 ? bias : NULL,
                            NULL,
                            NULL,
                            i % 3 ? NULL : bias,
                            NULL};
  MEASURED(of_layer, check(heed_layer_run(&layer, heed_matrix_of(x, n, model_dim), heed_matrix_out_of(y, n, model_dim),
                                          activations, (size_t)n_activations, workspace, sizeof workspace, NULL)));
  MEASURED(of_self_attention,
           check(heed_self_attention(heed_matrix_of(x, n, model_dim), 0, heed_matrix_out_of(context, n, model_dim),
                                     workspace, sizeof workspace)));
  add(y, (size_t)(n * model_dim));
  add(context, (size_t)(n * model_dim));
}

/* One query of many keys: more than one block and, in the softmax, every tie of the exponential's rounding. */
static void long_rows(void) {
  used = 0;
  float *k = take_filled(700), *v = take_filled(700), *q = take_filled(2), *out = take(2);
  heed_attention call = heed_attention_of(1, 350, 1, 1, 2, q, k, v, out, workspace, sizeof workspace);
  MEASURED(of_attention, check(heed_attention_run(&call)));
  add(out, 2);
  for (int i = 0; i < 140; i++) k[i] = (float)i * -0.5f;
  MEASURED(of_softmax,
           check(heed_softmax(heed_matrix_of(k, 1, 140), 0x1.62e43p-1f, heed_matrix_out_of(v, 1, 140), NULL)));
  add(v, 140);
}

int random_shapes(void) {
  n_refused = 0;
  digest_begin();
  for (int i = 0; i < n_attention; i++) attention(i % 7), print_each_32("attention", i);
  for (int i = 0; i < n_each; i++) primitives(i), print_each_32("primitives", i);
  for (int i = 0; i < n_each; i++) layer(i), print_each_32("layers", i);
  long_rows();
  print_digest("long rows", digest);
  return n_refused;
}
