/* See device_bench.h. SPDX-License-Identifier: MIT */
#include "device_bench.h"

#include "shapes.h"

enum { n_calls = 3, line_chars = 384 };

/* One line of output. Every caller knows that it stays below line_chars. */
typedef struct text {
  char chars[line_chars];
  int length;
} text;

static void put(text *line, const char *s) {
  while (*s) line->chars[line->length++] = *s++;
}

/* At least n_digits decimal digits. */
static void put_number(text *line, uint64_t x, int n_digits) {
  char digits[20];
  int n = 0;
  for (; x != 0 || n < n_digits; x /= 10) digits[n++] = (char)('0' + x % 10);
  while (n > 0) line->chars[line->length++] = digits[--n];
}

static void put_hex(text *line, uint64_t x) {
  for (int shift = 60; shift >= 0; shift -= 4) line->chars[line->length++] = "0123456789abcdef"[x >> shift & 15];
}

static void put_string(text *line, const char *name, const char *value) {
  put(line, ",\""), put(line, name), put(line, "\":\""), put(line, value), put(line, "\"");
}

static void put_count(text *line, const char *name, uint64_t value) {
  put(line, ",\""), put(line, name), put(line, "\":"), put_number(line, value, 1);
}

/* {"shape":"P1" */
static void begin(text *line, const heed_shape *s) {
  line->length = 0;
  put(line, "{\"shape\":\""), put(line, s->name), put(line, "\"");
}

static void end(text *line, void (*print)(const char *)) {
  put(line, "}\n");
  line->chars[line->length] = '\0';
  print(line->chars);
}

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

/* FNV-1a of the bytes, least significant first. */
static uint64_t digest_of(const float *x, size_t n) {
  uint64_t digest = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < n; ++i) {
    const union {
      float value;
      uint32_t bits;
    } pun = {x[i]};
    for (int shift = 0; shift < 32; shift += 8) digest = (digest ^ (pun.bits >> shift & 255)) * UINT64_C(1099511628211);
  }
  return digest;
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

static void put_result(text *line, const heed_shape *s, const heed_clock *clock, const heed_attention *call,
                       uint64_t count) {
  const char *kernel = heed_kernel_current();
  const uint64_t n = heed_shape_multiply_adds(s), ten_thousandths = (count * 10000 + n / 2) / n;
  put_string(line, "kernel", kernel);
  put_string(line, "profile", heed_kernel_profile(kernel) == HEED_PROFILE_FUSED ? "fused" : "unfused");
  put_string(line, "clock", clock->name);
  put_string(line, "unit", clock->unit);
  put_count(line, "count", count);
  put_count(line, "per_multiply_add", ten_thousandths / 10000);
  put(line, "."), put_number(line, ten_thousandths % 10000, 4);
  put_count(line, "workspace_bytes", call->workspace_bytes);
  put(line, ",\"digest\":\""), put_hex(line, digest_of(call->out.data, heed_shape_q_floats(s)));
  put(line, clock->emulated ? "\",\"emulated\":true" : "\",\"emulated\":false");
}

/* Memory: k, v, q, out, workspace. The tensors of every shape are multiples of 64 bytes. */
static int run_shape(const heed_shape *s, const heed_clock *clock, float *memory, size_t memory_bytes, text *line) {
  const size_t n_q = heed_shape_q_floats(s), n_kv = heed_shape_kv_floats(s), tensors = 8 * (n_q + n_kv);
  const size_t least = heed_workspace_min_bytes(s->head_dim, s->head_dim);
  const size_t most = heed_workspace_bytes(s->head_dim, s->head_dim);
  if (memory_bytes < tensors + least) {
    put(line, ",\"skipped\":\"needs "), put_number(line, tensors + least, 1);
    put(line, " bytes, has "), put_number(line, memory_bytes, 1), put(line, "\"");
    return 0;
  }
  float *k = memory, *v = k + n_kv, *q = v + n_kv, *out = q + n_q, *workspace = out + n_q;
  const size_t left = memory_bytes - tensors;
  heed_shape_fill(k, 2 * n_kv + n_q, 1);
  const heed_attention call = heed_shape_call(s, q, k, v, out, workspace, left < most ? left : most);
  uint64_t count;
  const heed_status status = count_call(clock, &call, &count);
  if (status == HEED_OK) {
    put_result(line, s, clock, &call, count);
  } else {
    put(line, ",\"failed\":\""), put(line, heed_status_argument(status)), put(line, ": ");
    put(line, heed_status_text(status)), put(line, "\"");
  }
  return status != HEED_OK;
}

int heed_device_bench(const heed_clock *clock, void *memory, size_t memory_bytes, const char *const *only,
                      void (*print)(const char *line)) {
  text line;
  int n_failed = 0;
  for (int i = 0; i < heed_n_shapes; ++i) {
    if (!wanted(&heed_shapes[i], only)) continue;
    begin(&line, &heed_shapes[i]);
    n_failed += run_shape(&heed_shapes[i], clock, (float *)memory, memory_bytes, &line);
    end(&line, print);
  }
  return n_failed;
}
