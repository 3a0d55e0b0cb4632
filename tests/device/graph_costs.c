/* What the calls of a graph's program cost, as call_costs.c, whose costs of heed's functions count here, too.
 * ports/compile/onnx/target_steps.cpp says what is counted. SPDX-License-Identifier: MIT */
#include "graph_recurrent.h"
#include "heed/heed.h"

#include "costs.h"

enum { most = 4096, most_dim = 32 };

static float x[most], y[most], w[most], more[most], room[1024];
static int32_t whole[most], whole_too[most];
static uint8_t bytes[most], bytes_too[most];
HEED_MEMORY(packed, HEED_WEIGHTS_PACKED_BYTES(HEED_F32, most_dim, 4 * most_dim));
HEED_MEMORY(workspace, HEED_WORKSPACE_BYTES(most_dim, most_dim));

/* ------------------------------------------------------------------------------------------------------------ loops */

static const heed_graph_loop loops[] = {
    {1, {512}, {{1}, {1}, {1}}},
    {2, {16, 24}, {{24, 1}, {24, 1}, {0, 1}}},
    {3, {4, 8, 5}, {{40, 5, 1}, {40, 5, 1}, {40, 5, 0}}},
    {2, {24, 16}, {{16, 1}, {1, 24}, {16, 1}}},
    {2, {40, 4}, {{4, 1}, {4, 1}, {4, 1}}},
    {1, {8}, {{1}, {1}, {0}}},
};
enum { n_loops = sizeof loops / sizeof *loops };

static int64_t elements_of(const heed_graph_loop *l) {
  int64_t n = 1;
  for (int32_t d = 0; d < l->n_dims; d++) n *= l->dims[d];
  return n;
}

/* Elements that lie side by side in whole blocks of 8, other elements, rows, and 1. by_blocks: the function makes a difference. */
static void end_loop(const char *what, const char *kind, const heed_graph_loop *l, int by_blocks, heed_status status) {
  const int32_t last = l->dims[l->n_dims - 1];
  const int is_side_by_side = by_blocks && l->strides[0][l->n_dims - 1] == 1 && l->strides[1][l->n_dims - 1] == 1;
  const int64_t all = elements_of(l), rows = all / last, blocks = is_side_by_side ? rows * (last / 8 * 8) : 0;
  const int64_t counts[] = {blocks, all - blocks, rows, 1};
  end(what, kind, counts, 4, status);
}

static void loop_calls(void) {
  for (int i = 0; i < n_loops; i++) {
    const heed_graph_loop *const l = loops + i;
    begin(), end_loop("copy ", "words", l, 1, heed_graph_copy(y, x, l));
    begin(),
        end_loop("integers ", "int32", l, 0, heed_graph_combine_integers(HEED_GRAPH_ADD, whole_too, whole, whole, l));
    begin(), end_loop("integers ", "booleans", l, 0,
                      heed_graph_compare_integers(HEED_GRAPH_LESS, bytes_too, whole, whole_too, l));
    begin(), end_loop("choose ", "words", l, 0, heed_graph_choose(y, bytes, x, w, l));
    begin(), end_loop("compare ", "f32", l, 0, heed_graph_compare(HEED_GRAPH_LESS, bytes_too, x, w, l));
    begin(), end_loop("integers ", "of_floats", l, 0, heed_graph_float_to_integer(whole_too, x, l));
    begin(), end_loop("floats ", "of_integers", l, 0, heed_graph_integer_to_float(y, whole, l));
  }
}

static void maps(int32_t function, const char *name, const float *from, int by_blocks) {
  for (int i = 0; i < n_loops; i++)
    begin(), end_loop("map ", name, loops + i, by_blocks, heed_graph_map(function, y, from, loops + i));
}

static void combinations(int32_t operation, const char *name, int by_blocks) {
  for (int i = 0; i < n_loops; i++)
    begin(), end_loop("combine ", name, loops + i, by_blocks, heed_graph_combine(operation, y, more, w, loops + i));
}

/* ------------------------------------------------------------------------------------------------ reductions, indices */

