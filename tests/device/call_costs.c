/* What the calls of a compiled program cost, in instructions that an emulated board counts: calls of several sizes, a line for each.
 * ports/compile/target_cost.cpp says what is counted; tests/target_costs.awk makes a line of ports/compile/target_costs.inc of them. SPDX-License-Identifier: MIT */
#include "heed/heed.h"
#include "heed/int_products.h"

#include "costs.h"

enum {
  most_in = 160,
  most_out = 160,
  most_rows = 64,
  most_keys = 64,
  head_dim_most = 32,
  most_numbers = most_rows * most_in,
  cache_bytes = HEED_CACHE_BYTES(most_keys, 1, 4, head_dim_most, head_dim_most, HEED_F32)
};

static float x[most_numbers], y[most_numbers], w[most_in * most_out], bias[most_in];
static float keys[most_keys * 4 * head_dim_most];
HEED_MEMORY(packed, HEED_WEIGHTS_PACKED_BYTES(HEED_F32, most_in, most_out));
HEED_MEMORY(workspace, HEED_WORKSPACE_BYTES(head_dim_most, head_dim_most));
HEED_MEMORY(cache_memory, cache_bytes);

static const char *const formats[] = {"f32", "f16", "bf16", "int8", "q8_0", "int4"};

static void linear(int32_t dtype, int in_integers) {
  static const int sizes[][3] = {{1, 64, 64},  {1, 160, 64},  {1, 64, 160}, {1, 128, 128}, {1, 64, 96},   {2, 128, 64},
                                 {4, 64, 160}, {7, 64, 64},   {8, 64, 64},  {16, 64, 64},  {16, 160, 64}, {17, 64, 128},
                                 {48, 64, 64}, {13, 96, 160}, {4, 32, 32},  {6, 32, 32}};
  char name[16], call[16];
  int n = 0;
  for (const char *c = formats[dtype]; *c; c++) name[n++] = *c;
  if (in_integers) name[n++] = '.', name[n++] = 'i';
  name[n] = 0;
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int rows = sizes[i][0], n_in = sizes[i][1], n_out = sizes[i][2];
    heed_weights of = heed_weights_of(w, NULL, HEED_F32, HEED_IN_OUT, n_in, n_out);
    heed_status status = heed_weights_pack(of, dtype, packed);
    if (status == HEED_OK) status = heed_weights_open(&of, packed.data, packed.bytes);
    if (status == HEED_OK && in_integers) status = heed_weights_in_integers(&of, of);
    const int64_t counts[] = {n_in * n_out, rows * n_in * n_out, rows * n_in, rows * n_out, 1};
    begin();
    if (status == HEED_OK)
      status = heed_linear(heed_matrix_of(x, rows, n_in), of, bias, heed_matrix_out_of(y, rows, n_out), NULL);
    end(of_rows("linear", rows, call), name, counts, 5, status);
    if (rows > 4 || in_integers) continue;
    static const int32_t tokens[] = {3, 1, 0, 2};
    const int64_t numbers[] = {rows * n_in, rows, 1};
    begin();
    status = heed_gather_rows(of, tokens, heed_matrix_out_of(y, rows, n_in));
    end("gather ", name, numbers, 3, status);
  }
}

static heed_status fill_cache(heed_cache *cache, const heed_cache_shape *shape, int n) {
  heed_status status = heed_cache_init(cache, shape, heed_memory_of(cache_memory.data, heed_cache_bytes(shape)));
  const heed_tensor all = heed_token_major(keys, n, shape->n_kv_heads, shape->head_dim);
  if (status == HEED_OK && n > 0) status = heed_cache_append(cache, 0, all, all, n, NULL);
  return status;
}

