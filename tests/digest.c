/* Prints one number per kernel for the bits of several hundred results: "fma avx2 0123456789abcdef". Kernels of one
 * arithmetic must agree, on every processor and with every compiler. C99 and no test framework, so that it builds for any
 * target. Exit status: 0 if all kernels here agree, 1 if not. SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "heed/heed.h"
#include "support/digest.h"

enum { max_floats = 1 << 17 };
HEED_MEMORY(all_memory, 1 << 18);
static float q[max_floats], k[max_floats], v[max_floats], out[max_floats], weights[max_floats];

static int n_refused;
static void check(heed_status status) {
  if (status != HEED_OK && n_refused++ == 0)
    fprintf(stderr, "a call is refused: %s: %s\n", heed_status_argument(status), heed_status_text(status));
}

/* An executor without threads that takes the last task first. */
static void run_backwards(void *user, int32_t n_tasks, heed_task task, void *context) {
  (void)user;
  for (int32_t i = n_tasks - 1; i >= 0; i--) task(context, i, i % 3);
}
static const heed_executor backwards = {sizeof(heed_executor), 3, run_backwards, NULL};

/* One special number: where it is seen, and in a key that is masked for most rows. */
static void spoil(heed_attention *call, int kind) {
  const float special = float_of(kind == 0 ? 0x7f800000 : kind == 1 ? 0xff800000 : 0x7fc00000);
  const int32_t row = between(0, call->n_kv - 1);
  (next() % 2 ? k : v)[row * (int32_t)call->k.row_stride % (call->n_kv * call->n_kv_heads)] = special;
}

static void attend(int32_t n_q, int32_t n_kv, int32_t n_kv_heads, int32_t group, int32_t dim, int32_t v_dim, int kind) {
  const int32_t n_heads = n_kv_heads * group;
  heed_attention call = heed_attention_of(q, k, v, n_q, n_kv, n_heads, n_kv_heads, dim, out, all_memory);
  heed_attention_weights of_rows;
  heed_options options = heed_options_default();
  call.v_dim = v_dim;
  call.v = next() % 2 ? heed_token_major(v, n_kv, n_kv_heads, v_dim) : heed_head_major(v, n_kv, n_kv_heads, v_dim);
  call.out = heed_token_major_out(out, n_q, n_heads, v_dim);
  call.causal = (int32_t)(next() % 2);
  call.position = between(-2, n_kv - n_q > 0 ? n_kv - n_q + 1 : 1);
  if (kind == 1) call.scale = (float)between(-64, 64) * 0x1p-5f;
  if (call.scale == 0) call.scale = HEED_SCALE_DEFAULT;
  if (kind == 2 && n_kv <= 64) call.scale = 1e25f; /* one block: nothing is rescaled towards subnormal numbers */
  if (next() % 2) {
    check(heed_attention_weights_init(&of_rows, heed_head_major_out(weights, n_q, n_heads, n_kv)));
    options.weights = &of_rows;
    call.options = &options;
  }
  const size_t least = heed_workspace_min_bytes(dim, v_dim), most = 3 * heed_workspace_bytes(dim, v_dim);
  call.workspace.bytes = least + (most > least ? next() % (most - least) : 0);
  if (call.workspace.bytes > all_memory.bytes) call.workspace.bytes = all_memory.bytes;
  if (next() % 2 || kind == 3) call.executor = &backwards;
  fill(q, n_q * n_heads * dim);
  fill(k, n_kv * n_kv_heads * dim);
  fill(v, n_kv * n_kv_heads * v_dim);
  if (kind >= 4) spoil(&call, kind - 4);
  check(heed_attention_run(&call));
  add(out, (size_t)n_q * n_heads * v_dim);
  if (call.options) add(weights, (size_t)n_q * n_heads * n_kv);
}

