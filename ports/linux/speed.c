/* The speed table of the demo: every named shape on the best kernel, one core. heed_bench measures with more care.
 * SPDX-License-Identifier: MIT */
#include "demo.h"

#include <heed/heed.h>
#include <stdio.h>
#include <stdlib.h>

#include "peak.h"
#include "shapes.h"

/* Per shape: at least 3 calls, then up to 0.3 s or 200 samples. */
enum { min_calls = 3, max_samples = 200 };
static const double max_seconds = 0.3;

/* Median seconds of a call; negative if it fails. */
static double time_call(const heed_attention *call) {
  double samples[max_samples], spent = 0;
  int32_t n = 0, batch = 1;
  if (heed_attention_run(call) != HEED_OK) return -1;
  for (; n < max_samples && (n < min_calls || spent < max_seconds); ++n) {
    const double start = heed_seconds();
    for (int32_t i = 0; i < batch; ++i) heed_attention_run(call);
    const double seconds = heed_seconds() - start;
    samples[n] = seconds / batch;
    spent += seconds;
    if (seconds < 20e-6) { /* too short for the clock */
      batch *= 2;
      --n;
    }
  }
  return heed_median(samples, n);
}

static void print_row(const heed_shape *s, const char *kernel, double seconds, double peak, double read) {
  const double flops = heed_shape_flop(s) / seconds;
  printf("  %-3s %-22s %-16s %10.1f us %7.1f GFLOP/s %6.1f %%", s->name, s->what, kernel, 1e6 * seconds, 1e-9 * flops,
         100 * flops / peak);
  if (read > 0)
    printf("   %5.1f GB/s = %.0f %% of reading", 1e-9 * heed_shape_bytes(s) / seconds,
           100 * heed_shape_bytes(s) / seconds / read);
  printf("\n");
}

static int time_shape(const heed_shape *s, const char *kernel) {
  const size_t n_q = heed_shape_q_floats(s), n_kv = heed_shape_kv_floats(s);
  const size_t workspace_bytes = HEED_WORKSPACE_BYTES(s->head_dim, s->head_dim);
  float *memory = NULL; /* workspace, k, v, q, out: multiples of 64 bytes all */
  if (posix_memalign((void **)&memory, 64, workspace_bytes + 8 * (n_q + n_kv))) return 1;
  float *k = memory + workspace_bytes / 4, *v = k + n_kv, *q = v + n_kv, *out = q + n_q;
  heed_shape_fill(k, 2 * (n_q + n_kv), 1);
  const heed_attention call = heed_shape_call(s, q, k, v, out, heed_memory_of(memory, workspace_bytes));
  double peak[2], read = 0;
  peak[0] = heed_peak_flops(kernel);
  const double seconds = time_call(&call);
  peak[1] = heed_peak_flops(kernel);
  if (heed_shape_is_decode(s)) read = heed_peak_read(kernel, k, 8 * n_kv);
  if (seconds > 0) print_row(s, kernel, seconds, heed_median(peak, 2), read);
  free(memory);
  return seconds < 0;
}

int demo_speed(void) {
  const char *best = heed_isa_current();
  int failed = 0;
  for (const double end = heed_seconds() + 0.3; heed_seconds() < end;) heed_peak_flops(best); /* let the clock rise */
  printf("  one core, kernel %s; its multiply-add peak is %.1f GFLOP/s here\n", best, 1e-9 * heed_peak_flops(best));
  for (int i = 0; i < heed_n_shapes; ++i) failed |= time_shape(&heed_shapes[i], best);
  printf("  the first shape on every kernel, of the peak at that kernel's vector width:\n");
  for (int32_t i = 0; i < heed_isa_count(); ++i) {
    failed |= heed_isa_use(heed_isa_name(i)) != HEED_OK;
    failed |= time_shape(&heed_shapes[0], heed_isa_name(i));
  }
  heed_isa_use(NULL);
  return failed;
}