static void attend_cache(int32_t dtype) {
  static const int sizes[][5] = {{1, 16, 4, 2, 16}, {1, 64, 4, 4, 16},  {1, 64, 4, 1, 32},  {1, 64, 4, 2, 16},
                                 {1, 33, 4, 2, 32}, {1, 40, 2, 1, 32},  {1, 50, 4, 1, 16},  {7, 30, 4, 2, 16},
                                 {4, 40, 2, 1, 32}, {16, 16, 4, 2, 16}, {16, 64, 4, 4, 16}, {16, 48, 4, 2, 32},
                                 {8, 64, 4, 2, 16}, {16, 32, 4, 1, 32}, {3, 20, 4, 2, 16}};
  char name[16];
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int q = sizes[i][0], n = sizes[i][1], heads = sizes[i][2], kv = sizes[i][3], dim = sizes[i][4];
    heed_cache_shape shape = heed_cache_shape_default(most_keys, kv, dim);
    heed_cache cache;
    shape.dtype = dtype;
    heed_status status = fill_cache(&cache, &shape, n - q);
    const heed_tensor more = heed_token_major(keys, q, kv, dim);
    const int64_t numbers[] = {2 * q * kv * dim, q, 1};
    begin();
    if (status == HEED_OK) status = heed_cache_append(&cache, 0, more, more, q, NULL);
    end("append ", formats[dtype], numbers, 3, status);
    const int64_t pairs = (int64_t)heads * q * (2 * n - q + 1) / 2;
    const int64_t counts[] = {(int64_t)n * kv * dim, pairs * dim, pairs, q * heads * dim, q * heads, 1};
    const heed_attention call = heed_attention_of_cache(&cache, x, q, heads, y, workspace);
    begin();
    if (status == HEED_OK) status = heed_attention_run(&call);
    end(of_rows("attention", q, name), formats[dtype], counts, 6, status);
  }
}

static void attend(void) {
  static const int sizes[][4] = {{17, 17, 4, 16}, {24, 24, 2, 32},  {2, 32, 4, 16}, {16, 64, 4, 16}, {16, 48, 2, 32},
                                 {5, 5, 2, 16},   {1, 17, 4, 16},   {1, 40, 2, 32}, {1, 64, 4, 32},  {1, 60, 2, 16},
                                 {64, 64, 4, 16}, {40, 128, 2, 32}, {6, 6, 2, 8},   {12, 12, 4, 8}};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int q = sizes[i][0], n = sizes[i][1], heads = sizes[i][2], dim = sizes[i][3];
    const int64_t pairs = (int64_t)heads * q * n;
    char name[16];
    const int64_t counts[] = {(int64_t)n * heads * dim, pairs * dim, pairs, q * heads * dim, q * heads, 1};
    const heed_attention call = heed_attention_of(x, keys, keys, q, n, heads, heads, dim, y, workspace);
    begin();
    end(of_rows("attention", q, name), "none", counts, 6, heed_attention_run(&call));
  }
}

typedef heed_status norm(heed_matrix, const float *, const float *, float, heed_matrix_out, const heed_executor *);
typedef heed_status activation(heed_matrix, heed_matrix, heed_matrix_out, const heed_executor *);

static void rows_of_norm(norm *call, const char *name, const float *shift) {
  static const int sizes[][2] = {{1, 64}, {1, 160}, {16, 64}, {24, 160}, {64, 16}, {32, 32}};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int rows = sizes[i][0], dim = sizes[i][1];
    const int64_t counts[] = {rows * dim, rows, 1};
    begin();
    end("norm ", name, counts, 3,
        call(heed_matrix_of(x, rows, dim), w, shift, 1e-5f, heed_matrix_out_of(y, rows, dim), NULL));
  }
}

static void rows_of_activation(activation *call, const char *name) {
  static const int sizes[][2] = {{1, 96}, {1, 160}, {16, 64}, {24, 160}, {1, 48}};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int rows = sizes[i][0], dim = sizes[i][1];
    const int64_t counts[] = {rows * dim, rows, 1};
    const heed_matrix_out out = heed_matrix_out_of(y, rows, dim);
    begin();
    end("activation ", name, counts, 3, call(heed_matrix_of(x, rows, dim), heed_no_matrix(), out, NULL));
    if (rows > 16) continue;
    begin();
    end("gated ", name, counts, 3, call(heed_matrix_of(x, rows, dim), heed_matrix_of(w, rows, dim), out, NULL));
  }
}

static void add(void) {
  for (int rows = 1; rows <= 16; rows *= 4) {
    const int64_t counts[] = {rows * 64, rows, 1};
    begin();
    end("add ", "f32", counts, 3,
        heed_add(heed_matrix_of(x, rows, 64), heed_matrix_of(w, rows, 64), heed_matrix_out_of(y, rows, 64), NULL));
  }
}

/* An angle for each pair of a row's elements, and a rotation of each element. */
static void rotate(void) {
  static const int sizes[][3] = {{1, 4, 16}, {1, 2, 16}, {16, 4, 16}, {16, 2, 32}, {16, 1, 32}, {1, 4, 32}};
  heed_rope rope;
  heed_status status = heed_rope_init(&rope, HEED_ROPE_HALVES);
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int rows = sizes[i][0], heads = sizes[i][1], dim = sizes[i][2];
    const int64_t counts[] = {rows * heads * dim, rows * dim, 1};
    begin();
    if (status == HEED_OK)
      status = heed_rope_apply(&rope, heed_token_major(x, rows, heads, dim), rows, heads, dim, 20, NULL,
                               heed_token_major_out(y, rows, heads, dim), NULL);
    end("rope ", "f32", counts, 3, status);
  }
}

