/* heed: a sequence of rows in memory of fixed capacity, for windows of sensor data. Include heed.h.
 *
 *   HEED_SEQUENCE(window, 24, 16);
 *   heed_sequence_push(&window, heed_matrix_of(row, 1, 16));  // drops the oldest row when it is full
 *   heed_self_attention(heed_sequence_view(&window), HEED_SCALE_DEFAULT, heed_matrix_out_of(out, window.length, 16),
 *                       workspace);
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEED_SEQUENCE_H
#define HEED_SEQUENCE_H

#include "attention.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Room for `capacity` rows of `dim` floats. The first `length` rows are in use, the oldest first. */
typedef struct heed_sequence {
  uint32_t struct_size;          /* sizeof(heed_sequence) */
  int32_t capacity, dim, length; /* rows that fit, floats of a row, rows in use */
  float *data;                   /* the rows, contiguous */
} heed_sequence;
/* Bytes of memory for a sequence. */
#define HEED_SEQUENCE_BYTES(capacity, dim) \
  HEED_SIZE_FIT(4 * HEED_SIZE_PRODUCT(HEED_SIZE_64(capacity), HEED_SIZE_64(dim)))

/* Defines an empty sequence `name` in static storage. capacity and dim must be constants. */
#define HEED_SEQUENCE(name, capacity, dim)                                                                 \
  HEED_ALIGNED static float name##_data[HEED_SEQUENCE_BYTES(capacity, dim) <= PTRDIFF_MAX                  \
                                            ? HEED_CAST(ptrdiff_t, HEED_SEQUENCE_BYTES(capacity, dim) / 4) \
                                            : -1];                                                         \
  static heed_sequence name = {sizeof(heed_sequence), (capacity), (dim), 0, name##_data}

/* Makes an empty sequence in `memory`, which has HEED_SEQUENCE_BYTES and is aligned to 4 bytes. */
HEED_API heed_status heed_sequence_init(heed_sequence *sequence, int32_t capacity, int32_t dim, heed_memory memory);
/* Appends all rows. If they do not fit, it appends none. rows.dim must be the dim of the sequence.
 * Status: FULL for SEQUENCE. */
HEED_API heed_status heed_sequence_append(heed_sequence *sequence, heed_matrix rows);
/* Appends all rows. If there is no room, it drops the oldest rows. If there are more rows than the capacity, the last
 * ones stay. */
HEED_API heed_status heed_sequence_push(heed_sequence *sequence, heed_matrix rows);
/* Empties the sequence. Its storage stays. */
HEED_API heed_status heed_sequence_clear(heed_sequence *sequence);

/* Self-attention of a whole sequence x. It replaces the rows of out, which then has as many rows as x. causal is 0 or
 * 1; with 1, row i sees rows 0 to i. options may be null.
 * Status: FULL for OUT if its capacity is too small; OUT_OF_RANGE for N if x is empty; UNSUPPORTED for PARTIAL,
 * TYPED; as heed_attention_run for all options. The sequences are named X and OUT. */
HEED_API heed_status heed_sequence_attention(const heed_sequence *x, float scale, int32_t causal,
                                             const heed_options *options, heed_sequence *out, heed_memory workspace);

/* The rows in use. If the sequence is empty, n_rows is 0, which other functions refuse. sequence must not be null. */
static inline heed_matrix heed_sequence_view(const heed_sequence *sequence) {
  return heed_matrix_of(sequence->data, sequence->length, sequence->dim);
}

#ifdef __cplusplus
}
#endif

#endif
