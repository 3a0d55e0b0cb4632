/* What each size of the headers has to be, for sizes.c: in sums and products of 64 bits that do not wrap. The numbers of a
 * shape lie in an array, each from 1 up: what may be 0 is one more. SPDX-License-Identifier: MIT */
#ifndef HEED_TESTS_SUPPORT_SIZES_H
#define HEED_TESTS_SUPPORT_SIZES_H

#include "heed/heed.h"
#include "heed/integers.h"

enum { most_dims = 12 };
static const uint64_t too_many = (uint64_t)1 << 63;

static uint64_t plus(uint64_t a, uint64_t b) { return a > too_many - b ? too_many : a + b; }
static uint64_t times(uint64_t a, uint64_t b) { return b > 0 && a > too_many / b ? too_many : a * b; }
static uint64_t up(uint64_t n, uint64_t step) { return n >= too_many ? n : (n + step - 1) / step * step; }
static uint64_t greater(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint32_t state = 1;
static int32_t below(int32_t n) {
  state = state * 1664525u + 1013904223u;
  return (int32_t)((state >> 1) % (uint32_t)n);
}
/* 1 to most: of all magnitudes, and the limits themselves. */
static int32_t draw(int32_t most) {
  int32_t reach = 1;
  if (below(8) == 0) return most;
  while (reach < most && below(12) > 0) reach = reach > most / 2 ? most : 2 * reach;
  return 1 + below(reach);
}

typedef const int32_t *dims;

static uint64_t workspace(uint64_t head_dim, uint64_t v_dim) {
  return 4 * (head_dim + v_dim <= 1024 ? 48 : 16) * (88 + up(v_dim, 16) + head_dim);
}
static uint64_t workspace_min(uint64_t v_dim) { return 16 * (88 + up(v_dim, 16)); }
static uint64_t int_scores(uint64_t head_dim, uint64_t v_dim) {
  return 1024 + 4 * up(v_dim, 16) + 4 * up(head_dim, 16) + 64;
}
static uint64_t int_partial_row(uint64_t v_dim) { return 16 * (v_dim + 1) + 8; }
static uint64_t int_workspace_min(uint64_t head_dim, uint64_t v_dim) {
  return int_scores(head_dim, v_dim) + int_partial_row(v_dim);
}
static uint64_t int_workspace(uint64_t head_dim, uint64_t v_dim) {
  return 8 * int_scores(head_dim, v_dim) + 32 * int_partial_row(v_dim) + 512 * (up(head_dim, 16) + up(v_dim, 16));
}
static uint64_t of_sample(dims d) { return times(8, (uint64_t)d[0]); }
static uint64_t of_sequence(dims d) { return times(4, times((uint64_t)d[0], (uint64_t)d[1])); }
static uint64_t of_partial(dims d) {
  return times(times(4, times((uint64_t)d[0], (uint64_t)d[1])), times((uint64_t)d[2], (uint64_t)d[3] + 2));
}
static uint64_t of_workspace(dims d) { return workspace((uint64_t)d[0], (uint64_t)d[1]); }
static uint64_t of_workspace_min(dims d) { return workspace_min((uint64_t)d[1]); }
static uint64_t of_int_workspace(dims d) { return int_workspace((uint64_t)d[0], (uint64_t)d[1]); }
static uint64_t of_int_workspace_min(dims d) { return int_workspace_min((uint64_t)d[0], (uint64_t)d[1]); }
static uint64_t of_int_partial_row(dims d) { return int_partial_row((uint64_t)d[0]); }

static const int32_t cache_formats[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8};
static const int32_t cache_bytes[] = {4, 2, 2, 1};
/* n_sequences, heads, head_dim, v_dim, format; slots of a head */
static uint64_t cache(uint64_t slots, dims d) {
  const uint64_t row = times((uint64_t)d[2] + (uint64_t)d[3], (uint64_t)cache_bytes[d[4] - 1]) + (d[4] == 4 ? 8 : 0);
  const uint64_t heads = times((uint64_t)d[0], (uint64_t)d[1]);
  if (slots > INT32_MAX) return too_many; /* slots are an int32 */
  return plus(plus(128, up(16 * (uint64_t)d[0], 64)), times(times(heads, slots), row));
}
static uint64_t of_cache(dims d) { return cache(up((uint64_t)d[0], 64), d + 1); }
static uint64_t of_ring(dims d) {
  return cache(up((uint64_t)d[0] - 1, 64) + up((uint64_t)d[1] + (uint64_t)d[2] - 1, 64), d + 3);
}
static uint64_t int_cache(uint64_t slots, dims d) {
  const uint64_t rows = times(times((uint64_t)d[0], (uint64_t)d[1]), slots);
  return plus(plus(64, up(16 * (uint64_t)d[0], 64)), times(rows, (uint64_t)d[2] + (uint64_t)d[3]));
}
static uint64_t of_int_cache(dims d) { return int_cache((uint64_t)d[0], d + 1); }
static uint64_t of_int_ring(dims d) { return int_cache(up((uint64_t)d[0] + (uint64_t)d[1] - 1, 32), d + 2); }

static uint64_t of_packed(dims d) {
  const uint64_t in = (uint64_t)d[1], out = up((uint64_t)d[0], 16), blocks = (in + 31) / 32;
  const int32_t dtype = d[2] == 7 ? HEED_UINT8 : d[2] - 1;
  uint64_t each = 2 * in;
  if (dtype == HEED_F32) each = 4 * in;
  if (dtype == HEED_INT8) each = 4 + up(in, 4);
  if (dtype == HEED_UINT8) each = 8 + up(in, 4);
  if (dtype == HEED_Q8_0) each = 34 * blocks;
  if (dtype == HEED_Q4_0) each = 18 * blocks;
  return plus(64, up(times(out, each), 64));
}

/* Of a layer: n, heads of a group, n_kv_heads, head_dim, v_dim, model_dim, ffn_dim, gated, parallel, order, others */
enum { l_n, l_group, l_kv_heads, l_head_dim, l_v_dim, l_dim, l_hidden, l_gated, l_parallel, l_order, l_rest, l_cross };
static uint64_t heads_of(dims d) { return times((uint64_t)d[l_group], (uint64_t)d[l_kv_heads]); }
static uint64_t hidden_of(dims d) {
  const uint64_t twice = d[l_gated] > 1 || d[l_order] > 1 ? 2 : 1;
  return twice * ((uint64_t)d[l_hidden] + (d[l_parallel] > 1 ? (uint64_t)d[l_dim] : 0));
}
static uint64_t of_attention_layer(dims d) {
  const uint64_t head_dim = (uint64_t)d[l_head_dim], v_dim = (uint64_t)d[l_v_dim];
  const uint64_t row = times(heads_of(d) + (uint64_t)d[l_kv_heads], head_dim + v_dim);
  return plus(up(times(4 * (uint64_t)d[l_n], row), 64), workspace(head_dim, v_dim));
}
static uint64_t of_layer(dims d) {
  const uint64_t head_dim = (uint64_t)d[l_head_dim], v_dim = (uint64_t)d[l_v_dim];
  const uint64_t row = times(heads_of(d) + (uint64_t)d[l_kv_heads], head_dim + v_dim);
  const uint64_t all = (uint64_t)d[l_dim] + greater(row, hidden_of(d));
  return plus(up(times(4 * (uint64_t)d[l_n], all), 64), workspace(head_dim, v_dim));
}
static uint64_t of_layer_min(dims d) {
  const uint64_t head_dim = (uint64_t)d[l_head_dim], v_dim = (uint64_t)d[l_v_dim], both = head_dim + v_dim;
  const uint64_t keys = times((uint64_t)d[l_n], times((uint64_t)d[l_kv_heads], both));
  const uint64_t one = (uint64_t)d[l_dim] + greater(times(heads_of(d), both), hidden_of(d));
  return plus(up(times(4, keys + one), 64), workspace_min(v_dim));
}
/* The same numbers, but v_dim is head_dim, and the last says whether there is a cache. */
static uint64_t int_row(dims d) {
  const uint64_t twice = d[l_gated] > 1 ? 2 : 1;
  const uint64_t inner = greater(2 * times(heads_of(d), (uint64_t)d[l_head_dim]), twice * (uint64_t)d[l_hidden]);
  return up(3 * (uint64_t)d[l_dim] + inner, 64);
}
static uint64_t int_keys(dims d) {
  if (d[l_cross] > 1) return 0;
  return 2 * up(times(times((uint64_t)d[l_n], (uint64_t)d[l_kv_heads]), (uint64_t)d[l_head_dim]), 64);
}
static uint64_t of_int_layer(dims d) {
  const uint64_t head_dim = (uint64_t)d[l_head_dim];
  return plus(int_keys(d), 32 * int_row(d) + up(int_workspace(head_dim, head_dim), 64));
}
static uint64_t of_int_layer_min(dims d) {
  const uint64_t head_dim = (uint64_t)d[l_head_dim];
  return plus(int_keys(d), int_row(d) + up(int_workspace_min(head_dim, head_dim), 64));
}

#endif