/* Elements, rows of the inner loop, results, and 1. */
static void reductions(int32_t reduction, const char *name) {
  static const heed_graph_loop outer[] = {
      {1, {16}, {{1}, {24}}}, {1, {24}, {{1}, {1}}}, {2, {4, 4}, {{4, 1}, {64, 4}}}, {1, {1}, {{1}, {1}}}};
  static const heed_graph_loop inner[] = {
      {1, {24}, {{0}, {1}}}, {1, {16}, {{0}, {24}}}, {2, {3, 4}, {{0}, {16, 1}}}, {2, {16, 8}, {{0}, {24, 1}}}};
  for (int i = 0; i < 4; i++) {
    const int64_t n = elements_of(outer + i), each = elements_of(inner + i);
    const int64_t counts[] = {n * each, n * each / inner[i].dims[inner[i].n_dims - 1], n, 1};
    begin();
    if (name[0] == 'i')
      end("reduce ", name, counts, 4, heed_graph_reduce_integers(reduction, whole_too, whole, outer + i, inner + i));
    else
      end("reduce ", name, counts, 4, heed_graph_reduce(reduction, y, x, outer + i, inner + i));
  }
}

static void indices(void) {
  static const int sizes[][4] = {{1, 40, 12, 32}, {1, 40, 5, 1}, {8, 16, 3, 4}, {2, 9, 9, 16}};
  for (int i = 0; i < 4; i++) {
    const int outer = sizes[i][0], from = sizes[i][1], n = sizes[i][2], inner = sizes[i][3], all = outer * n * inner;
    const int64_t counts[] = {all, outer * n, 1}, of_rows[] = {n * inner, n, 1},
                  of_lines[] = {outer * from * inner, outer * inner, 1};
    for (int k = 0; k < all; k++) whole[k] = k % from;
    begin(), end("indices ", "gather", counts, 3, heed_graph_gather(y, x, whole, outer, from, n, inner));
    begin(), end("indices ", "gather_each", counts, 3, heed_graph_gather_each(y, x, whole, outer, from, n, inner));
    begin(), end("indices ", "scatter_sums", of_rows, 3, heed_graph_scatter_sums(y, x, whole, from, n, inner));
    begin(), end("lines ", "argmax", of_lines, 3, heed_graph_argmax(whole_too, x, outer, from, inner, 0, 0));
    begin(), end("lines ", "cumulate", of_lines, 3, heed_graph_cumulate(y, x, outer, from, inner, 0, 0));
    const int k = from < 5 ? from : 5;
    const int64_t of_best[] = {outer * from, outer * k, 1};
    begin(), end("lines ", "topk", of_best, 3, heed_graph_topk(y, whole_too, x, outer, from, k));
  }
}

/* ------------------------------------------------------------------------------------------------------------- rows */

static void rows(void) {
  static const int sizes[][2] = {{1, 64}, {1, 160}, {16, 64}, {24, 96}, {48, 16}, {12, 5}};
  for (int i = 0; i < 6; i++) {
    const int n = sizes[i][0], dim = sizes[i][1];
    const int64_t counts[] = {n * dim, n, 1}, of_columns[] = {n * dim, (dim + 15) / 16, dim, 1};
    begin(), end("rows ", "softmax", counts, 3, heed_graph_softmax(y, x, n, dim, NULL));
    begin(), end("rows ", "mean", of_columns, 4, heed_graph_mean_rows(y, x, n, dim, dim, NULL));
    begin(),
        end("activation ", "heed_sigmoid", counts, 3, heed_graph_activation(heed_sigmoid, y, x, NULL, n, dim, NULL));
    begin(), end("gated ", "heed_sigmoid", counts, 3, heed_graph_activation(heed_sigmoid, y, x, w, n, dim, NULL));
  }
  static const int groups[][3] = {{16, 32, 4},  {8, 64, 1},   {40, 8, 2},   {20, 96, 6}, {30, 48, 2},
                                  {30, 16, 16}, {12, 48, 48}, {40, 20, 20}, {64, 8, 8},  {10, 32, 32}};
  for (int i = 0; i < 10; i++) {
    const int n = groups[i][0], dim = groups[i][1], n_groups = groups[i][2];
    const int64_t of_groups[] = {n * dim, n * n_groups, n_groups, 1}, of_columns[] = {n * dim, (dim + 15) / 16, dim, 1};
    begin();
    const heed_status status = heed_graph_group_norm(y, x, n, dim, w, w, n_groups, 1e-5f, NULL);
    end("group_norm ", dim > n_groups ? "groups" : "columns", dim > n_groups ? of_groups : of_columns, 4, status);
  }
}

