/* Prints two numbers per kernel of integers, for the bits of several hundred results of attention and of products:
 * "integers avx2 0123456789abcdef", "integer products avx2 0123456789abcdef". They are the same on every processor and
 * with every compiler: the ones below. C99, no floating-point arithmetic, and no test framework, so that it builds for
 * any target. Exit status: 0 if all kernels here give them, 1 if not.
 * SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>

#include "heed/integers.h"
#include "support/digest.h"

/* A change of the rules is a new number. */
static const uint64_t right_attention = 0x6b2db99f2a7cd3db, right_products = 0x66a5ee16d86e5def;

enum { max_rows = 80, max_keys = 1100, max_bytes = 1 << 16, max_dim = 48, max_results = max_rows * max_dim };
enum { max_product_rows = 26, max_out = 147 };
HEED_MEMORY(all_memory, 1 << 17);
HEED_MEMORY(partials, 2 * max_rows * HEED_INT_PARTIAL_ROW_BYTES(max_dim));
HEED_ALIGNED static int8_t q[max_results], k[max_bytes], v[max_bytes];
HEED_ALIGNED static int16_t out[max_results];
static uint8_t mask[max_bytes];
static int32_t lse[max_rows], lengths[2], sinks[8];
static heed_multiplier scores[max_rows], values[8], multipliers[max_out];
static int32_t bias[max_out];
static const float float_scales[max_out] = {0}; /* packed weights keep them, integers do not read them */
static int n_refused;

static void check(heed_status status) {
  if (status != HEED_OK && n_refused++ == 0) fprintf(stderr, "a call is refused: %d\n", (int)status);
}
static void add_bytes(const void *x, int32_t n) {
  for (int32_t i = 0; i < n; i++) digest = (digest ^ ((const uint8_t *)x)[i]) * 1099511628211u;
}
static void fill_bytes(void *x, int32_t n, uint32_t least) {
  for (int32_t i = 0; i < n; i++) ((uint8_t *)x)[i] = (uint8_t)(least + (next() >> 24) % (256 - 2 * least));
}
static heed_multiplier multiplier(int32_t low, int32_t high) {
  heed_multiplier m;
  m.m = (int32_t)(0x40000000 + (next() >> 2));
  m.e = between(low, high);
  return m;
}
/* An executor without threads that takes the last task first. */
static void run_backwards(void *user, int32_t n_tasks, heed_task task, void *context) {
  (void)user;
  for (int32_t i = n_tasks - 1; i >= 0; i--) task(context, i, i % 3);
}
static const heed_executor backwards = {sizeof(heed_executor), 3, run_backwards, NULL};

/* Keys [begin, end) alone, to the partial `to`. */
static void run_part(const heed_int_attention *call, int32_t begin, int32_t end, heed_memory to) {
  heed_int_attention part = *call;
  part.n_kv = end - begin;
  part.position -= begin;
  part.k.data += begin * part.k.row_stride;
  part.v.data += begin * part.v.row_stride;
  if (part.mask.data) part.mask.data += begin;
  part.partial = to;
  check(heed_int_attention_run(&part));
}

/* The same call in two parts, which are merged: the same results are added once more. */
static void run_split(heed_int_attention *call) {
  const int32_t rows = call->batch_size * call->n_heads * call->n_q, v_dim = call->v_dim;
  const int32_t at = between(1, (call->n_kv - 1) / HEED_INT_BLOCK) * HEED_INT_BLOCK;
  const heed_memory one = heed_memory_of(partials.data, partials.bytes / 2);
  const heed_memory two = heed_memory_of((char *)partials.data + partials.bytes / 2, partials.bytes / 2);
  check(heed_int_partial_clear(rows, v_dim, one));
  check(heed_int_partial_clear(rows, v_dim, two));
  run_part(call, at, call->n_kv, one);
  run_part(call, 0, at, two);
  check(heed_int_partial_merge(rows, v_dim, one, two));
  call->partial = one;
  check(heed_int_partial_finish(call));
}

static void add_numbers(int32_t dtype, int32_t n) {
  if (dtype == HEED_INT8) {
    add_bytes(out, n);
    return;
  }
  for (int32_t i = 0; i < n; i++) { /* in one order of bytes */
    const uint16_t x = (uint16_t)out[i];
    const uint8_t bytes[2] = {(uint8_t)(x & 255), (uint8_t)(x >> 8)};
    add_bytes(bytes, 2);
  }
}
static void add_results(const heed_int_attention *call) {
  const int32_t rows = call->batch_size * call->n_heads * call->n_q;
  add_numbers(call->out.dtype, rows * call->v_dim);
  for (int32_t i = 0; call->lse && i < rows; i++)
    for (int byte = 0; byte < 4; byte++) digest = (digest ^ ((uint32_t)lse[i] >> 8 * byte & 255)) * 1099511628211u;
}

