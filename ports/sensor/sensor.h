/* A small transformer for rows of a sensor: 120 rows of 400 numbers in, one of two classes out. In floats, C99, static
 * buffers only. The weights come from a research project (see README.md): two classes without names, nothing medical.
 * SPDX-License-Identifier: MIT
 *
 *   static sensor net;                                     // all the memory there is: SENSOR_RAM_BYTES
 *   sensor_start(&net, &weights, sizeof weights);          // once; weights: see sensor_weights.h
 *   for (i = 0; i < SENSOR_N_ROWS; ++i) sensor_row(&net, next_row());
 *   sensor_finish(&net, &result);                          // and the next recording may begin
 *
 * Rows: each is used at once and need not be kept. After it only 16 numbers of it are left.
 * Memory: SENSOR_RAM_BYTES (26,496 with the least workspace), 58 KB of weights, read in place; the stack of README.md.
 * Same bits everywhere: the result depends on rows, weights and heed's arithmetic alone, not on processor,
 * compiler or kernel. Compile with -ffp-contract=off; fast-math is refused.
 */
#ifndef HEED_SENSOR_H
#define HEED_SENSOR_H

#include "sensor_weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of a layer: the least, and room for seven rows more on their way, 48 floats each. More takes memory and changes no
 * bit; define it alike for sensor.c and every file that includes this header. */
#ifndef SENSOR_LAYER_BYTES
#define SENSOR_LAYER_BYTES                                                                                             \
  (HEED_TRANSFORMER_LAYER_MIN_BYTES_OF_HEADS(SENSOR_N_TOKENS, SENSOR_DIM, SENSOR_N_HEADS, SENSOR_N_HEADS, SENSOR_HEAD, \
                                             SENSOR_HEAD, SENSOR_HIDDEN, 0) +                                          \
   7 * 4 * 48)
#endif

/* Takes rows of a layer as they are computed, from row `first` on. Layer SENSOR_N_LAYERS: the embedding. heed_receipt_see is one. */
typedef void sensor_see(void *user, int32_t layer, int64_t first, heed_matrix rows);

/* The network's memory. Fields but failure, see, see_user and x are private. */
typedef struct sensor {
  const sensor_weights *weights; /* null: not ready */
  int32_t n_rows;                /* that came so far */
  heed_status failure;           /* why the last recording returned SENSOR_HEED_FAILED */
  sensor_see *see;               /* null, or set after sensor_start */
  void *see_user;
  heed_attention_layer attention; /* these here and not on the stack, which is small */
  heed_transformer_layer layer;
  HEED_ALIGNED float x[SENSOR_N_TOKENS * SENSOR_DIM];
  HEED_ALIGNED float memory[SENSOR_LAYER_BYTES / sizeof(float)]; /* of a layer; before the layers: a row on its way */
  float y[SENSOR_DIM];                                           /* of the last layer only row 0 is computed */
} sensor;
#define SENSOR_RAM_BYTES sizeof(sensor)

typedef struct sensor_result {
  int32_t nearer;                    /* the class: 0 or 1 */
  float distances[SENSOR_N_CLASSES]; /* squared, from the prototypes */
  float embedding[SENSOR_DIM];
} sensor_result;

/* Prepares net for weights of exactly n_bytes, which must stay where they are. Reads them once for the checksum.
 * Status: NULL_POINTER, MISALIGNED, WEIGHTS_SIZE, WEIGHTS_MAGIC, WEIGHTS_DAMAGED. */
sensor_status sensor_start(sensor *net, const void *weights, size_t n_bytes);
/* The next row of a recording. Status: NULL_POINTER, NOT_READY, MISALIGNED, WRONG_COUNT, HEED_FAILED. */
sensor_status sensor_row(sensor *net, const float row[SENSOR_ROW]);
/* Ends a recording of SENSOR_N_ROWS rows. Also after a status that is not SENSOR_OK the next one may begin.
 * Error: the embedding within 2e-6 of exact arithmetic, as seen with the published recordings.
 * Status: NULL_POINTER, NOT_READY, WRONG_COUNT, NOT_FINITE, HEED_FAILED. */
sensor_status sensor_finish(sensor *net, sensor_result *result);

/* What sensor_finish is made of: the first n rows that a layer makes of x, to y, which may be x for all of them. Refusals
 * are kept in failure. */
void sensor_run_layer(sensor *net, int32_t layer, int32_t n, float *y);

#ifdef __cplusplus
}
#endif

#endif