/* One product; b is (n_in, n_out), or (n_out, n_in). */
static void products(int32_t layout, const char *kind) {
  static const int sizes[][3] = {{1, 32, 32},  {1, 64, 16},  {1, 16, 64},  {8, 32, 32},
                                 {16, 32, 16}, {17, 16, 17}, {24, 24, 32}, {4, 64, 32}};
  char name[16];
  for (int i = 0; i < 8; i++) {
    const int n = sizes[i][0], k = sizes[i][1], m = sizes[i][2];
    const heed_graph_products p = {{1, {1}, {{0}, {0}, {0}}}, n, k, m, k, layout == HEED_OUT_IN ? k : m, layout};
    const int64_t counts[] = {k * m, n * k * m, n * k, n * m, 1};
    begin();
    end(of_rows("product", n, name), kind, counts, 5, heed_graph_multiply(y, x, w, &p, NULL));
  }
}

/* What a mask adds to attention: for each pair of a query and a key, and once. */
static void masks(void) {
  static const int sizes[][3] = {{12, 4, 8}, {17, 2, 16}, {24, 2, 32}, {32, 1, 16}};
  for (int i = 0; i < 4; i++) {
    const int n = sizes[i][0], heads = sizes[i][1], dim = sizes[i][2], row = heads * dim;
    heed_graph_attention a = {1,
                              heads,
                              heads,
                              n,
                              n,
                              dim,
                              dim,
                              0,
                              0,
                              0,
                              HEED_SCALE_DEFAULT,
                              0.0f,
                              {0, dim, row},
                              {0, dim, row},
                              {0, dim, row},
                              {0, dim, row},
                              {0, 0, n}};
    uint64_t without = 0;
    for (int mask = HEED_GRAPH_NO_MASK; mask <= HEED_GRAPH_ADDITIVE_MASK; mask++) {
      static const char *const names[] = {"none", "boolean", "additive"};
      const int64_t counts[] = {heads * n * n, heads * n, 1};
      a.mask = mask;
      begin();
      const heed_status status = heed_graph_attend(
          y, x, x, x, mask == HEED_GRAPH_BOOLEAN_MASK ? (const void *)bytes : w, &a, workspace.data, NULL);
      if (mask == HEED_GRAPH_NO_MASK)
        without = since_begin();
      else
        end_without(without, "mask ", names[mask], counts, 3, status);
    }
  }
}

/* A step of one row without its product. */
static void recurrent(void) {
  static const int sizes[][2] = {{1, 16}, {1, 32}, {4, 8}, {8, 24}};
  for (int i = 0; i < 4; i++) {
    const int steps = sizes[i][0], n = sizes[i][1];
    const int64_t counts[] = {steps * n, steps, 1};
    for (int gates = 4; gates >= 3; gates--) {
      heed_weights r = heed_weights_of(w, NULL, HEED_F32, HEED_IN_OUT, n, gates * n);
      heed_status status = heed_weights_pack(r, HEED_F32, packed);
      if (status == HEED_OK) status = heed_weights_open(&r, packed.data, packed.bytes);
      begin();
      for (int s = 0; s < steps && status == HEED_OK; s++) status = heed_graph_linear(room, more, 1, n, &r, NULL, NULL);
      const uint64_t of_products = since_begin();
      begin();
      if (status == HEED_OK && gates == 4)
        status = heed_graph_lstm(y, more, more + 64, room, x, &r, steps, 1, n, 0, NULL);
      else if (status == HEED_OK)
        status = heed_graph_gru(y, more, room, x, &r, NULL, NULL, steps, 1, n, 0, NULL);
      end_without(of_products, "step ", gates == 4 ? "lstm" : "gru", counts, 3, status);
    }
  }
}

