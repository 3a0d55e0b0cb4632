/* Calls that want more memory than addresses reach, or whose size would be small if it wrapped at 2^32, in 4096 bytes: each is
 * refused, and writes nothing. What they would read does not exist. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "heed/heed.h"
#include "heed/integers.h"

HEED_ALIGNED static unsigned char page[3 * 4096];
static int failures, calls;

static heed_memory memory(void) { return heed_memory_of(page + 4096, 4096); }
static const void *nowhere(void) { return (const void *)(uintptr_t)4096; }

static void refused(const char *name, heed_status status, heed_fault fault, heed_argument argument) {
  int changed = 0;
  for (size_t i = 0; i < sizeof page; i++) changed |= page[i] != 0x5a;
  calls++;
  if (status == HEED_STATUS(fault, argument) && !changed) return;
  failures++;
  printf("FAILED: %s: status %ld, wanted %ld%s\n", name, (long)status, (long)HEED_STATUS(fault, argument),
         changed ? "; it has written" : "");
  memset(page, 0x5a, sizeof page);
}

int main(void) {
  const int narrow = sizeof(size_t) == 4;
  const heed_fault too_large = narrow ? HEED_OVERFLOW : HEED_TOO_SMALL;
  int32_t token, shift;
  memset(page, 0x5a, sizeof page);
  for (shift = 28; shift <= 30; shift++)
    for (int32_t n = (1 << shift) - 9; n <= 1 << shift; n += 9) {
      const int row_fits = !narrow || n < 1 << 29, room_fits = !narrow || n < 1 << 28;
      refused("heed_sample", heed_sample((const float *)nowhere(), n, 1, 40, 1, 0.5f, &token, memory()),
              row_fits && room_fits ? HEED_TOO_SMALL : HEED_OVERFLOW, row_fits ? HEED_ARG_WORKSPACE : HEED_ARG_X);
    }

  heed_partial partial;
  refused("heed_partial_init", heed_partial_init(&partial, 1 << 15, 1 << 10, 1 << 5, 2, 0, memory()), too_large,
          HEED_ARG_MEMORY);
  heed_sequence sequence;
  refused("heed_sequence_init", heed_sequence_init(&sequence, 1 << 30, 4, memory()), too_large, HEED_ARG_MEMORY);
  refused("heed_int_partial_clear", heed_int_partial_clear(1 << 29, 15, memory()), HEED_TOO_SMALL, HEED_ARG_PARTIAL);
  heed_cache cache;
  heed_cache_shape shape = heed_cache_shape_default(1 << 20, 64, 64);
  const heed_argument of_shape = narrow ? HEED_ARG_SHAPE : HEED_ARG_MEMORY;
  refused("heed_cache_init", heed_cache_init(&cache, &shape, memory()), too_large, of_shape);
  shape.kind = HEED_CACHE_RING;
  refused("heed_cache_init, a ring", heed_cache_init(&cache, &shape, memory()), too_large, of_shape);
  heed_int_cache int_cache;
  heed_int_cache_shape int_shape = heed_int_cache_shape_default(1 << 18, 128, 64);
  refused("heed_int_cache_init", heed_int_cache_init(&int_cache, &int_shape, memory()), too_large, of_shape);

  heed_weights w = heed_weights_of(nowhere(), NULL, HEED_F32, HEED_OUT_IN, 16, 1 << 28);
  w.row_stride = 0;
  refused("heed_weights_pack", heed_weights_pack(w, HEED_F32, memory()), too_large, HEED_ARG_MEMORY);

  heed_matrix rows = heed_matrix_of((const float *)nowhere(), 1 << 20, 1 << 12);
  rows.row_stride = 0;
  if (narrow) { /* a row, and a table of indices, that reach past the last address */
    refused("heed_topk", heed_topk(rows, 1 << 12, (int32_t *)(void *)page, NULL), HEED_OVERFLOW, HEED_ARG_INDICES);
    const heed_matrix row = heed_matrix_of((const float *)nowhere(), 1, 1 << 30);
    refused("heed_softmax", heed_softmax(row, 1, heed_matrix_out_of((float *)(void *)page, 1, 1 << 30), NULL),
            HEED_OVERFLOW, HEED_ARG_X);
  }
  printf("%d calls, %d failed\n", calls, failures);
  return failures != 0;
}
