/* Random objects of options.h for a call, in memory of the pool, and the digest of what they were filled with. Included
 * after pool.h. SPDX-License-Identifier: MIT */
#ifndef HEED_TESTS_DEVICE_WANTED_H
#define HEED_TESTS_DEVICE_WANTED_H

#include "pool.h"

enum {
  ranges = 1,
  mask = 2,
  softcap = 4,
  alibi = 8,
  sinks = 16,
  scores = 32,
  lse = 64,
  sums = 128,
  topk_weights = 256,
  weights = 512,
  every = 1023
};
enum { most_top_keys = 96 };

static int32_t numbers[4][3], top_keys[most_top_keys];

struct shape {
  int32_t batch, n_heads, n_q, n_kv;
};

static int32_t rows_of(const struct shape *s) { return s->batch * s->n_heads * s->n_q; }

/* Null where the pool is full. */
static float *take_if_room(int32_t n) { return used + n + 3 <= pool_floats ? take(n) : NULL; }

/* Numbers for up to two batch entries, or null. */
static const int32_t *for_each(int i, int32_t low, int32_t high) {
  int32_t *p = numbers[i] + between(0, 1);
  p[0] = between(low, high), p[1] = between(low, high);
  return next() % 3 ? NULL : p;
}

static void want_ranges(const struct shape *s) {
  check(heed_ranges_init(&o.ranges));
  o.ranges.left_window = next() % 3 ? between(-1, s->n_kv) : -1;
  o.ranges.right_window = next() % 3 ? between(-1, s->n_kv) : -1;
  o.ranges.left_windows = for_each(0, -1, s->n_kv);
  o.ranges.right_windows = for_each(1, -1, s->n_kv);
  o.ranges.positions = for_each(2, -s->n_q, s->n_kv);
  o.ranges.kv_lengths = for_each(3, 0, s->n_kv);
  o.all.ranges = &o.ranges;
}

/* Elements of a boolean mask are bytes at any address. */
static void hide(void *data, int boolean, int32_t i, int hidden) {
  if (boolean)
    ((unsigned char *)data)[i] = (unsigned char)(hidden ? 0 : between(1, 255));
  else
    ((float *)data)[i] = hidden ? float_of(0xff800000) : (float)between(-64, 64) * 0x1p-5f;
}

/* Returns the key that is hidden from all, or -1. */
static int32_t want_mask(const struct shape *s) {
  const int boolean = (int)(next() % 2), few = (int)(next() % 4), finite_limit = next() % 16 == 0;
  const int32_t columns = next() % 4 ? s->n_kv : between(1, s->n_kv + 3);
  int32_t n = columns, stride[3];
  const int32_t counts[3] = {s->n_q, s->n_heads, s->batch};
  for (int i = 0; i < 3; i++) {
    stride[i] = between(0, 1) ? n : 0;
    if (stride[i]) n *= counts[i];
  }
  float *const memory = take_if_room(boolean ? n / 4 + 2 : n);
  if (!memory) return -1;
  void *const data = boolean ? (unsigned char *)memory + between(0, 3) : (unsigned char *)memory;
  /* All attend, most, few; or whole blocks hidden. */
  for (int32_t i = 0; i < n; i++) hide(data, boolean, i, few == 3 ? i / 64 % 2 == 0 : (int)(next() % 8) < 3 * few);
  if (!boolean && finite_limit) ((float *)data)[0] = -0x1.fffffep+127f;
  const int32_t key = few && next() % 2 ? between(0, (columns < s->n_kv ? columns : s->n_kv) - 1) : -1;
  for (int32_t i = key; key >= 0 && i < n; i += columns) hide(data, boolean, i, 1);
  check(boolean ? heed_mask_init_boolean(&o.mask, data, columns, stride[2], stride[1], stride[0])
                : heed_mask_init_additive(&o.mask, data, columns, stride[2], stride[1], stride[0]));
  o.all.mask = &o.mask;
  return key;
}

