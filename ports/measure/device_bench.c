/* See device_bench.h. SPDX-License-Identifier: MIT */
#include "device_bench.h"

#include "board.h"
#include "rows_digest.h"
#include "shapes.h"

enum { n_calls = 3 };

static int same(const char *a, const char *b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}

static int wanted(const heed_shape *s, const char *const *only) {
  if (only == NULL || *only == NULL) return 1;
  while (*only != NULL)
    if (same(s->name, *only++)) return 1;
  return 0;
}

/* The least count of n_calls calls, after one that fills the caches. */
static heed_status count_call(const heed_clock *clock, const heed_attention *call, uint64_t *count) {
  heed_status status = heed_attention_run(call);
  *count = UINT64_MAX;
  for (int i = 0; i < n_calls && status == HEED_OK; ++i) {
    const uint64_t start = clock->read();
    status = heed_attention_run(call);
    const uint64_t passed = clock->read() - start;
    if (passed < *count) *count = passed;
  }
  return status;
}

static void write_result(const heed_shape *s, const heed_clock *clock, const heed_attention *call, uint64_t count) {
  const uint64_t n = heed_shape_multiply_adds(s), ten_thousandths = (count * 10000 + n / 2) / n;
  const uint64_t digest = rows_digest(ROWS_DIGEST_BEGIN, call->out.data, (int32_t)heed_shape_q_floats(s));
  board_kernel();
  board_clock(clock);
  board_count("count", count);
  board_count("per_multiply_add", ten_thousandths / 10000);
  port_write("."), port_write_count(ten_thousandths % 10000, 4);
  board_count("workspace_bytes", call->workspace.bytes);
  port_write(",\"digest\":\""), port_write_hex((uint32_t)(digest >> 32)), port_write_hex((uint32_t)digest);
  port_write(clock->emulated ? "\",\"emulated\":true" : "\",\"emulated\":false");
}

/* Memory: k, v, q, out, workspace. The tensors of every shape are multiples of 64 bytes. */
static int run_shape(const heed_shape *s, const heed_clock *clock, float *memory, size_t memory_bytes) {
  const size_t n_q = heed_shape_q_floats(s), n_kv = heed_shape_kv_floats(s), tensors = 8 * (n_q + n_kv);
  const size_t least = heed_workspace_min_bytes(s->head_dim, s->head_dim);
  const size_t most = heed_workspace_bytes(s->head_dim, s->head_dim);
  if (memory_bytes < tensors + least) {
    port_write(",\"skipped\":\"needs "), port_write_count(tensors + least, 1);
    port_write(" bytes, has "), port_write_count(memory_bytes, 1), port_write("\"");
    return 0;
  }
  float *k = memory, *v = k + n_kv, *q = v + n_kv, *out = q + n_q;
  const size_t left = memory_bytes - tensors;
  heed_shape_fill(k, 2 * n_kv + n_q, 1);
  const heed_memory workspace = heed_memory_of(out + n_q, left < most ? left : most);
  const heed_attention call = heed_shape_call(s, q, k, v, out, workspace);
  uint64_t count;
  const heed_status status = count_call(clock, &call, &count);
  if (status == HEED_OK) {
    write_result(s, clock, &call, count);
  } else {
    port_write(",\"failed\":\""), port_write(heed_status_argument(status)), port_write(": ");
    port_write(heed_status_text(status)), port_write("\"");
  }
  return status != HEED_OK;
}

int heed_device_bench(const heed_clock *clock, void *memory, size_t memory_bytes, const char *const *only) {
  int n_failed = 0;
  for (int i = 0; i < heed_n_shapes; ++i) {
    if (!wanted(&heed_shapes[i], only)) continue;
    port_write("{\"shape\":\""), port_write(heed_shapes[i].name), port_write("\"");
    n_failed += run_shape(&heed_shapes[i], clock, (float *)memory, memory_bytes);
    port_write("}\n");
  }
  return n_failed;
}
