/* What the calls of a program without a float cost: as call_costs.c, for heed_compile --integers. ports/compile/target_integers.cpp says
 * what is counted. A layer checks what it is given once, and then makes the calls without their checks; so what the same call takes of no
 * rows is left out. SPDX-License-Identifier: MIT */
#include "heed/integers.h"

#include "costs.h"

enum { most_in = 160, most_out = 160, most_rows = 64, most_dim = 64, most_numbers = most_rows * most_in };

static int8_t x[most_numbers], y[most_numbers], w[most_in * most_out], keys[most_rows * 2 * most_dim];
static int16_t wide[most_numbers], wide_too[most_numbers];
static int32_t bias[most_in];
static heed_multiplier multipliers[most_out];
HEED_MEMORY(workspace, HEED_INT_WORKSPACE_MIN_BYTES(most_dim, most_dim));

static void fill_bytes(int8_t *to, int n) {
  uint32_t state = 1;
  for (int i = 0; i < n; i++) to[i] = (int8_t)(number(&state) * 40.0f);
}

static void linear(void) {
  static const int sizes[][3] = {{1, 64, 64}, {1, 160, 64}, {1, 64, 160}, {1, 128, 128}, {1, 48, 32}, {2, 64, 64},
                                 {4, 64, 64}, {4, 128, 32}, {4, 32, 128}, {4, 160, 160}, {6, 64, 96}, {8, 64, 64}};
  char name[16];
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int rows = sizes[i][0], n_in = sizes[i][1], n_out = sizes[i][2];
    const heed_weights of = heed_weights_of(w, NULL, HEED_INT8, HEED_OUT_IN, n_in, n_out);
    const int64_t counts[] = {n_in * n_out, rows * n_in * n_out, rows * n_in, rows * n_out, 1};
    uint64_t checks = 0;
    for (int n = 0; n <= rows; n += rows) {
      begin();
      const heed_status status = heed_int_linear(heed_int_matrix_of(x, HEED_INT8, n, n_in, 0), of, bias, multipliers,
                                                 heed_int_matrix_out_of(y, HEED_INT8, n, n_out, 0), NULL);
      if (n == 0)
        checks = since_begin();
      else
        end_without(checks, of_rows("linear", rows, name), "int", counts, 5, status);
    }
  }
}

static void attend(void) {
  static const int sizes[][4] = {{1, 17, 4, 16}, {4, 17, 4, 16}, {4, 40, 2, 64}, {4, 64, 2, 32}, {1, 64, 4, 32},
                                 {3, 24, 2, 32}, {4, 64, 1, 16}, {2, 48, 4, 16}, {4, 12, 4, 32}, {4, 33, 3, 32}};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int q = sizes[i][0], n = sizes[i][1], heads = sizes[i][2], dim = sizes[i][3];
    const int64_t pairs = (int64_t)heads * q * n;
    const int64_t counts[] = {(int64_t)n * heads * dim, pairs * dim, pairs, q * heads * dim, q * heads, 1};
    heed_int_attention call =
        heed_int_attention_of(x, keys, keys, q, n, heads, heads, dim, y,
                              heed_memory_of(workspace.data, heed_int_workspace_min_bytes(dim, dim)));
    call.score.m = call.value.m = 0x60000000;
    call.score.e = -10, call.value.e = 0;
    uint64_t checks = 0;
    for (int n_q = 0; n_q <= q; n_q += q) {
      call.n_q = n_q;
      begin();
      const heed_status status = heed_int_attention_run(&call);
      if (n_q == 0)
        checks = since_begin();
      else
        end_without(checks, "attention ", "int", counts, 6, status);
    }
  }
}