static void attend(int kind) {
  const int32_t batch = between(1, 2), n_kv_heads = between(1, 2), n_heads = n_kv_heads * between(1, 2);
  const int32_t n_q = between(1, max_rows / batch / n_heads), dim = between(1, max_dim), v_dim = between(1, max_dim);
  const int32_t wide = dim > v_dim ? dim : v_dim;
  const int32_t most = max_bytes / (batch * n_kv_heads * wide), n_kv = between(1, kind % 4 ? 90 : max_keys);
  const int32_t keys = n_kv < most ? n_kv : most, typical = between(-16, -12);
  heed_int_attention call =
      heed_int_attention_of(q, k, v, n_q, keys, n_heads, n_kv_heads, dim, (int8_t *)(void *)out, all_memory);
  call.batch_size = batch;
  call.v_dim = v_dim;
  call.v.head_stride = call.out.head_stride = v_dim;
  call.v.row_stride = n_kv_heads * v_dim;
  call.v.batch_stride = call.v.row_stride * keys;
  call.out.row_stride = n_heads * v_dim;
  call.out.batch_stride = call.out.row_stride * n_q;
  call.score = multiplier(typical, typical);
  if (kind % 7 == 6) call.score = multiplier(-31, 0);
  call.value = multiplier(-2, 4);
  if (kind % 3) {
    call.out.dtype = HEED_INT16;
    call.value = multiplier(4, 10);
  }
  if (kind % 5 > 2) {
    call.q.zero_point = between(-128, 127);
    call.k.zero_point = between(-128, 127);
    call.v.zero_point = between(-128, 127);
    call.out.zero_point = between(-128, 127);
  }
  call.causal = between(0, 1);
  call.position = between(-2, keys);
  if (kind % 3 == 1) call.left_window = between(0, 40);
  if (kind % 4 == 3) call.right_window = between(0, 9);
  fill_bytes(q, batch * n_q * n_heads * dim, 0);
  fill_bytes(k, batch * keys * n_kv_heads * dim, kind % 11 == 10 ? 124 : 0);
  fill_bytes(v, batch * keys * n_kv_heads * v_dim, 0);
  if (kind % 6 == 4 && n_q * keys <= max_bytes) {
    for (int32_t i = 0; i < n_q * keys; i++) mask[i] = next() % 4 != 0;
    call.mask.data = mask;
    call.mask.query_stride = keys;
  }
  if (kind % 5 == 1) {
    for (int32_t h = 0; h < n_heads; h++) sinks[h] = between(-30000, 60000);
    call.sinks = sinks;
  }
  if (kind % 6 == 1) {
    for (int32_t i = 0; i < n_q; i++) scores[i] = multiplier(typical, typical + 1);
    for (int32_t h = 0; h < n_heads; h++) values[h] = multiplier(-1, 8);
    call.scores = scores;
    call.scores_row_stride = 1;
    call.values = values;
  }
  if (kind % 9 == 2) {
    for (int32_t b = 0; b < batch; b++) lengths[b] = between(0, keys);
    call.kv_lengths = lengths;
  }
  if (kind % 2) call.lse = lse;
  const size_t least = heed_int_workspace_min_bytes(dim, v_dim);
  call.workspace.bytes = least + next() % (all_memory.bytes - least);
  if (kind % 8 == 5) call.workspace.bytes = least;
  if (next() % 2) call.executor = &backwards;
  check(heed_int_attention_run(&call));
  add_results(&call);
  if (keys > HEED_INT_BLOCK && !call.kv_lengths) {
    run_split(&call);
    add_results(&call);
  }
}

/* Of 1 to 26 rows, so that every tile of rows runs; of weights in both layouts and packed. */
static void multiply(int kind) {
  const int32_t n = 1 + kind % max_product_rows, most = max_results / n, dtype = next() % 2 ? HEED_INT8 : HEED_INT16;
  const int32_t n_out = between(1, most < max_out ? most : max_out), n_in = between(1, kind % 9 == 8 ? 400 : 70);
  fill_bytes(k, n * n_in, 0);
  fill_bytes(v, n_in * n_out, 0);
  for (int32_t i = 0; i < n_out; i++) {
    multipliers[i] = multiplier(-9, dtype == HEED_INT8 ? -5 : 0);
    bias[i] = between(-100000, 100000);
  }
  heed_weights w = heed_weights_of(v, float_scales, HEED_INT8, kind % 3 ? HEED_OUT_IN : HEED_IN_OUT, n_in, n_out);
  if (next() % 2) {
    const size_t bytes = heed_weights_packed_bytes(HEED_INT8, n_in, n_out);
    check(heed_weights_pack(w, HEED_INT8, heed_memory_of(all_memory.data, bytes)));
    check(heed_weights_open(&w, all_memory.data, bytes));
  }
  /* One number after another: the order of a call's arguments is the compiler's. */
  const int32_t x_zero = between(-128, 127), y_zero = between(-128, 127), with_bias = next() % 2,
                last_first = next() % 2;
  const heed_int_matrix x = heed_int_matrix_of(k, HEED_INT8, n, n_in, x_zero);
  const heed_int_matrix_out y = heed_int_matrix_out_of(out, dtype, n, n_out, y_zero);
  check(heed_int_linear(x, w, with_bias ? bias : NULL, multipliers, y, last_first ? &backwards : NULL));
  add_numbers(dtype, n * n_out);
}

/* Whether the digest is another one. */
static int differs(const char *what, const char *kernel, uint64_t right) {
  printf("%s %s %08lx%08lx\n", what, kernel, (unsigned long)(digest >> 32), (unsigned long)(digest & 0xffffffff));
  if (digest != right)
    fprintf(stderr, "%s, %s: the digest is not %08lx%08lx\n", what, kernel, (unsigned long)(right >> 32),
            (unsigned long)(right & 0xffffffff));
  return digest != right;
}

int main(void) {
  int n = 0, different = 0;
  for (int32_t i = 0; i < heed_int_isa_count(); i++) {
    const char *name = heed_int_isa_name(i);
    if (heed_int_isa_use(name) != HEED_OK) continue;
    digest_begin();
    for (int kind = 0; kind < 400; kind++) attend(kind);
    different += differs("integers", name, right_attention);
    digest_begin();
    for (int kind = 0; kind < 12 * max_product_rows; kind++) multiply(kind);
    different += differs("integer products", name, right_products);
    n++;
  }
  return different || n_refused || n == 0;
}