/* Products of numbers and products with 0, results, and 1: of blocks of 8 channels, each of which is a group; and of others: both products,
 * places of the window, pixels, results, and 1. zeros: of each so many numbers of x one is 0; or 0. */
static void convolutions(int zeros) {
  for (int i = 0; zeros != 0 && i < most; i += zeros) x[i] = 0.0f;
  static const int sizes[][5] = {{16, 16, 6, 5, 3}, {8, 8, 9, 9, 3},  {24, 24, 4, 4, 2},
                                 {8, 8, 5, 5, 5},   {12, 4, 6, 6, 3}, {4, 4, 8, 8, 3},
                                 {6, 1, 7, 7, 2},   {8, 2, 5, 5, 3},  {5, 5, 6, 6, 1}};
  for (int i = 0; i < 9; i++) {
    const int n = sizes[i][0], groups = sizes[i][1], height = sizes[i][2], width = sizes[i][3], side = sizes[i][4];
    const int is_by_channel = i < 4, in = is_by_channel ? n : groups * 2;
    const int in_group = in / groups;
    const heed_graph_convolution c = {
        1, n, groups, in_group, height, width, side, side, 1, 1, 1, 1, {0, 1, in * (width + side), in}};
    const int64_t pixels = height * width, taps = side * side * in_group, chunks = pixels * ((n + 7) / 8);
    const int64_t products = pixels * n * taps, of_zeros = zeros != 0 ? products / zeros : 0;
    const int64_t blocks[] = {products - of_zeros, of_zeros, pixels * n, 1},
                  others[] = {products - of_zeros, of_zeros, chunks * taps, chunks, pixels * n, 1};
    begin();
    const heed_status status = heed_graph_convolve(y, x, w, w, &c);
    if (is_by_channel)
      end("convolve ", "blocks", blocks, 4, status);
    else
      end("convolve ", "others", others, 6, status);
  }
}

int main(void) {
  start_counting();
  fill(x, most, 1.0f), fill(w, most, 0.1f), fill(more, most, 0.7f);
  for (int i = 0; i < most; i++) whole[i] = i * 37 % 101 - 50, bytes[i] = (uint8_t)(i % 3 != 0);
  loop_calls();
  combinations(HEED_GRAPH_ADD, "ADD", 1), combinations(HEED_GRAPH_MUL, "MUL", 1),
      combinations(HEED_GRAPH_DIV, "DIV", 1);
  combinations(HEED_GRAPH_MAX, "MAX", 1), combinations(HEED_GRAPH_PRELU, "PRELU", 1);
  maps(HEED_GRAPH_NEGATE, "NEGATE", x, 0), maps(HEED_GRAPH_EXP, "EXP", x, 0);
  maps(HEED_GRAPH_ERF, "ERF", x, 0), maps(HEED_GRAPH_SIN, "SIN", x, 0), maps(HEED_GRAPH_FLOOR, "FLOOR", x, 0);
  maps(HEED_GRAPH_SOFTPLUS, "SOFTPLUS", x, 0), maps(HEED_GRAPH_SQUARE, "SQUARE", x, 0),
      maps(HEED_GRAPH_HARD_SWISH, "HARD_SWISH", x, 1);
  for (int i = 0; i < most; i++) more[i] = more[i] < 0.0f ? -more[i] : more[i];
  maps(HEED_GRAPH_SQRT, "SQRT", more, 0), maps(HEED_GRAPH_LOG, "LOG", more, 0), combinations(HEED_GRAPH_POW, "POW", 0);
  reductions(HEED_GRAPH_SUM, "SUM"), reductions(HEED_GRAPH_GREATEST, "GREATEST"), reductions(HEED_GRAPH_SUM, "int32");
  reductions(HEED_GRAPH_SUM_OF_SQUARES, "SUM_OF_SQUARES"), reductions(HEED_GRAPH_LOG_SUM_EXP, "LOG_SUM_EXP");
  indices(), rows();
  products(HEED_IN_OUT, "in_out"), products(HEED_OUT_IN, "out_in");
  masks(), recurrent(), convolutions(0), convolutions(3), convolutions(1);
  return finish();
}
