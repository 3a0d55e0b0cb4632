/* Random options: every feature of options.h, in random combinations and all at once, with attention, with layers and
 * sequences, and with the keys handed over in parts. What a mask hides from all holds NaN or infinity.
 * SPDX-License-Identifier: MIT */
#include "pool.h"
#include "wanted.h"

enum { n_attention = 192, n_each = 32, n_long = 4 };

static int n_wrong; /* results that a NaN has reached, or that parts give other bits */

/* NaN or infinity in each head's row of that key, and of that value. */
static void spoil_key(const heed_attention *call, int32_t key) {
  static const uint32_t special[3] = {0x7fc00000, 0x7f800000, 0xff800000};
  for (int32_t b = 0; b < call->batch_size; b++)
    for (int32_t h = 0; h < call->n_kv_heads; h++) {
      float *k = (float *)call->k.data + b * call->k.batch_stride + h * call->k.head_stride + key * call->k.row_stride;
      float *v = (float *)call->v.data + b * call->v.batch_stride + h * call->v.head_stride + key * call->v.row_stride;
      k += between(0, call->head_dim - 1), v += between(0, call->v_dim - 1);
      *k = float_of(special[next() % 3]);
      *v = float_of(special[next() % 3]);
    }
}

static void expect_numbers(const float *x, int32_t n) {
  for (int32_t i = 0; i < n; i++)
    if (!(x[i] - x[i] == 0)) {
      n_wrong++;
      return;
    }
}

static void expect_same(const float *x, const float *y, int32_t n) {
  for (int32_t i = 0; i < n; i++)
    if (bits_of(x[i]) != bits_of(y[i]) && (x[i] == x[i] || y[i] == y[i])) {
      n_wrong++;
      return;
    }
}

/* Without what a partial result cannot have; sinks and log-sum-exp are for its end. */
static void drop_what_needs_the_end(heed_attention *call) {
  o.all.sinks = NULL, o.all.weights = NULL, o.all.lse = NULL, o.all.column_sums = NULL, o.all.topk_weights = NULL;
  call->out.data = NULL;
}

/* The end of a partial result: the bits of the one call that left out and lse. */
static void finish_and_compare(const struct shape *s, int32_t v_dim, const float *out, const float *logs,
                               const heed_sinks *sink) {
  const int32_t n = rows_of(s);
  float *again = take(n * v_dim), *logs_again = take(n);
  heed_lse own;
  check(heed_lse_init(&own, heed_token_major_out(logs_again, s->n_q, s->n_heads, 1)));
  MEASURED(of_partial,
           check(heed_partial_finish(&o.partial, sink, heed_token_major_out(again, s->n_q, s->n_heads, v_dim), &own)));
  expect_same(out, again, n * v_dim);
  if (logs) expect_same(logs, logs_again, n);
  add(o.partial.data, HEED_PARTIAL_BYTES(s->batch, s->n_heads, s->n_q, v_dim) / 4);
  add(again, (size_t)(n * v_dim));
  add(logs_again, (size_t)n);
}

/* The same call once more, its keys handed over. */
static void in_one_part(heed_attention *call, const struct shape *s) {
  const size_t bytes = HEED_PARTIAL_BYTES(s->batch, s->n_heads, s->n_q, call->v_dim);
  const int32_t n = rows_of(s), floats = (int32_t)(bytes / 4);
  if (used + floats + n * (call->v_dim + 1) + 12 > pool_floats) return;
  const float *const out = call->out.data, *const logs = o.all.lse ? o.lse.out.data : NULL;
  const heed_sinks *const sink = o.all.sinks;
  drop_what_needs_the_end(call);
  MEASURED(of_partial, check(heed_partial_init(&o.partial, s->batch, s->n_heads, s->n_q, call->v_dim, 0,
                                               heed_memory_of(take(floats), bytes))));
  o.all.partial = &o.partial;
  MEASURED(of_options, check(heed_attention_run(call)));
  finish_and_compare(s, call->v_dim, out, logs, sink);
}

