/* What random calls share: arrays of the pool, half of which begin at addresses that are multiples of 4 but of nothing
 * more, and an executor in the worst order. Included after support/digest.h. SPDX-License-Identifier: MIT */
#ifndef HEED_TESTS_DEVICE_POOL_H
#define HEED_TESTS_DEVICE_POOL_H

#include "device.h"
#include "support/digest.h"

static int n_refused;
static int32_t used; /* floats of the pool */

static inline float *take(int32_t n) {
  used += between(0, 1) ? 1 - used % 2 : between(0, 3);
  float *p = pool + used;
  used += n;
  return p;
}
/* Memory of a layer for that many floats of q, k, v and context; small workspaces, few rows at a time. */
static inline heed_memory take_layer_memory(size_t n_floats, int32_t head_dim, int32_t v_dim) {
  const size_t least = HEED_LAYER_ROUND(4 * n_floats) + HEED_WORKSPACE_MIN_BYTES(head_dim, v_dim);
  const heed_memory memory = {pool + (used + 15) / 16 * 16, least + (size_t)between(0, 256)};
  used = (used + 15) / 16 * 16 + (int32_t)(memory.bytes + 3) / 4;
  return memory;
}
static inline float *take_filled(int32_t n) {
  float *p = take(n);
  fill(p, n);
  return p;
}

static inline void check(heed_status status) {
  if (status != HEED_OK && n_refused++ == 0) print_status("refused", 0, status);
}

static inline void run_backwards(void *user, int32_t n_tasks, heed_task task, void *context) {
  (void)user;
  for (int32_t i = n_tasks - 1; i >= 0; i--) task(context, i, i % 2);
}
static const heed_executor backwards = {sizeof(heed_executor), 2, run_backwards, NULL};

/* A digest of all so far for every 32 results. */
static inline void print_each_32(const char *name, int i) {
  if (i % 32 == 31) print_digest(name, digest);
}

#endif
