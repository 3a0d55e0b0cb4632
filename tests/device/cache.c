/* Caches: tokens come in pieces, are turned, narrowed and taken back; after each piece some are attended to. Digests
 * are of the results and of saved memory. SPDX-License-Identifier: MIT */
#include "pool.h"

enum { n_caches = 96, n_pieces = 6, most_bytes = pool_floats * 2 };

static heed_cache cache;
static heed_cache_shape shape;
static heed_rope rope;

static void draw_shape(int i) {
  do {
    shape = heed_cache_shape_default(1, 1, 1);
    shape.kind = i / 4 % 2 ? HEED_CACHE_RING : HEED_CACHE_LINEAR;
    shape.dtype = i % 4;
    shape.capacity = between(1, 60);
    if (shape.kind == HEED_CACHE_RING) shape.spare = between(0, 3), shape.pinned = between(0, 2);
    shape.n_sequences = between(1, 2), shape.n_kv_heads = between(1, 2);
    shape.head_dim = between(1, 8), shape.v_dim = between(1, 8);
  } while (heed_cache_bytes(&shape) == 0 || heed_cache_bytes(&shape) > most_bytes);
}

static int32_t length_of(int32_t sequence) { return heed_cache_length(&cache, sequence); }

/* As many new tokens for each sequence as there is room for, up to n. */
static void append(int32_t n) {
  const int32_t start = used;
  for (int32_t b = 0; b < shape.n_sequences; b++, used = start) {
    int32_t count = between(1, n);
    if (shape.kind == HEED_CACHE_LINEAR && count > shape.capacity - length_of(b)) count = shape.capacity - length_of(b);
    if (count < 1) continue;
    const float *k = take_filled(count * shape.n_kv_heads * shape.head_dim);
    const float *v = take_filled(count * shape.n_kv_heads * shape.v_dim);
    check(heed_rope_init(&rope, between(0, 1)));
    rope.rotary_dim = shape.head_dim / 2 * 2;
    MEASURED(of_cache, check(heed_cache_append(&cache, b, heed_token_major(k, count, shape.n_kv_heads, shape.head_dim),
                                               heed_head_major(v, count, shape.n_kv_heads, shape.v_dim), count,
                                               shape.head_dim > 1 && next() % 2 ? &rope : NULL)));
  }
}

static void attend(int i) {
  const int32_t start = used, n_heads = shape.n_kv_heads * between(1, 3), n_q = between(1, shape.spare + 1);
  const int32_t n_out = shape.n_sequences * n_heads * n_q * shape.v_dim;
  const float *q = take_filled(shape.n_sequences * n_heads * n_q * shape.head_dim);
  float *out = take(n_out), *logs = take(shape.n_sequences * n_heads * n_q);
  heed_attention call = heed_attention_of_cache(&cache, q, n_q, n_heads, out, workspace);
  call.workspace.bytes =
      (size_t)between((int32_t)heed_workspace_min_bytes(shape.head_dim, shape.v_dim), workspace_bytes);
  if (next() % 4 == 0) call.executor = &backwards;
  call.options = &o.all;
  o.all = heed_options_default();
  check(heed_lse_init(&o.lse, heed_token_major_out(logs, n_q, n_heads, 1)));
  o.all.lse = &o.lse;
  check(heed_sinks_init(&o.sinks, NULL));
  if (i % 2) o.all.sinks = &o.sinks;
  check(heed_softcap_init(&o.softcap, 2));
  if (i % 3 == 0) o.all.softcap = &o.softcap;
  MEASURED(of_options, check(heed_attention_run(&call)));
  add(out, (size_t)n_out);
  add(logs, (size_t)(shape.n_sequences * n_heads * n_q));
  used = start;
}

static void live(int i) {
  draw_shape(i);
  const heed_memory memory = {pool, heed_cache_bytes(&shape)};
  for (size_t j = 0; j < memory.bytes; j++) ((unsigned char *)pool)[j] = 0xff;
  used = (int32_t)(memory.bytes / 4);
  check(heed_cache_init(&cache, &shape, memory));
  for (int piece = 0; piece < n_pieces; piece++) {
    /* Long ones first, which only the last of their queries see. */
    append(piece < 3 ? shape.capacity < 20 ? shape.capacity : 20 : shape.spare + 1);
    attend(i + piece);
    if (shape.spare > 0 && length_of(0) > shape.spare && next() % 4 == 0)
      check(heed_cache_truncate(&cache, 0, length_of(0) - 1));
  }
  MEASURED(of_cache, check(heed_cache_save(&cache)));
  MEASURED(of_cache, check(heed_cache_load(&cache, &shape, memory)));
  add(pool, 32 + 16); /* header with checksum, lengths */
}

/* Bad calls: the same status as on the PC. */
static void refuse(void) {
  draw_shape(0);
  const heed_memory memory = {pool, heed_cache_bytes(&shape)};
  const heed_tensor x = {pool + memory.bytes / 4, 0, 0, 0}, none = {NULL, 0, 0, 0};
  int32_t i = 0;
  print_status("cache", i++, heed_cache_init(&cache, &shape, heed_memory_of(pool, memory.bytes - 1)));
  shape.pinned = 1;
  print_status("cache", i++, heed_cache_init(&cache, &shape, memory));
  shape.pinned = 0, shape.dtype = 4;
  print_status("cache", i++, heed_cache_init(&cache, &shape, memory));
  shape.dtype = 0;
  print_status("cache", i++, heed_cache_init(&cache, &shape, memory));
  print_status("cache", i++, heed_cache_append(&cache, 0, x, x, shape.capacity + 1, NULL));
  print_status("cache", i++, heed_cache_append(&cache, 0, x, none, 1, NULL));
  print_status("cache", i++, heed_cache_append(&cache, -1, x, x, 1, NULL));
  print_status("cache", i++, heed_cache_truncate(&cache, 0, 1));
  print_status("cache", i++, heed_cache_length(&cache, 9));
  print_status("cache", i++, heed_cache_load(&cache, &shape, memory));
  print_status("cache", i++, heed_cache_longest(NULL));
  cache.code = NULL;
  print_status("cache", i++, heed_cache_reset(&cache));
}

int random_caches(void) {
  n_refused = 0;
  digest_begin();
  for (int i = 0; i < n_caches; i++) live(i), print_each_32("caches", i);
  refuse();
  return n_refused;
}