static void attention(int i) {
  struct shape s;
  int32_t n_kv_heads, dim, v_dim, n_out, floats;
  do {
    s.batch = between(1, 2), s.n_q = between(1, 16), s.n_kv = between(1, next() % 4 ? 24 : 150);
    n_kv_heads = between(1, 2), s.n_heads = n_kv_heads * between(1, 3);
    dim = between(1, greatest_dim), v_dim = between(1, greatest_dim);
    n_out = rows_of(&s) * v_dim;
    floats = rows_of(&s) * dim + n_out + s.batch * s.n_kv * n_kv_heads * (dim + v_dim);
  } while (floats > pool_floats / 2);
  used = 0;
  float *const q = take_filled(rows_of(&s) * dim);
  const float *const k = take_filled(s.batch * s.n_kv * n_kv_heads * dim);
  const float *const v = take_filled(s.batch * s.n_kv * n_kv_heads * v_dim);
  float *const out = take(n_out);
  heed_attention call = heed_attention_of(q, k, v, s.n_q, s.n_kv, s.n_heads, n_kv_heads, dim, out, workspace);
  call.batch_size = s.batch;
  call.v_dim = v_dim;
  call.k = next() % 2 ? heed_token_major(k, s.n_kv, n_kv_heads, dim) : heed_head_major(k, s.n_kv, n_kv_heads, dim);
  call.v = heed_token_major(v, s.n_kv, n_kv_heads, v_dim);
  call.out = heed_token_major_out(out, s.n_q, s.n_heads, v_dim);
  call.causal = between(0, 1);
  call.position = between(-2, s.n_kv);
  if (next() % 4 == 0) call.scale = (float)(2 * between(-32, 31) + 1) * 0x1p-5f;
  if (next() % 4 == 0) call.executor = &backwards;
  call.workspace.bytes = (size_t)between((int32_t)heed_workspace_min_bytes(dim, v_dim), workspace_bytes);
  call.options = &o.all;
  const int32_t hidden = want_options(&s, i % 8 == 0);
  const int nan = next() % 8 == 0;
  if (hidden >= 0) spoil_key(&call, hidden);
  if (nan) q[between(0, rows_of(&s) * dim - 1)] = float_of(0x7fc00000);
  MEASURED(of_options, check(heed_attention_run(&call)));
  if (!nan) expect_numbers(out, n_out);
  add(out, (size_t)n_out);
  add_outputs(&s);
  if (i % 2) in_one_part(&call, &s);
}

static void layer(void) {
  const int32_t n = between(1, 9), model_dim = between(1, 8), dim = between(1, 4);
  const int32_t n_w = model_dim * 4 * dim;
  const struct shape s = {1, 4, n, n};
  used = 0;
  const heed_memory memory = take_layer_memory((size_t)n * HEED_LAYER_QKV_FLOATS(4, 2, dim, dim), dim, dim);
  const float *const x = take_filled(n * model_dim), *const w = take_filled(n_w), *const wq = take_filled(n_w);
  float *const y = take(n * model_dim);
  heed_attention_layer layer = heed_attention_layer_default(model_dim, 4);
  layer.n_kv_heads = 2, layer.head_dim = layer.v_dim = dim, layer.causal = between(0, 1);
  layer.wq = heed_weights_of(wq, NULL, HEED_F32, HEED_IN_OUT, model_dim, 4 * dim);
  layer.wk = layer.wv = heed_weights_of(w, NULL, HEED_F32, HEED_IN_OUT, model_dim, 2 * dim);
  layer.wo = heed_weights_of(w, NULL, HEED_F32, HEED_IN_OUT, 4 * dim, model_dim);
  layer.options = &o.all;
  want_options(&s, 0);
  MEASURED(of_layer_options, check(heed_attention_layer_run(&layer, heed_matrix_of(x, n, model_dim),
                                                            heed_matrix_out_of(y, n, model_dim), memory, NULL)));
  add(y, (size_t)(n * model_dim));
  add_outputs(&s);
}

static void sequence(void) {
  const int32_t n = between(1, 12), dim = between(1, greatest_dim / 2);
  const struct shape s = {1, 1, n, n};
  heed_sequence words, context;
  used = 0;
  const size_t bytes = HEED_SEQUENCE_BYTES(n, dim);
  check(heed_sequence_init(&words, n, dim, heed_memory_of(take(n * dim), bytes)));
  check(heed_sequence_init(&context, n, dim, heed_memory_of(take(n * dim), bytes)));
  check(heed_sequence_append(&words, heed_matrix_of(take_filled(n * dim), n, dim)));
  check(heed_sequence_push(&words, heed_matrix_of(take_filled(dim), 1, dim)));
  want_options(&s, 0);
  MEASURED(of_layer_options,
           check(heed_sequence_attention(&words, HEED_SCALE_DEFAULT, between(0, 1), &o.all, &context, workspace)));
  add(context.data, (size_t)(n * dim));
  add_outputs(&s);
}