static void attention(void) {
  for (int i = 0; i < 500; i++) {
    /* One draw to a statement: compilers differ in the order in which they evaluate arguments. */
    const int32_t n_q = between(1, 24), n_kv = between(1, 80), n_kv_heads = between(1, 2), group = between(1, 3);
    const int32_t dim = between(1, 36), v_dim = between(1, 36);
    attend(n_q, n_kv, n_kv_heads, group, dim, v_dim, i % 7);
  }
  for (int i = 0; i < 20; i++) {
    const int32_t n_q = between(1, 3), n_kv = between(1000, 2200), dim = between(1, 9);
    attend(n_q, n_kv, 1, 1, dim, dim + 1, i % 2);
  }
  for (int i = 0; i < 4; i++) {
    const int32_t n_q = between(48, 53), n_kv = between(127, 131);
    attend(n_q, n_kv, 1, 2, 64, 64, i % 2);
  }
  attend(1, 3000, 1, 8, 43, 43, 3); /* large enough to be split over the executor, by chunks */
  attend(4, 9, 1, 1, 600, 600, 0);
}

static void primitives(void) {
  for (int i = 0; i < 200; i++)
    q[i] = (float)i * -0.5f; /* with the factor 1, every tie of the exponential's rounding */
  check(heed_softmax(heed_matrix_of(q, 1, 200), 0x1.62e43p-1f, heed_matrix_out_of(out, 1, 200), NULL));
  add(out, 200);
  for (int i = 0; i < 300; i++) {
    const int32_t n = between(1, 30), in = between(1, 70), columns = between(1, 100);
    fill(q, n * in);
    fill(k, in * columns);
    fill(v, columns);
    const float *bias = i % 2 ? v : NULL;
    check(heed_linear(heed_matrix_of(q, n, in), heed_weights_of_matrix(heed_matrix_of(k, in, columns)), bias,
                      heed_matrix_out_of(out, n, columns), i % 3 ? NULL : &backwards));
    add(out, (size_t)n * columns);
    check(heed_weighted_sum(heed_matrix_of(q, n, in), heed_matrix_of(k, in, columns),
                            heed_matrix_out_of(out, n, columns), NULL));
    add(out, (size_t)n * columns);
    float scale = (float)between(-40, 40);
    if (scale == 0) { /* which the library refuses: equal weights, as of zeros */
      for (int32_t j = 0; j < in * columns; j++) k[j] = 0;
      scale = 1;
    }
    check(heed_softmax(heed_matrix_of(k, in, columns), scale, heed_matrix_out_of(k, in, columns), NULL));
    add(k, (size_t)in * columns);
    const int32_t length = i % 10 ? between(1, 300) : between(1000, 9000);
    fill(q, length);
    fill(v, length);
    check(heed_dot(q, v, length, out));
    add(out, 1);
  }
}

static void layers(void) {
  static float w[4][4096], x[2048];
  for (int i = 0; i < 60; i++) {
    const int32_t n = between(1, 30), model_dim = between(1, 40), kv_heads = between(1, 2), dim = between(1, 12);
    heed_attention_layer layer = heed_attention_layer_default(model_dim, kv_heads * 2);
    layer.n_kv_heads = kv_heads;
    layer.head_dim = layer.v_dim = dim;
    layer.causal = i % 2;
    layer.wq = heed_weights_of(w[0], NULL, HEED_F32, HEED_IN_OUT, model_dim, 2 * kv_heads * dim);
    layer.wk = heed_weights_of(w[1], NULL, HEED_F32, HEED_IN_OUT, model_dim, kv_heads * dim);
    layer.wv = heed_weights_of(w[2], NULL, HEED_F32, HEED_IN_OUT, model_dim, kv_heads * dim);
    layer.wo = heed_weights_of(w[3], NULL, HEED_F32, HEED_IN_OUT, 2 * kv_heads * dim, model_dim);
    layer.bo = i % 3 ? w[0] : NULL;
    for (int j = 0; j < 4; j++) fill(w[j], 4096);
    fill(x, n * model_dim);
    const heed_matrix rows = heed_matrix_of(x, n, model_dim);
    const heed_matrix_out results = heed_matrix_out_of(out, n, model_dim);
    check(heed_attention_layer_run(&layer, rows, results, all_memory, NULL));
    add(out, (size_t)n * model_dim);
    check(heed_self_attention(rows, HEED_SCALE_DEFAULT, results, all_memory));
    add(out, (size_t)n * model_dim);
  }
}

