// Layers have no doors: a public call checks its arguments once, whatever it is made of. The program is linked so that each
// checker::finish() is counted (tests/CMakeLists.txt), and every call below must end one check.
// SPDX-License-Identifier: MIT
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "heed/heed.h"
#include "heed/integers.h"

static int checks;
extern "C" heed_status real_finish(void *checker) __asm__("__real__ZN4heed7checker6finishEv");
extern "C" heed_status counted_finish(void *checker) __asm__("__wrap__ZN4heed7checker6finishEv");
heed_status counted_finish(void *checker) {
  checks++;
  return real_finish(checker);
}

static int failures;
static void expect_one(const char *name, heed_status status) {
  if (status != HEED_OK || checks != 1) {
    printf("FAILED: %s: %s, %d checks\n", name, heed_status_text(status), checks);
    failures++;
  }
  checks = 0;
}

enum { rows = 20, dim = 32, heads = 4, hidden = 64 };
HEED_MEMORY(workspace, HEED_TRANSFORMER_LAYER_BYTES(rows, dim, heads, heads, 2 * hidden, 1));
HEED_MEMORY(cache_memory, HEED_CACHE_BYTES(64, 1, heads, dim / heads, dim / heads, HEED_INT8));
static float weights[4 * dim * hidden], x[rows * dim], y[rows * dim];

static void run_floats() {
  for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
    weights[i] = static_cast<float>(i % 17) * 0x1p-6f - 0.1f;
  for (int i = 0; i < rows * dim; i++) x[i] = static_cast<float>(i % 13) * 0.1f - 0.6f;
  const heed_matrix from = heed_matrix_of(x, rows, dim);
  const heed_matrix_out to = heed_matrix_out_of(y, rows, dim);
  heed_cache cache;
  heed_rope rope;
  heed_cache_shape shape = heed_cache_shape_default(64, heads, dim / heads);
  shape.dtype = HEED_INT8;
  heed_status status = heed_cache_init(&cache, &shape, cache_memory);
  if (status == HEED_OK) status = heed_rope_init(&rope, HEED_ROPE_HALVES);
  heed_attention_layer attention = heed_attention_layer_default(dim, heads);
  attention.wq = attention.wk = attention.wv = attention.wo =
      heed_weights_of(weights, nullptr, HEED_F32, HEED_OUT_IN, dim, dim);
  heed_transformer_layer layer = heed_transformer_layer_default(&attention, hidden, heed_layer_norm, heed_gelu);
  layer.w_up = heed_weights_of(weights, nullptr, HEED_F32, HEED_OUT_IN, dim, hidden);
  layer.w_down = heed_weights_of(weights, nullptr, HEED_F32, HEED_OUT_IN, hidden, dim);
  heed_attention call = heed_attention_of(x, x, x, rows, rows, heads, heads, dim / heads, y, workspace);
  checks = 0;
  expect_one("attention", status == HEED_OK ? heed_attention_run(&call) : status);
  expect_one("attention layer", heed_attention_layer_run(&attention, from, to, workspace, nullptr));
  expect_one("encoder layer, norms last", heed_transformer_layer_run(&layer, from, to, workspace, nullptr));
  layer.norm_first = layer.post_norm = 1;
  layer.norm = heed_rms_norm;
  layer.activation = heed_silu;
  layer.w_gate = layer.w_up;
  attention.causal = 1;
  attention.qk_norm = heed_rms_norm;
  attention.rope = &rope;
  attention.cache = &cache;
  expect_one("decoder layer: rope, cache, gate, norms of q and k",
             heed_transformer_layer_run(&layer, from, to, workspace, nullptr));
  attention.cache = nullptr;
  layer.post_norm = 0;
  layer.parallel = 1;
  layer.norm = heed_rms_norm_plus_one;
  expect_one("parallel layer", heed_transformer_layer_run(&layer, from, to, workspace, nullptr));
}

HEED_MEMORY(int_workspace, HEED_INT_LAYER_BYTES(rows, dim, heads, heads, dim / heads, hidden, 1));
static int8_t int_weights[dim * hidden], table[256];
static int16_t int_x[rows * dim], int_y[rows * dim];
static int32_t norm_weights[dim];
static heed_multiplier multipliers[hidden];

static heed_int_projection projection(int32_t n_in, int32_t n_out) {
  heed_int_projection p;
  memset(&p, 0, sizeof p);
  p.w = heed_weights_of(int_weights, nullptr, HEED_INT8, HEED_OUT_IN, n_in, n_out);
  p.multipliers = multipliers;
  return p;
}
static int16_t rope_table[rows * dim / heads];
static void run_integers() {
  const heed_multiplier one = {0x40000000, -6};
  for (int i = 0; i < dim * hidden; i++) int_weights[i] = static_cast<int8_t>(i % 23 - 11);
  for (int i = 0; i < rows * dim; i++) int_x[i] = static_cast<int16_t>(i % 101 * 40 - 2000);
  for (int i = 0; i < 256; i++) table[i] = static_cast<int8_t>(i - 128);
  for (int32_t &w : norm_weights) w = 1 << 14;
  for (heed_multiplier &m : multipliers) m = one;
  heed_int_layer layer = heed_int_layer_default(dim, heads, hidden, heed_int_layer_norm);
  layer.wq = layer.wk = layer.wv = layer.wo = projection(dim, dim);
  layer.w_up = layer.w_gate = projection(dim, hidden);
  layer.w_down = projection(hidden, dim);
  layer.norm1.weight = layer.norm2.weight = norm_weights;
  layer.activation = table;
  layer.score = layer.value = one;
  layer.of_x = layer.of_attention = layer.of_a = layer.of_hidden = layer.to_h = layer.to_g = layer.gate = one;
  const heed_int_matrix from = heed_int_matrix_of(int_x, HEED_INT16, rows, dim, 0);
  const heed_int_matrix_out to = heed_int_matrix_out_of(int_y, HEED_INT16, rows, dim, 0);
  const heed_int_rope rope = {rope_table, rows, dim / heads, HEED_ROPE_HALVES};
  layer.rope = &rope;
  layer.norm_first = 1;
  checks = 0;
  expect_one("integers, norms first", heed_int_layer_run(&layer, from, to, int_workspace, nullptr));
  layer.norm_first = 0;
  layer.norm = heed_int_rms_norm;
  expect_one("integers, norms last", heed_int_layer_run(&layer, from, to, int_workspace, nullptr));
}

int main() {
  run_floats();
  run_integers();
  if (failures == 0) printf("every call checks its arguments once\n");
  return failures != 0;
}