/* The second part of a context follows the first one's partial, or has one of its own that is merged. */
static void hand_over(heed_attention *call, const struct shape *s, heed_memory both, int merge) {
  const int32_t first = 1024, rest = s->n_kv - first;
  const size_t half = both.bytes / 2;
  check(heed_partial_init(&o.partial, 1, s->n_heads, s->n_q, call->v_dim, 0, heed_memory_of(both.data, half)));
  o.all.partial = &o.partial;
  call->n_kv = first;
  MEASURED(of_options, check(heed_attention_run(call)));
  heed_attention second = *call;
  second.n_kv = rest;
  second.k.data += first * call->k.row_stride;
  second.v.data += first * call->v.row_stride;
  if (o.all.mask) {
    o.mask.data = (const unsigned char *)o.mask.data + first;
    o.mask.n_keys = rest;
  }
  if (merge) {
    check(heed_partial_init(&o.part, 1, s->n_heads, s->n_q, call->v_dim, first,
                            heed_memory_of((char *)both.data + half, half)));
    o.all.partial = &o.part;
  }
  MEASURED(of_options, check(heed_attention_run(&second)));
  if (merge) MEASURED(of_partial, check(heed_partial_merge(&o.partial, &o.part)));
  if (o.all.mask) {
    o.mask.data = (const unsigned char *)o.mask.data - first;
    o.mask.n_keys = s->n_kv;
  }
  call->n_kv = s->n_kv;
}

/* More than one chunk of keys, whose rows overlap so that they fit the pool. */
static void long_context(int i) {
  const struct shape s = {1, 2, 2, between(1025, 1150)};
  const int32_t dim = between(1, 3), n = rows_of(&s), bytes = 2 * (int32_t)HEED_PARTIAL_BYTES(1, 2, 2, dim);
  used = 0;
  const float *const k = take_filled(s.n_kv + dim), *const q = take_filled(n * dim);
  float *const out = take(n * dim);
  const heed_memory both = {take(bytes / 4), (size_t)bytes};
  heed_attention call = heed_attention_of(q, k, k, s.n_q, s.n_kv, 2, 1, dim, out, workspace);
  call.k.row_stride = call.v.row_stride = 1;
  call.causal = i % 2;
  call.position = between(1000, s.n_kv);
  call.options = &o.all;
  o.all = heed_options_default();
  check(heed_ranges_init(&o.ranges));
  o.ranges.left_window = i % 4 < 2 ? -1 : between(10, 500);
  o.all.ranges = &o.ranges;
  if (i % 4 > 0) {
    unsigned char *attend = (unsigned char *)take(s.n_kv / 4 + 1);
    for (int32_t j = 0; j < s.n_kv; j++) attend[j] = next() % 8 > 0;
    check(heed_mask_init_boolean(&o.mask, attend, s.n_kv, 0, 0, 0));
    o.all.mask = &o.mask;
  }
  check(heed_sinks_init(&o.sinks, take_for_heads(&s, 0)));
  if (i % 4 > 1) check(heed_alibi_init(&o.alibi, o.sinks.logits)), o.all.alibi = &o.alibi;
  o.all.sinks = &o.sinks;
  want_lse(&s);
  want_top_k(&s);
  MEASURED(of_options, check(heed_attention_run(&call)));
  expect_numbers(out, n * dim);
  add(out, (size_t)(n * dim));
  add_outputs(&s);
  drop_what_needs_the_end(&call);
  const int32_t start = used;
  for (int merge = 0; merge < 2; merge++, used = start) {
    hand_over(&call, &s, both, merge);
    finish_and_compare(&s, dim, out, o.lse.out.data, &o.sinks);
  }
}

int random_options(void) {
  n_refused = n_wrong = 0;
  digest_begin();
  for (int i = 0; i < n_attention; i++) attention(i), print_each_32("options", i);
  for (int i = 0; i < n_each; i++) layer(), print_each_32("layers with options", i);
  for (int i = 0; i < n_each; i++) sequence(), print_each_32("sequences with options", i);
  for (int i = 0; i < n_long; i++) long_context(i), print_digest("long context", digest);
  if (n_wrong) port_write("a NaN has reached a result, or parts give other bits than the whole\n");
  return n_refused + n_wrong;
}
