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
  heed_attention call = heed_attention_of(q, k, v, n_q, n_kv, n_heads, n_kv_heads, dim, out, workspace);
  call.v_dim = v_dim;
  call.v = next() % 2 ? heed_token_major(v, n_kv, n_kv_heads, v_dim) : heed_head_major(v, n_kv, n_kv_heads, v_dim);
  call.out = heed_token_major_out(out, n_q, n_heads, v_dim);
  call.causal = between(0, 1);
  call.position = between(-2, n_kv);
  if (kind == 1) call.scale = (float)(2 * between(-32, 31) + 1) * 0x1p-5f;
  if (kind == 2) call.scale = 1e25f;
  const int with_weights = (int)(next() % 2);
  check(heed_attention_weights_init(&o.weights, heed_head_major_out(weights, n_q, n_heads, n_kv)));
  o.all = heed_options_default();
  o.all.weights = &o.weights;
  if (with_weights) call.options = &o.all;
  const int32_t least = (int32_t)heed_workspace_min_bytes(dim, v_dim);
  call.workspace.bytes = (size_t)between(least, workspace_bytes);
  if (next() % 4 == 0) call.executor = &backwards;
  if (kind >= 4) spoil(k, v, n_kv * n_kv_heads * (dim < v_dim ? dim : v_dim), kind - 4);
  MEASURED(with_weights ? of_weights : of_attention, check(heed_attention_run(&call)));
  add(out, (size_t)(n_q * n_heads * v_dim));
  if (with_weights) add(weights, (size_t)(n_q * n_heads * n_kv));
}

static void primitives(int i) {
  int32_t n, in, columns;
  do n = between(1, 12), in = between(1, 50), columns = between(1, 40);
  while (2 * n * in + in * columns + columns + 2 * n * columns > pool_floats - 30);
  used = 0;
  const float *x = take_filled(n * in), *w = take_filled(in * columns), *bias = take_filled(columns);
  float *y = take(n * columns), *sums = take(n * columns), *softmax = take(n * in);
  MEASURED(of_linear,
           check(heed_linear(heed_matrix_of(x, n, in), heed_weights_of_matrix(heed_matrix_of(w, in, columns)),
                             i % 2 ? bias : NULL, heed_matrix_out_of(y, n, columns), i % 3 ? NULL : &backwards)));
  MEASURED(of_weighted_sum, check(heed_weighted_sum(heed_matrix_of(x, n, in), heed_matrix_of(w, in, columns),
                                                    heed_matrix_out_of(sums, n, columns), NULL)));
  MEASURED(of_softmax, check(heed_softmax(heed_matrix_of(x, n, in), (float)(2 * between(-20, 19) + 1),
                                          heed_matrix_out_of(softmax, n, in), NULL)));
  add(y, (size_t)(n * columns));
  add(sums, (size_t)(n * columns));
  add(softmax, (size_t)(n * in));
  float dot = 0;
  MEASURED(of_dot, check(heed_dot(w, w + between(0, 1), in * columns - 1 > 0 ? in * columns - 1 : 1, &dot)));
  add(&dot, 1);
}

/* As many weights as the layer wants, in either layout. */
static heed_weights weights_of(int32_t n_in, int32_t n_out) {
  const float *const w = take_filled(n_in * n_out);
  return heed_weights_of(w, NULL, HEED_F32, between(HEED_IN_OUT, HEED_OUT_IN), n_in, n_out);
}

static void layer(int i) {
  const int32_t n = between(1, 5), model_dim = between(1, 10), dim = between(1, 4);
  used = 0;
  const heed_memory memory = take_layer_memory((size_t)n * HEED_LAYER_QKV_FLOATS(4, 2, dim, dim), dim, dim);
  heed_attention_layer layer = heed_attention_layer_default(model_dim, 4);
  layer.n_kv_heads = 2, layer.head_dim = layer.v_dim = dim, layer.causal = i % 2;
  layer.wq = weights_of(model_dim, 4 * dim), layer.wk = weights_of(model_dim, 2 * dim);
  layer.wv = weights_of(model_dim, 2 * dim), layer.wo = weights_of(4 * dim, model_dim);
  const float *bias = take_filled(16), *x = take_filled(n * model_dim);
  *(i % 3 ? &layer.bq : &layer.bo) = bias;
  float *y = take(n * model_dim), *context = take(n * model_dim);
  const heed_matrix rows = heed_matrix_of(x, n, model_dim);
  MEASURED(of_layer, check(heed_attention_layer_run(&layer, rows, heed_matrix_out_of(y, n, model_dim), memory, NULL)));
  MEASURED(of_self_attention,
           check(heed_self_attention(rows, HEED_SCALE_DEFAULT, heed_matrix_out_of(context, n, model_dim), workspace)));
  add(y, (size_t)(n * model_dim));
  add(context, (size_t)(n * model_dim));
}

/* One query of many keys: more than one block and, in the softmax, every tie of the exponential's rounding. */
static void long_rows(void) {
  used = 0;
  float *k = take_filled(700), *v = take_filled(700), *q = take_filled(2), *out = take(2);
  heed_attention call = heed_attention_of(q, k, v, 1, 350, 1, 1, 2, out, workspace);
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
