/* Integers on a board, without a floating-point number: random calls whose results must be the PC's, and two shapes of
 * the benchmark, counted. The program is the same on both and fits a chip with 16 KB of RAM. Lines that begin with #
 * differ from machine to machine. SPDX-License-Identifier: MIT */
#include "clock.h"
#include "heed/int_products.h"
#include "heed/integers.h"
#include "port.h"
#include "support/digest.h"

enum { max_bytes = 1536, max_keys = 300, n_calls = 120, n_lines = 6 };
enum {
  pool_bytes = 3 * max_bytes + 64,
  out_bytes = 2 * max_bytes,
  room_bytes = HEED_INT_WORKSPACE_MIN_BYTES(40, 40) + 1100
};
HEED_ALIGNED static unsigned char
    memory[pool_bytes + out_bytes + room_bytes]; /* all that the calls and the self-test need */
static int8_t *const pool = (int8_t *)memory;
static void *const out = memory + pool_bytes;
static const heed_memory workspace = {memory + pool_bytes + out_bytes, room_bytes};
static int32_t lse[64];
static heed_multiplier multipliers[40];
static size_t attention_stack, project_stack, rows_stack, self_test_stack;
static int n_refused;

static void check(heed_status status) {
  if (status != HEED_OK && n_refused++ == 0) {
    port_write("refused: "), port_write(heed_status_argument(status)), port_write(": ");
    port_write(heed_status_text(status)), port_write("\n");
  }
}
static void note_stack(size_t *greatest) {
  const size_t used = port_painted_stack_used();
  if (used > *greatest) *greatest = used;
}
static void add_bytes(const void *x, int32_t n) {
  for (int32_t i = 0; i < n; i++) digest = (digest ^ ((const uint8_t *)x)[i]) * 1099511628211u;
}
static void print_digest(const char *name) {
  port_write(name), port_write(" "), port_write_hex((uint32_t)(digest >> 32)), port_write_hex((uint32_t)digest);
  port_write("\n");
}
static heed_multiplier multiplier(int32_t low, int32_t high) {
  heed_multiplier m;
  m.m = (int32_t)(0x40000000 + (next() >> 2));
  m.e = between(low, high);
  return m;
}
static void fill_pool(void) {
  for (size_t i = 0; i < pool_bytes; i++) pool[i] = (int8_t)(next() >> 24);
}

static void attend(int kind) {
  const int32_t n_kv_heads = between(1, 2), n_heads = n_kv_heads * between(1, 2);
  const int32_t dim = between(1, 40), v_dim = between(1, 40), wide = dim > v_dim ? dim : v_dim;
  const int32_t most = max_bytes / (n_kv_heads * wide), n_kv = between(1, kind % 4 ? 40 : max_keys);
  const int32_t keys = n_kv < most ? n_kv : most, rows = max_bytes / (n_heads * wide),
                n_q = between(1, rows < 12 ? rows : 12);
  const int8_t *q = pool + between(0, 3), *k = q + max_bytes + between(0, 3), *v = k + max_bytes + between(0, 3);
  fill_pool();
  heed_int_attention call = heed_int_attention_of(q, k, v, n_q, keys, n_heads, n_kv_heads, dim, out, workspace);
  call.v_dim = v_dim;
  call.v.head_stride = call.out.head_stride = v_dim;
  call.v.row_stride = n_kv_heads * v_dim;
  call.out.row_stride = n_heads * v_dim;
  call.score = kind % 7 == 6 ? multiplier(-31, 0) : multiplier(-16, -12);
  call.value = multiplier(-2, 4);
  if (kind % 3) call.out.dtype = HEED_INT16, call.value = multiplier(4, 10);
  if (kind % 5 > 2) {
    call.q.zero_point = between(-128, 127);
    call.k.zero_point = between(-128, 127);
    call.v.zero_point = between(-128, 127);
    call.out.zero_point = between(-128, 127);
  }
  call.causal = between(0, 1);
  call.position = between(-2, keys);
  if (kind % 3 == 1) call.left_window = between(0, 40);
  if (kind % 2) call.lse = lse;
  const size_t least = HEED_INT_WORKSPACE_MIN_BYTES(dim, v_dim);
  call.workspace.bytes = least + next() % (workspace.bytes - least + 1);
  port_paint_stack();
  check(heed_int_attention_run(&call));
  note_stack(&attention_stack);
  const int32_t n = n_heads * n_q;
  add_bytes(out, n * v_dim * (call.out.dtype == HEED_INT16 ? 2 : 1));
  if (call.lse) add_bytes(lse, 4 * n);
}

static void project(int kind) {
  const int32_t n = between(1, 7), n_in = between(1, 70), n_out = between(1, 20);
  const heed_weights w = heed_weights_of(pool + max_bytes + between(0, 3), NULL, HEED_INT8,
                                         kind % 3 ? HEED_OUT_IN : HEED_IN_OUT, n_in, n_out);
  int32_t bias[20];
  fill_pool();
  for (int32_t i = 0; i < n_out; i++) {
    multipliers[i] = multiplier(kind % 7 ? -9 : -12, kind % 7 ? -6 : 2);
    bias[i] = between(-20000, 20000);
  }
  const int32_t dtype = kind % 2 ? HEED_INT8 : HEED_INT16, zero = between(-128, 127), out_zero = between(-128, 127);
  port_paint_stack();
  check(heed_int_linear(heed_int_matrix_of(pool, HEED_INT8, n, n_in, zero), w, kind % 5 ? bias : NULL, multipliers,
                        heed_int_matrix_out_of(out, dtype, n, n_out, out_zero), NULL));
  note_stack(&project_stack);
  add_bytes(out, n * n_out * (dtype == HEED_INT16 ? 2 : 1));
}