static void want_scores(const struct shape *s) {
  float *out = take_if_room(rows_of(s) * s->n_kv);
  if (!out) return;
  check(heed_scores_init(&o.scores, between(HEED_SCORES_RAW, HEED_SCORES_BIASED),
                         heed_head_major_out(out, s->n_q, s->n_heads, s->n_kv)));
  o.all.scores = &o.scores;
}

static void want_weights(const struct shape *s) {
  float *out = take_if_room(rows_of(s) * s->n_kv);
  if (!out) return;
  check(heed_attention_weights_init(&o.weights, heed_head_major_out(out, s->n_q, s->n_heads, s->n_kv)));
  o.all.weights = &o.weights;
}

static void want_lse(const struct shape *s) {
  float *out = take_if_room(rows_of(s));
  if (!out) return;
  check(heed_lse_init(&o.lse, heed_token_major_out(out, s->n_q, s->n_heads, 1)));
  o.all.lse = &o.lse;
}

static void want_sums(const struct shape *s) {
  float *out = take_if_room(s->batch * s->n_heads * s->n_kv);
  if (!out) return;
  check(heed_column_sums_init(&o.sums, heed_head_major_out(out, 1, s->n_heads, s->n_kv)));
  o.all.column_sums = &o.sums;
}

static void want_top_k(const struct shape *s) {
  const int32_t k = between(1, s->n_kv < 4 ? s->n_kv : 4);
  float *largest = rows_of(s) * k <= most_top_keys ? take_if_room(rows_of(s) * k) : NULL;
  if (!largest) return;
  check(heed_topk_weights_init(&o.topk_weights, k, largest, top_keys));
  o.all.topk_weights = &o.topk_weights;
}

/* Slopes, or the logits of sinks: one of those may be -infinity. */
static const float *take_for_heads(const struct shape *s, int infinite) {
  float *p = take_if_room(s->n_heads);
  if (!p) return NULL;
  fill(p, s->n_heads);
  if (infinite && next() % 4 == 0) p[between(0, s->n_heads - 1)] = float_of(0xff800000);
  return p;
}

/* Random ones of those asked for. Returns the key that a mask hides from all, or -1. */
static int32_t want_options(const struct shape *s, int all) {
  const uint32_t wanted = all ? every : next() % (every + 1);
  const float *p;
  int32_t key = -1;
  o.all = heed_options_default();
  if (wanted & ranges) want_ranges(s);
  if (wanted & mask) key = want_mask(s);
  if (wanted & softcap) check(heed_softcap_init(&o.softcap, (float)between(1, 64) * 0.5f)), o.all.softcap = &o.softcap;
  if (wanted & alibi && (p = take_for_heads(s, 0))) check(heed_alibi_init(&o.alibi, p)), o.all.alibi = &o.alibi;
  if (wanted & sinks) {
    check(heed_sinks_init(&o.sinks, next() % 2 ? take_for_heads(s, 1) : NULL));
    o.all.sinks = &o.sinks;
  }
  if (wanted & lse) want_lse(s);
  if (wanted & sums) want_sums(s);
  if (wanted & topk_weights) want_top_k(s);
  if (wanted & scores) want_scores(s);
  if (wanted & weights) want_weights(s);
  return key;
}

static void add_outputs(const struct shape *s) {
  if (o.all.lse) add(o.lse.out.data, (size_t)rows_of(s));
  if (o.all.column_sums) add(o.sums.out.data, (size_t)(s->batch * s->n_heads * s->n_kv));
  if (o.all.scores) add(o.scores.out.data, (size_t)(rows_of(s) * s->n_kv));
  if (o.all.weights) add(o.weights.out.data, (size_t)(rows_of(s) * s->n_kv));
  if (!o.all.topk_weights) return;
  const int32_t n = rows_of(s) * o.topk_weights.k;
  add(o.topk_weights.weights, (size_t)n);
  for (int32_t i = 0; i < n; i++) {
    const float key = (float)top_keys[i];
    add(&key, 1);
  }
}

#endif