/* Pixels of a picture become patches: a loop of the program itself. */
static void copy_picture(void) {
  enum { size = 16, patch = 8, channels = 3, row = patch * channels, n = patch * row };
  const int64_t counts[] = {4 * n};
  begin();
  for (int32_t p = 0; p < 4; ++p) {
    const int32_t corner = (p / 2 * patch * size + p % 2 * patch) * channels;
    for (int32_t i = 0; i < n; ++i) y[i] = x[corner + i / row * size * channels + i % row];
  }
  end("picture ", "f32", counts, 1, HEED_OK);
}

/* Loops of programs of speech: samples become floats; windows of them are folded; powers become logarithms. */
enum { window = 400, step = 160, n_samples = 1600 };
static int16_t samples[n_samples];
static float number_of(int32_t i) { return (float)samples[i] * (1.0f / 32768.0f); }
static float sample_of(int32_t i, int32_t end) {
  if (i < 0) i = -i;
  if (i >= end) i = 2 * end - 2 - i;
  return i < n_samples ? number_of(i) : 0.0f;
}
static int32_t log_of(float power) {
  enum { quarter_of_log10_2 = 323228497 };
  union {
    float number;
    uint32_t bits;
  } p;
  p.number = power >= 1e-10f ? power : 1e-10f;
  uint64_t log2 = (uint64_t)((p.bits >> 23) - 63) << 24, square = (uint64_t)((p.bits & 0x7fffff) | 0x800000) << 8;
  for (uint32_t bit = 1u << 23; bit > 0; bit >>= 1) {
    square = square * square >> 31;
    if (square >> 32 == 0) continue;
    square >>= 1;
    log2 += bit;
  }
  return (int32_t)(log2 * quarter_of_log10_2 >> 32) - quarter_of_log10_2 / 4 + (1 << 24);
}

static void hear(void) {
  const int64_t of_samples[] = {n_samples}, of_windows[] = {8 * window}, of_powers[] = {640};
  for (int32_t i = 0; i < n_samples; i++) samples[i] = (int16_t)((i * i % 257 - 128) * (i % 1000) / 10);
  begin();
  for (int32_t i = 0; i < n_samples; i++) x[i] = number_of(i);
  end("sound ", "samples", of_samples, 1, HEED_OK);
  begin();
  for (int32_t r = 0; r < 8; r++)
    for (int32_t i = 1; i < window / 2; i++) {
      const int32_t first = r * step - window / 2;
      const float a = sample_of(first + i, n_samples), b = sample_of(first + window - i, n_samples);
      x[r * window + i] = a + b, y[r * window + i] = a - b;
    }
  end("sound ", "windows", of_windows, 1, HEED_OK);
  int32_t greatest = INT32_MIN;
  begin();
  for (int32_t i = 0; i < 640; i++) {
    const int32_t log = log_of(w[i] * w[i]);
    greatest = log > greatest ? log : greatest;
    y[i] = (float)log * (1.0f / 16777216.0f);
  }
  for (int32_t i = 0; i < 640; i++)
    if (y[i] < (float)(greatest - (2 << 24)) * (1.0f / 16777216.0f)) y[i] = 0.0f;
  end("sound ", "logarithms", of_powers, 1, HEED_OK);
}

int main(void) {
  start_counting();
  fill(x, most_numbers, 1.0f), fill(w, most_in * most_out, 0.1f);
  fill(bias, most_in, 0.1f), fill(keys, most_keys * 4 * head_dim_most, 0.7f);
  for (int32_t dtype = HEED_F32; dtype <= HEED_Q4_0; dtype++) {
    linear(dtype, 0);
    if (dtype >= HEED_INT8) linear(dtype, 1);
    if (dtype <= HEED_INT8) attend_cache(dtype);
  }
  attend();
  copy_picture();
  rows_of_norm(heed_rms_norm, "heed_rms_norm", NULL),
      rows_of_norm(heed_rms_norm_plus_one, "heed_rms_norm_plus_one", NULL);
  rows_of_norm(heed_layer_norm, "heed_layer_norm", w);
  rows_of_activation(heed_gelu, "heed_gelu"), rows_of_activation(heed_gelu_tanh, "heed_gelu_tanh");
  rows_of_activation(heed_silu, "heed_silu"), rows_of_activation(heed_relu, "heed_relu"),
      rows_of_activation(heed_tanh, "heed_tanh");
  add(), rotate(), hear();
  return finish();
}