/* Packed weights have the same bytes everywhere: this number. Changing it is a new version of packed weights. */
static const uint64_t right_bytes = 0x41f82cb3d2cc88b8;

/* Products with packed weights, from every format, to `digest`; their bytes to *bytes. Weights that were not converted
 * must give the bits that they give unpacked. */
static void packed_weights(uint64_t *bytes) {
  static float scales[100];
  digest_begin();
  *bytes = digest;
  for (int i = 0; i < 192; i++) {
    const int32_t n_in = between(1, 100), n_out = between(1, 100), n = between(1, 9);
    const int32_t from = i / 6 % 4, dtype = i % 6, layout = i / 24 % 2;
    const int32_t n_rows = layout == HEED_IN_OUT ? n_in : n_out, dim = layout == HEED_IN_OUT ? n_out : n_in;
    fill(q, n * n_in);
    fill(v, n_in * n_out);
    const heed_matrix w = heed_matrix_of(v, n_rows, dim);
    if (from == HEED_INT8)
      check(heed_weights_quantize(w, layout, (int8_t *)(void *)k, scales));
    else
      check(heed_convert_from_f32(w, heed_typed_matrix_out_of(k, NULL, from, n_rows, dim)));
    const heed_weights plain = heed_weights_of(k, scales, from, layout, n_in, n_out);
    heed_weights packed;
    check(heed_weights_pack(plain, dtype, all_memory));
    check(heed_weights_open(&packed, all_memory.data, all_memory.bytes));
    for (size_t j = 0; j < heed_weights_packed_bytes(dtype, n_in, n_out); j++)
      *bytes = (*bytes ^ ((const unsigned char *)all_memory.data)[j]) * 1099511628211u;
    const heed_matrix x = heed_matrix_of(q, n, n_in);
    check(heed_linear(x, packed, i % 5 ? q : NULL, heed_matrix_out_of(out, n, n_out), NULL));
    add(out, (size_t)n * (size_t)n_out);
    check(heed_linear(x, plain, i % 5 ? q : NULL, heed_matrix_out_of(weights, n, n_out), NULL));
    if (from == dtype && memcmp(out, weights, (size_t)n * (size_t)n_out * sizeof *out) != 0 && n_refused++ == 0)
      fprintf(stderr, "packed weights give other bits than the same ones unpacked\n");
  }
}

int main(void) {
  uint64_t first[2] = {0, 0}, first_packed[2] = {0, 0}, bytes;
  int seen[2] = {0, 0}, disagreements = 0;
  for (int32_t i = 0; i < heed_isa_count(); i++) {
    const char *name = heed_isa_name(i);
    const int32_t arithmetic = heed_isa_arithmetic(name);
    if (heed_isa_use(name) != HEED_OK) continue; /* a build with one fixed kernel */
    digest_begin();
    attention();
    primitives();
    layers();
    printf("%s %s %08lx%08lx\n", arithmetic == HEED_ARITHMETIC_FMA ? "fma" : "no-fma", name,
           (unsigned long)(digest >> 32), (unsigned long)(digest & 0xffffffff));
    if (!seen[arithmetic]) first[arithmetic] = digest;
    disagreements += first[arithmetic] != digest;
    packed_weights(&bytes);
    if (!seen[arithmetic]) first_packed[arithmetic] = digest;
    seen[arithmetic] = 1;
    disagreements += first_packed[arithmetic] != digest;
    if (bytes != right_bytes && n_refused++ == 0)
      fprintf(stderr, "packed weights have other bytes: %08lx%08lx\n", (unsigned long)(bytes >> 32),
              (unsigned long)(bytes & 0xffffffff));
  }
  if (disagreements) fprintf(stderr, "%d kernels give other bits than the first of their arithmetic\n", disagreements);
  return disagreements || n_refused || !(seen[0] || seen[1]);
}