static void rows_of(const char *what) {
  static const int sizes[][2] = {{1, 64}, {1, 160}, {4, 64}, {4, 160}, {16, 32}};
  static const heed_multiplier half = {0x5a000000, 0}, quarter = {0x4a000000, -1};
  const heed_int_norm norm = {bias, bias, 16, 7};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int rows = sizes[i][0], dim = sizes[i][1];
    const int64_t counts[] = {rows * dim, rows, 1};
    uint64_t checks = 0;
    for (int n = 0; n <= rows; n += rows) {
      const heed_int_matrix bytes = heed_int_matrix_of(x, HEED_INT8, n, dim, 3),
                            of_x = heed_int_matrix_of(wide, HEED_INT16, n, dim, 0);
      const heed_int_matrix_out to = heed_int_matrix_out_of(y, HEED_INT8, n, dim, 3),
                                to_wide = heed_int_matrix_out_of(wide_too, HEED_INT16, n, dim, 0);
      heed_status status;
      begin();
      switch (*what) {
        case 'l':
          status = heed_int_layer_norm(of_x, norm, to, NULL);
          break;
        case 'r':
          status = heed_int_rms_norm(of_x, norm, to, NULL);
          break;
        case 'a':
          status = heed_int_add(of_x, half, of_x, quarter, to_wide, NULL);
          break;
        case 's':
          status = heed_int_rescale(of_x, quarter, to, NULL);
          break;
        case 't':
          status = heed_int_lookup(bytes, keys, to, NULL);
          break;
        default:
          status = heed_int_multiply(bytes, bytes, quarter, to, NULL);
      }
      if (n == 0)
        checks = since_begin();
      else
        end_without(checks, "int ", what, counts, 3, status);
    }
  }
}

static void rope(void) {
  static const int sizes[][4] = {{1, 4, 16, 16}, {1, 2, 32, 32}, {4, 4, 16, 16},
                                 {4, 2, 64, 32}, {3, 3, 24, 24}, {4, 1, 8, 8}};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int rows = sizes[i][0], heads = sizes[i][1], dim = sizes[i][2], rotary = sizes[i][3];
    const heed_int_rope of = {wide, 8, rotary, HEED_ROPE_HALVES};
    const int64_t counts[] = {rows * heads * rotary, rows * heads, 1};
    uint64_t checks = 0;
    for (int n = 0; n <= rows; n += rows) {
      begin();
      const heed_status status =
          heed_int_rope_run(&of, heed_int_matrix_out_of(y, HEED_INT8, n, heads * dim, 0), heads, 3, NULL);
      if (n == 0)
        checks = since_begin();
      else
        end_without(checks, "int ", "rope", counts, 3, status);
    }
  }
}

/* Loops of the program itself: a norm of channels takes away their scales, pixels become patches. */
static void loops(void) {
  enum { size = 16, patch = 8, channels = 3, row = patch * channels, n = patch * row };
  const int64_t counts[] = {4 * n};
  begin();
  for (int32_t r = 0; r < 8; ++r)
    for (int32_t i = 0; i < 96; ++i) wide_too[r * 96 + i] = (int16_t)((wide[r * 96 + i] * bias[i] + 16384) >> 15);
  end("int ", "channels", counts, 1, HEED_OK);
  begin();
  for (int32_t p = 0; p < 4; ++p) {
    const int32_t corner = (p / 2 * patch * size + p % 2 * patch) * channels;
    for (int32_t i = 0; i < n; ++i) y[i] = x[corner + i / row * size * channels + i % row];
  }
  end("int ", "picture", counts, 1, HEED_OK);
}

int main(void) {
  start_counting();
  fill_bytes(x, most_numbers), fill_bytes(w, most_in * most_out), fill_bytes(keys, sizeof keys);
  for (int i = 0; i < most_numbers; i++) wide[i] = (int16_t)(x[i] * 150 + i % 149);
  for (int i = 0; i < most_in; i++) bias[i] = 30000 + 77 * x[i];
  for (int i = 0; i < most_out; i++) multipliers[i].m = 0x48000000 + 0x100000 * i, multipliers[i].e = -8;
  linear(), attend(), rope();
  rows_of("layer_norm"), rows_of("rms_norm"), rows_of("add"), rows_of("scale"), rows_of("table"), rows_of("multiply");
  loops();
  return finish();
}