/* A norm, a sum, a product, another scale or a table of rows, with every shift that they take. */
static heed_int_matrix rows_in(int at, int32_t n, int32_t dim) {
  const int32_t dtype = between(0, 1) ? HEED_INT8 : HEED_INT16;
  return heed_int_matrix_of(pool + at * max_bytes, dtype, n, dim, dtype == HEED_INT8 ? between(-128, 127) : 0);
}
static void rows(int kind) {
  const int32_t n = between(1, 3), dim = between(1, 100), dtype = between(0, 1) ? HEED_INT8 : HEED_INT16;
  const heed_int_matrix_out y = heed_int_matrix_out_of(out, dtype, n, dim, between(-128, 127));
  const heed_multiplier m = multiplier(-31, 30), usual = multiplier(-9, 3);
  const heed_multiplier other = multiplier(m.e > -17 ? m.e - 14 : -31, m.e < 16 ? m.e + 14 : 30);
  heed_int_norm norm = {(const int32_t *)(const void *)(pool + 2 * max_bytes), NULL, between(0, 30), 0};
  fill_pool();
  const heed_int_matrix a = rows_in(0, n, dim), b = rows_in(1, n, dim);
  if (kind % 2) norm.bias = norm.weight + 100, norm.eps = next();
  port_paint_stack();
  switch (kind % 6) {
    case 0:
      check(heed_int_add(a, m, b, other, y, NULL));
      break;
    case 1:
      check(heed_int_add(a, usual, b, usual, y, NULL));
      break;
    case 2:
      check(heed_int_rescale(a, kind % 4 ? m : other, y, NULL));
      break;
    case 3:
      check(heed_int_layer_norm(a, norm, y, NULL));
      break;
    case 4:
      check(heed_int_rms_norm(a, norm, y, NULL));
      break;
    default:
      check(heed_int_multiply(a, b, m, y, NULL));
  }
  note_stack(&rows_stack);
  add_bytes(out, n * dim * (dtype == HEED_INT16 ? 2 : 1));
  if (kind % 8) return;
  const heed_int_matrix bytes = heed_int_matrix_of(pool, HEED_INT8, n, dim, 0);
  check(heed_int_lookup(bytes, pool + max_bytes, heed_int_matrix_out_of(out, HEED_INT8, n, dim, 0), NULL));
  add_bytes(out, n * dim);
}

/* What the self-test found is the same on every machine. */
static void self_test(void) {
  heed_selftest_report report = heed_selftest_report_default();
  port_paint_stack();
  check(heed_int_selftest(heed_memory_of(memory, sizeof memory), &report));
  note_stack(&self_test_stack);
  port_write("self-test "), port_write_int((int32_t)report.n_floats), port_write(" numbers\n");
  if (report.kernel) {
    port_write("differs: "), port_write(report.function), port_write(" from "), port_write(report.compared_with);
    port_write(", case "), port_write_int(report.case_index), port_write("\n");
  }
}

/* n rows of attention over as many keys, with all of the memory. Its digest is a line of its own. */
static void count(const heed_clock *clock, const char *name, int32_t n, int32_t dim) {
  heed_memory memory;
  memory.data = port_free_memory(&memory.bytes);
  const size_t bytes = (size_t)(n * dim), tensors = (4 * bytes + 63) / 64 * 64;
  if (memory.bytes < tensors + HEED_INT_WORKSPACE_MIN_BYTES(64, 64)) {
    port_write("# "), port_write(name), port_write(": no room\n");
    return;
  }
  int8_t *x = memory.data;
  for (size_t i = 0; i < 3 * bytes; i++) x[i] = (int8_t)(next() >> 24);
  const heed_memory rest = {x + tensors, memory.bytes - tensors};
  heed_int_attention call = heed_int_attention_of(x, x + bytes, x + 2 * bytes, n, n, 1, 1, dim, x + 3 * bytes, rest);
  call.score = heed_multiplier_of(0x1.8p-12f);
  call.value = heed_multiplier_of(1.5f);
  const uint64_t start = clock->read();
  check(heed_int_attention_run(&call));
  const uint64_t passed = clock->read() - start;
  port_write("# "), port_write(name), port_write(" "), port_write_count(passed, 1), port_write(" ");
  port_write(clock->unit), port_write(", digest "), digest_begin(), add_bytes(x + 3 * bytes, (int32_t)bytes);
  port_write_hex((uint32_t)(digest >> 32)), port_write_hex((uint32_t)digest), port_write("\n");
}

int main(void) {
  const heed_clock clock = heed_clock_start();
  port_write("# kernel "), port_write(heed_int_isa_current()), port_write("\n");
  self_test();
  digest_begin();
  for (int i = 0; i < n_calls; i++) {
    attend(i);
    project(i);
    rows(2 * i);
    rows(2 * i + 1);
    if (i % (n_calls / n_lines) == n_calls / n_lines - 1) print_digest("integers");
  }
  port_write("# stack attention "), port_write_int((int32_t)attention_stack), port_write("\n");
  port_write("# stack project "), port_write_int((int32_t)project_stack), port_write("\n");
  port_write("# stack rows "), port_write_int((int32_t)rows_stack), port_write("\n");
  port_write("# stack self-test "), port_write_int((int32_t)self_test_stack), port_write("\n");
  digest_state = 1;
  count(&clock, "P7", 24, 16);
  count(&clock, "P1", 98, 64);
  port_write("refused "), port_write_int(n_refused), port_write("\nend\n");
  return n_refused != 0;
}
